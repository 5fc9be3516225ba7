"""The rehearsal: its folds, its shares against a slow loop, its lines, and what it says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binomtest
from scipy.stats import t as student

from eap_core.analysis import trust
from eap_core.analysis.score import column_name, score
from eap_core.analysis.trust import (
    CategoryLines,
    Estimate,
    LeftOut,
    Rehearsal,
    Trial,
    best_evaluator,
    describe,
    describe_better,
    describe_label,
    describe_weakness,
    estimate_auc,
    make_folds,
    make_impossible,
    measure_lines,
    rehearse,
    set_looks,
    set_support,
)
from eap_core.base.errors import DataError, SettingsError
from eap_core.base.problem import Problem
from eap_core.base.progress import Cancelled
from eap_core.base.table import Floats
from eap_core.scoring.settings import AUTHORS
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem

QUICK = replace(AUTHORS, subsets=3)


@pytest.fixture(scope="module")
def easy() -> Rehearsal:
    return rehearse(make_problem(normals=60, anomalies=6), QUICK, 1)


def test_every_real_anomaly_is_left_out_once_and_no_row_is_on_both_sides() -> None:
    problem = make_problem(normals=63, anomalies=12)
    folds = make_folds(problem, QUICK, 0)
    assert len(folds) == 5
    assert sorted(row for fold in folds for row in fold.real) == sorted(
        problem.train_ids[row] for row in problem.anomalies
    )
    left_out: set[bytes] = set()
    for fold in folds:
        real, normals, made = np.split(
            fold.problem.x_candidates, [len(fold.real), len(fold.real) + fold.normals]
        )
        assert (fold.normals, fold.impossible, len(made)) == (12, 30, 30)
        there = {row.tobytes() for row in fold.problem.x_train}
        both = [row.tobytes() for row in (*real, *normals)]
        assert there.isdisjoint(both)
        assert len(there) + len(both) == problem.n
        assert left_out.isdisjoint(both)
        left_out |= set(both)
        assert fold.problem.rate == pytest.approx(fold.problem.m / fold.problem.n)


def test_of_many_normals_some_are_drawn_and_a_fifth_is_left_out() -> None:
    problem = make_problem(normals=1500, anomalies=7)
    for fold in make_folds(problem, QUICK, 0):
        assert (fold.problem.n - fold.problem.m, fold.normals) == (600, 150)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_few_real_anomalies_are_left_out_one_by_one_and_the_result_is_weak(m: int) -> None:
    found = rehearse(make_problem(anomalies=m), QUICK, 0)
    assert (found.m, found.folds, found.normals) == (m, m, 12 * m)
    assert found.weak
    assert best_evaluator(found) is None
    assert "chance decides" in (describe_weakness(found) or "")
    for name in found.names:
        assert describe(found, name).startswith("Your only" if m == 1 else f"{m} of your {m}")


def test_without_a_real_anomaly_it_says_so() -> None:
    with pytest.raises(DataError, match="no real anomaly to rehearse with"):
        rehearse(make_problem(anomalies=0), QUICK, 0)


def test_too_few_normals_are_one_sentence() -> None:
    with pytest.raises(DataError, match="7 normals beside 2 real anomalies are too few"):
        rehearse(make_problem(normals=7, anomalies=2), QUICK, 0)
    found = rehearse(make_problem(normals=12, anomalies=11), QUICK, 0)  # hardly more normals
    assert found.normals == 5 * 2
    assert "Only 10 normals" in (describe_weakness(found) or "")


def _share_below(own: float, others: list[float]) -> float:
    return sum((own > each) + (own == each) / 2 for each in others) / len(others)


def test_the_shares_are_those_of_a_slow_loop(easy: Rehearsal) -> None:
    problem = make_problem(normals=60, anomalies=6)
    for trial in easy.trials:
        told = {each.id: each for each in trial.real}
        for fold in make_folds(problem, QUICK, 1):
            table = score(Workbench(fold.problem, QUICK, 1), easy.names)
            values = table.columns[column_name(trial.name)].tolist()
            normals = values[len(fold.real) : len(fold.real) + fold.normals]
            impossible = values[len(fold.real) + fold.normals :]
            for name, own in zip(fold.real, values, strict=False):
                assert told[name].above_normals == pytest.approx(_share_below(own, normals))
                assert told[name].above_impossible == pytest.approx(_share_below(own, impossible))
        mean = np.mean([each.above_normals for each in trial.real])
        assert trial.above_normals.value == pytest.approx(mean)
        assert trial.found == sum(each.above_normals >= 0.9 for each in trial.real)
        for figure in (trial.above_normals, trial.above_impossible, trial.quality):
            assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_an_easy_problem_is_found_easy(easy: Rehearsal) -> None:
    assert easy.names == ("eap", "reach", "near_real")
    reach = easy.trial("reach")
    assert reach.above_normals.value > 0.9
    assert reach.above_normals.low > 0.6
    assert not easy.weak
    with pytest.raises(SettingsError, match="'lava' was not rehearsed"):
        easy.trial("lava")


def test_the_lines_come_with_what_comes_of_them() -> None:
    """By hand: 20 normals, 3 real anomalies, 2 impossible rows."""
    normals = np.arange(20) / 40  # 0 … 0.475
    real, impossible = np.array([0.2, 0.44, 0.9]), np.array([0.8, 0.9])
    looks = set_looks(normals)
    assert 0.425 < looks < 0.4251  # 0.45 and 0.475 alone reach it
    support = set_support(np.array([0.3, 0.7, 0.9]), 0.5)
    assert support == 0.3
    found = measure_lines(
        looks,
        support,
        (real, normals, impossible),
        (np.array([0.3, 0.7, 0.9]), np.ones(20), np.array([0.0, 1.0])),
    )
    assert found == CategoryLines(looks, 0.3, 0.1, 1 / 3, 0.0, 0.5)


_shares = st.floats(0, 1)


@given(
    arrays.arrays(float, st.integers(1, 60), elements=_shares),
    arrays.arrays(float, st.integers(1, 60), elements=_shares),
)
def test_lines_obey_their_stated_error_on_the_rows_they_were_set_on(
    normals: Floats, real: Floats
) -> None:
    looks, support = set_looks(normals), set_support(real, 0.5)
    assert np.mean(normals >= looks) <= 0.1
    assert np.mean(real < support) <= 0.1
    assert support <= 0.5
    # And no line that is nearer would.
    if len(normals) > 10:
        assert np.mean(normals >= np.nextafter(looks, -1)) > 0.1
    if support < 0.5:
        assert np.mean(real < np.nextafter(support, 2)) > 0.1


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(12, 40), st.integers(1, 4))
def test_all_shares_are_shares_and_all_lines_keep_their_word(
    seed: int, anomalies: int, normals: int, columns: int
) -> None:
    problem = make_problem(seed, normals=normals, anomalies=anomalies, each=1, columns=columns)
    found = rehearse(problem, replace(AUTHORS, subsets=0), seed, ("eap", "near_real"))
    assert found.m == anomalies
    for trial in found.trials:
        for each in trial.real:
            assert 0 <= each.above_normals <= 1
            assert 0 <= each.above_impossible <= 1
        assert 0 <= trial.found_share.low <= trial.found_share.value <= trial.found_share.high <= 1
    lines = found.trial("eap").lines
    assert lines is not None
    assert lines.normals_realistic <= 0.1
    assert lines.real_far <= 0.1
    assert lines.support <= 0.5


def test_the_same_seed_gives_the_same_and_another_another(easy: Rehearsal) -> None:
    problem = make_problem(normals=60, anomalies=6)
    assert rehearse(problem, QUICK, 1) == easy
    assert rehearse(problem, QUICK, 2) != easy


def test_the_candidates_play_no_part(easy: Rehearsal) -> None:
    problem = make_problem(normals=60, anomalies=6)
    other = replace(problem, x_candidates=problem.x_candidates[:2] + 5, ids=("a", "b"))
    assert rehearse(other, QUICK, 1) == easy


def test_one_evaluator_does_not_depend_on_the_others(easy: Rehearsal) -> None:
    problem = make_problem(normals=60, anomalies=6)
    found = rehearse(problem, QUICK, 1, ("near_real",))
    assert found.names == ("eap", "near_real")
    assert found.trials == (easy.trial("eap"), easy.trial("near_real"))
    with pytest.raises(SettingsError, match="no evaluator 'dance'"):
        rehearse(problem, QUICK, 1, ("dance",))


def test_its_record_is_json_and_is_read_back(easy: Rehearsal) -> None:
    stored = json.loads(json.dumps(easy.record, allow_nan=False))
    assert Rehearsal.from_record(stored) == easy
    assert stored["trials"][0]["found"] == easy.trial("eap").found


def test_progress_grows_and_may_stop_it() -> None:
    shares: list[float] = []
    rehearse(make_problem(), QUICK, 0, progress=lambda share, _: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)

    def stop(share: float, _: str) -> None:
        if share > 0.4:
            raise Cancelled

    with pytest.raises(Cancelled):
        rehearse(make_problem(), QUICK, 0, progress=stop)


def test_impossible_rows_are_of_three_kinds() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x[:, 2] = 7.0  # no spread: no noise, no wider box
    normal = np.arange(50) < 45
    noisy, uniform, permuted = np.split(make_impossible(x, normal, 400, rng), 3)
    assert np.std(noisy[:, 0]) == pytest.approx(np.std(x[normal, 0]) * np.sqrt(10), rel=0.1)
    low, high = x[normal, 0].min(), x[normal, 0].max()
    wider = 0.25 * (high - low)
    assert low - wider <= uniform[:, 0].min() < low
    assert high < uniform[:, 0].max() <= high + wider
    assert set(permuted[:, 0]) <= set(x[:, 0])
    assert not {row.tobytes() for row in permuted} <= {row.tobytes() for row in x}
    assert (noisy[:, 2] == 7).all()
    assert len(make_impossible(x[:, :1], normal, 4, rng)) == 8  # one column cannot be permuted


def _trial(name: str, found: int, m: int, quality: tuple[float, float, float]) -> Trial:
    real = tuple(LeftOut(str(i), 1.0 if i < found else 0.3, 0.8) for i in range(m))
    figure = Estimate(*quality)
    lines = CategoryLines(0.4, 0.5, 0.1, 5 / m, 0.0, 0.2) if name == "eap" else None
    return Trial(name, real, figure, Estimate(0.8, 0.7, 0.9), figure, lines, lines)


def _rehearsal(*trials: Trial, normals: int = 100) -> Rehearsal:
    return Rehearsal(len(trials[0].real), normals, 120, 5, 0, trials)


def test_a_score_is_recommended_only_where_it_clearly_serves_better() -> None:
    usual = _trial("eap", 10, 16, (0.8, 0.7, 0.9))
    clear, found_more = (
        _trial("reach", 11, 16, (0.9, 0.81, 0.95)),
        _trial("near_real", 12, 16, (0.81, 0.7, 0.9)),
    )
    assert best_evaluator(_rehearsal(usual, clear)) == "reach"
    assert best_evaluator(_rehearsal(usual, found_more)) == "near_real"
    assert best_evaluator(_rehearsal(usual, clear, found_more)) == "reach"
    assert best_evaluator(_rehearsal(usual, clear), "reach") is None
    assert best_evaluator(_rehearsal(usual, clear), "lava") is None
    assert best_evaluator(_rehearsal(usual, clear, normals=19)) is None
    alike = _trial("reach", 11, 16, (0.85, 0.79, 0.95))
    assert best_evaluator(_rehearsal(usual, alike)) is None
    worse_elsewhere = _trial("reach", 14, 16, (0.65, 0.6, 0.7))
    assert best_evaluator(_rehearsal(usual, worse_elsewhere)) is None
    # Two more of thirty are less than a tenth.
    pair = _trial("eap", 10, 30, (0.8, 0.7, 0.9)), _trial("reach", 12, 30, (0.8, 0.7, 0.9))
    assert best_evaluator(_rehearsal(*pair)) is None


def test_it_is_said_in_plain_words() -> None:
    found = _rehearsal(
        _trial("eap", 12, 16, (0.8, 0.7, 0.9)), _trial("reach", 15, 16, (0.95, 0.9, 0.99))
    )
    assert describe(found, "eap") == (
        "12 of your 16 real anomalies rank above 90 % of unseen normals; 5 would be called "
        "'looks normal': judge those by eye. On average they rank above 80 % of rows that cannot "
        "be real."
    )
    for normal, far, words in (
        (5, 1, "; 5 would be called 'looks normal' and 1 'too far from the data': judge those by"),
        (0, 1, "; 1 would be called 'too far from the data': judge that one by eye."),
        (0, 0, " normals, and all would be called realistic. On"),
    ):
        lines = CategoryLines(0.4, 0.5, 0.1, normal / 16, far / 16, 0.2)
        trial = replace(found.trial("eap"), fixed=lines)
        assert words in describe(replace(found, trials=(trial,)), "eap")
    only = replace(found.trial("eap"), real=found.trial("eap").real[:1])
    assert describe(replace(found, m=1, trials=(replace(only, fixed=lines),)), "eap") == (
        "Your only real anomaly ranks above 90 % of unseen normals, and would be called realistic. "
        "It ranks above 80 % of rows that cannot be real."
    )
    called = replace(only, fixed=CategoryLines(0.4, 0.5, 0.1, 1.0, 0.0, 0.2))
    assert "; it would be called 'looks normal': judge it by eye. It ranks" in describe(
        replace(found, m=1, trials=(called,)), "eap"
    )
    assert describe(found, "reach").startswith(
        "15 of your 16 real anomalies rank above 90 % of unseen normals. On average"
    )
    assert describe_better(found) == (
        "EAP-Reach serves better here: 15 of 16 real anomalies rank above 90 % of unseen normals "
        "by it, 12 by EAP; a real anomaly ranks above another row in 95 % of cases, by EAP in 80 %."
    )
    assert describe_better(found, "reach") is None
    assert describe_weakness(found) is None


@given(_shares, st.integers(2, 40), st.integers(1, 400))
def test_the_interval_holds_all_values_that_this_one_is_not_too_far_from(
    value: float, m: int, others: int
) -> None:
    """Newcombe's fifth method, on a grid."""
    found = estimate_auc(value, m, others)
    assert 0 <= found.low <= value <= found.high <= 1
    t = np.linspace(0, 1, 2001)
    more = (m + others) / 2 - 1
    variance = t * (1 - t) * (1 + more * ((1 - t) / (2 - t) + t / (1 + t))) / (m * others)
    quantile = student.ppf(0.95, m - 1) * np.sqrt(m / (m - 1))
    inside = t[np.abs(t - value) <= quantile * np.sqrt(variance)]
    if len(inside):
        assert found.low == pytest.approx(inside[0], abs=1e-3)
        assert found.high == pytest.approx(inside[-1], abs=1e-3)


