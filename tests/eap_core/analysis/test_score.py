"""From evidence to what people read: posterior, category, rank, sweep, explanation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from eap_core.analysis.compare import RATES, sweep_priors
from eap_core.analysis.explain import explain
from eap_core.analysis.score import column_name, evaluator_names, score, score_one_by_one
from eap_core.base.errors import SettingsError
from eap_core.base.problem import Problem
from eap_core.base.progress import Cancelled
from eap_core.scoring import best_first, percentiles, rank_agreement, ranks
from eap_core.scoring.evidence import estimate
from eap_core.scoring.posterior import Parts, Posterior, Prior, categories, make_parts
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

QUICK = replace(AUTHORS, subsets=10)


@pytest.mark.parametrize(("alpha", "b"), [(0, 1), (0.5, 0.5), (0.6, 0.4), (-1, 2), (np.nan, 1)])
def test_priors_outside_the_guarantee_are_refused(alpha: float, b: float) -> None:
    with pytest.raises(SettingsError, match=r"below 0.5"):
        Prior(alpha, b)


def test_one_pass_has_the_beta_interval() -> None:
    posterior = Posterior(np.array([[0.3, 2.0]]), np.array([[1.7, 5.0]]))
    low, high = posterior.interval(0.9)
    np.testing.assert_allclose(low, beta.ppf(0.05, [0.3, 2], [1.7, 5]), rtol=1e-8)
    np.testing.assert_allclose(high, beta.ppf(0.95, [0.3, 2], [1.7, 5]), rtol=1e-8)


def test_several_passes_have_the_interval_of_their_mixture() -> None:
    """The stand-in Beta against draws from the mixture itself."""
    rng = np.random.default_rng(0)
    posterior = Posterior(rng.uniform(2, 4, size=(20, 1)), rng.uniform(3, 5, size=(20, 1)))
    draws = rng.beta(posterior.alpha, posterior.beta, size=(20, 50_000))
    low, high = posterior.interval()
    np.testing.assert_allclose([low[0], high[0]], np.quantile(draws, [0.025, 0.975]), atol=0.02)


def test_categories_by_the_candidates_own_evidence() -> None:
    made_of = Parts(
        eap=np.zeros(4),
        weight=np.zeros(4),
        p_y=np.array([0.9, 0.9, 0.49, 0.5]),
        p_x=np.zeros(4),
        covered=np.array([0.49, 0.5, 1.0, 1.0]),
        prior=0.1,
        strength=1.0,
    )
    expected = ["unrealistic", "realistic", "indistinguishable", "realistic"]
    assert categories(made_of).tolist() == expected


def test_an_easy_problem_is_sorted_out(problem: Problem) -> None:
    table = score(Workbench(problem, QUICK)).frame()
    kinds = [table["category"][i : i + 10] for i in (0, 10, 20)]
    assert (kinds[0] == "realistic").mean() >= 0.7
    assert (kinds[1] == "indistinguishable").mean() >= 0.9
    assert (kinds[2] == "unrealistic").all()
    assert table["percentile"][:10].mean() > table["percentile"][10:].mean() + 30


def test_ties_are_ordered_by_id_and_share_their_percentile() -> None:
    scores = np.array([0.2, 0.5, 0.2, 0.2])
    ids = ("d", "a", "b", "c")
    assert [ids[i] for i in best_first(scores, ids)] == ["a", "b", "c", "d"]
    assert ranks(scores, ids).tolist() == [4, 1, 2, 3]
    assert percentiles(scores).tolist() == [37.5, 87.5, 37.5, 37.5]


def test_the_table_has_its_columns_and_one_per_evaluator(problem: Problem) -> None:
    frame = score(Workbench(problem, QUICK), ["p_x", "rarity"]).frame()
    expected = ["id", "eap", "rank", "percentile", "category", "p_x", "p_y", "weight", "prior"]
    assert list(frame.columns[:9]) == expected
    assert {"covered", "observations", "eap_low", "eap_high"} <= set(frame.columns)
    assert list(frame.columns[-2:]) == ["p_x_one_pass", "rarity"]
    assert ((frame["eap_low"] <= frame["eap"]) & (frame["eap"] <= frame["eap_high"])).all()
    rebuilt = frame["weight"] * frame["p_y"] + (1 - frame["weight"]) * frame["prior"]
    np.testing.assert_allclose(rebuilt, frame["eap"], rtol=1e-12)


def test_evaluators_are_asked_for_by_name() -> None:
    assert evaluator_names(["rarity", "rarity"]) == ("eap", "rarity")
    assert evaluator_names(["all"])[0] == "eap"
    assert column_name("rarity") == "rarity"
    with pytest.raises(SettingsError, match="no evaluator 'magic' — choose from eap, "):
        evaluator_names(["magic"])


def test_what_is_finished_is_there_when_the_rest_is_cancelled(problem: Problem) -> None:
    def until_lava(_share: float, step: str) -> None:
        if step == "transport":
            raise Cancelled

    work = score_one_by_one(Workbench(problem, QUICK), ["rarity", "lava"], None, until_lava)
    assert next(iter(next(work))) == "eap"
    assert list(next(work)) == ["rarity"]
    with pytest.raises(Cancelled):
        next(work)


def test_another_prior_moves_the_scores(problem: Problem) -> None:
    bench = Workbench(problem, QUICK)
    default, higher = score(bench), score(bench, prior=Prior.of_rate(0.4))
    assert (higher.columns["eap"] > default.columns["eap"]).all()


def test_the_sweep_compares_with_the_default(problem: Problem) -> None:
    evidence = estimate(problem, QUICK)
    found = sweep_priors(problem, evidence)
    assert found.rates == (*RATES, problem.rate)
    assert found.scores.shape == (7, 30)
    assert found.top == 10
    np.testing.assert_array_equal(
        found.scores[-1], make_parts(evidence, Prior.of_rate(problem.rate)).eap
    )
    assert found.kendall[-1] == pytest.approx(1)
    assert found.overlap[-1] == 1
    assert (found.kendall[:-1] < 1).any()
    for rate, row in zip(found.rates, found.scores, strict=True):
        np.testing.assert_array_equal(row, make_parts(evidence, Prior.of_rate(rate)).eap)


@pytest.mark.parametrize(
    ("rates", "top", "message"),
    [([], None, "no priors"), ([0.5], None, r"below 0\.5"), (None, 31, "best 31 of 30")],
)
def test_a_sweep_that_makes_no_sense_is_refused(
    problem: Problem, rates: list[float] | None, top: int | None, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        sweep_priors(problem, estimate(problem, QUICK), rates, top)


def test_agreement_of_orders_without_any() -> None:
    flat, rising = np.zeros(4), np.arange(4.0)
    assert rank_agreement(flat, flat) == 1
    assert rank_agreement(flat, rising) == 0
    assert rank_agreement(rising, -rising) == pytest.approx(-1)


def test_an_explanation_adds_up(problem: Problem) -> None:
    evidence = estimate(problem, QUICK)
    for candidate in problem.ids:
        found = explain(problem, evidence, QUICK, candidate)
        rebuilt = found.weight * found.p_y + (1 - found.weight) * found.prior
        assert found.eap == pytest.approx(rebuilt, rel=1e-12)
        share = found.observations / (1 + found.observations)
        assert found.weight == pytest.approx(share, rel=1e-9)
        assert len(found.nearest_normals) == 3
        assert found.nearest_normals[0].distance <= found.nearest_normals[1].distance
        if found.covering is None:
            assert not evidence.covered[0, problem.position(candidate)]
        else:
            assert found.radius is not None
            assert found.covering.distance < found.radius


def test_explanations_name_the_right_neighbours_and_say_it_in_words(problem: Problem) -> None:
    evidence = estimate(problem, QUICK)
    gaps = np.linalg.norm(problem.x_train - problem.x_candidates[10], axis=1)
    found = explain(problem, evidence, QUICK, "c10")
    nearest = problem.train_ids[int(np.argmin(gaps[:60]))]
    assert found.nearest_normals[0].id == nearest
    assert found.nearest_anomaly is not None
    assert found.nearest_anomaly.id == problem.train_ids[60 + int(np.argmin(gaps[60:]))]
    assert "rather like the normal examples" in found.sentence
    assert "Too far" in explain(problem, evidence, QUICK, "c25").sentence
    best = problem.ids[int(np.argmax(make_parts(evidence, Prior.of_rate(problem.rate)).eap))]
    assert "supported by the normal data" in explain(problem, evidence, QUICK, best).sentence


def test_settings_outside_their_range_are_refused() -> None:
    for change in ({"subsets": -1}, {"k_min": 0}, {"k": 0}, {"quantile": 1.0}, {"ssdo_weight": -1}):
        with pytest.raises(SettingsError):
            Settings(**change)
