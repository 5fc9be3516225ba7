"""The tests' figures against published and hand-computed ones; too little data is said in words."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, wilcoxon

from eap_core.study.results import compare_evaluators, critical_difference, has_enough, holm
from tests.eap_core.study.made_up import made_up

THREE = ("eap", "rarity", "random")


def tables(count: int) -> dict[str, list[str]]:
    return {"tables": [f"set {i}" for i in range(count)]}


def fixed(figures: dict[str, list[float]], seeds: int = 1) -> pd.DataFrame:
    """A study with these values of AUC_qlt, one per data set."""
    count = len(next(iter(figures.values())))
    made = made_up(tables(count), seeds=seeds, evaluators=tuple(figures), priors=())
    number = made["dataset"].str.removeprefix("set ").astype(int)
    made["AUC_qlt"] = [figures[str(m)][i] for m, i in zip(made["method"], number, strict=True)]
    return made


@pytest.mark.parametrize(
    ("methods", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)]
)
def test_critical_difference_is_demsars(methods: int, q: float) -> None:
    datasets = 14
    expected = q * (methods * (methods + 1) / (6 * datasets)) ** 0.5
    assert critical_difference(methods, datasets) == pytest.approx(expected, abs=5e-4)


def test_critical_difference_of_demsars_example() -> None:
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_never_helps(p_values: list[float]) -> None:
    corrected = holm(p_values)
    pairs = sorted(zip(p_values, corrected, strict=True))
    assert [c for _, c in pairs] == sorted(corrected)
    assert all(p <= c <= 1 for p, c in pairs)


def test_enough_is_the_first_number_that_can_pass() -> None:
    assert has_enough(1) == 6
    assert has_enough(12) == 9  # 12 · 2/2⁹ = 0.047, and 12 · 2/2⁸ = 0.094


def test_a_winner_on_ten_data_sets() -> None:
    base = [0.50, 0.52, 0.55, 0.47, 0.58, 0.51, 0.49, 0.53, 0.60, 0.45]
    wins = [b + 0.2 + i / 100 for i, b in enumerate(base)]
    close = [b + (0.01 + i / 1000) * (-1) ** i for i, b in enumerate(base)]
    made = fixed({"eap": wins, "rarity": base, "random": close}, seeds=2)
    found = compare_evaluators(made, "tables")
    assert found.datasets == 10
    assert found.ranks[0] == ("EAP", 1.0)
    assert found.friedman == pytest.approx(friedmanchisquare(wins, base, close).pvalue)
    assert found.groups == (("Rarity", "RandomEv"),)
    assert found.reference == "EAP"
    assert {each.other: each.better for each in found.against} == {"Rarity": 10, "RandomEv": 10}
    # Ten of ten: 2/2¹⁰ each, and twice that after Holm.
    assert [each.corrected for each in found.against] == pytest.approx([4 / 1024] * 2)
    assert all(each.significant for each in found.against)
    assert found.notes == ()


def test_lower_is_better_where_it_is() -> None:
    made = made_up(tables(10), evaluators=THREE)
    made.loc[made["method"] == "random", "AULC_p"] = 0.01
    assert compare_evaluators(made, "tables", "AULC_p").ranks[0][0] == "RandomEv"


def test_seeds_do_not_count_as_data_sets() -> None:
    assert compare_evaluators(made_up(tables(2), seeds=9, evaluators=THREE), "tables").datasets == 2


@pytest.mark.parametrize(("count", "together"), [(1, False), (2, False), (3, True), (5, True)])
def test_too_few_data_sets_are_said(count: int, together: bool) -> None:
    found = compare_evaluators(made_up(tables(count), evaluators=THREE), "tables")
    assert (found.friedman is not None) is together
    assert (found.critical_difference is not None) is together
    assert found.against == ()
    assert all("too few data sets to say" in note for note in found.notes)
    assert len(found.notes) == 2 - together


def test_all_ties_are_said() -> None:
    values = [0.5 + i / 100 for i in range(8)]
    found = compare_evaluators(fixed({"eap": values, "rarity": values, "random": values}), "tables")
    assert found.friedman is None
    assert found.groups == ()
    assert found.notes == ("all evaluators are equal on every data set",)
    assert [each.corrected for each in found.against] == [1.0, 1.0]


def test_some_ties_give_a_finite_p() -> None:
    own, other = [0.6, 0.7, 0.5, 0.8, 0.9, 0.4, 0.3], [0.5, 0.7, 0.5, 0.6, 0.8, 0.3, 0.2]
    found = compare_evaluators(fixed({"eap": own, "rarity": other, "random": other}), "tables")
    gap = [a - b for a, b in zip(own, other, strict=True)]
    assert found.against[0].p == pytest.approx(wilcoxon(gap).pvalue)
    assert found.against[0].better == 5


def test_without_eap_the_best_is_the_reference_and_one_alone_has_none_to_beat() -> None:
    assert (
        compare_evaluators(made_up(evaluators=("random", "rarity", "lava")), "images").reference
        == "Lava"
    )
    alone = compare_evaluators(made_up(evaluators=("eap",)), "images")
    assert (alone.against, alone.groups, alone.friedman) == ((), (), None)
    nothing = compare_evaluators(made_up(tables(3)), "images")
    assert (nothing.datasets, nothing.reference, nothing.ranks) == (0, None, ())