def test_few_real_anomalies_leave_much_open_even_where_all_are_found() -> None:
    lows = [estimate_auc(1.0, m, 100).low for m in (1, 2, 4, 16, 60)]
    assert lows == sorted(lows)
    assert lows[0] == 0.0
    assert 0.6 < estimate_auc(1.0, 6, 100).low < 0.9 < lows[-1] < 1.0
    assert estimate_auc(0.3, 1, 100) == Estimate(0.3, 0.0, 1.0)


def test_a_category_comes_with_its_error() -> None:
    lines = CategoryLines(0.5, 0.5, 0.12, 5 / 16, 0.0, 0.2)
    trial = replace(_trial("eap", 12, 16, (0.8, 0.7, 0.9)), fixed=lines)
    found = _rehearsal(trial, _trial("near_real", 12, 16, (0.8, 0.7, 0.9)))
    assert describe_label(found, "eap", "realistic") == (
        "12 % of unseen normals would be called realistic, too."
    )
    assert describe_label(found, "eap", "indistinguishable") == (
        "5 of your 16 real anomalies would be called so, too."
    )
    assert describe_label(found, "eap", "unrealistic") == ""  # it never was
    never = replace(trial, fixed=replace(lines, normals_realistic=0.0))
    assert describe_label(_rehearsal(never), "eap", "realistic") == ""
    assert describe_label(found, "near_real", "realistic") == ""  # it has no categories


def test_the_share_found_has_the_interval_of_clopper_and_pearson() -> None:
    for k in (0, 3, 16):
        own = _trial("reach", k, 16, (0.8, 0.7, 0.9)).found_share
        told = binomtest(k, 16).proportion_ci(0.9)
        assert (own.value, own.low, own.high) == pytest.approx((k / 16, told.low, told.high))


def test_counts_of_rows_are_stated_for_all_training_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold has fewer rows to count, so that its line would be too low for the whole."""
    problem = make_problem(normals=100, anomalies=10)
    monkeypatch.setattr(trust, "_NOT_FAR", 1e9)
    lines = rehearse(problem, QUICK, 0).trial("reach").lines
    assert lines is not None
    counted: list[float] = []
    for fold in make_folds(problem, QUICK, 0):
        made = score(Workbench(fold.problem, QUICK, 0), ("reach",)).columns["reach_observations"]
        counted += (made[: len(fold.real)] * problem.n / fold.problem.n).tolist()
    assert lines.support == pytest.approx(sorted(counted)[1])


def test_duplicates_and_constant_columns_do_no_harm() -> None:
    made = make_problem(normals=40, anomalies=4)
    x = np.array(made.x_train)
    x[:, 1] = 0.0
    x[10:40] = x[:30]
    found = rehearse(Problem(x, made.y_train, made.x_candidates, made.ids), QUICK, 0)
    assert all(np.isfinite(each.quality.value) for each in found.trials)
