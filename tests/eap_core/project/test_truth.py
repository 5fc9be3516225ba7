from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eap_core.project.results import (
    Judgements,
    auc_margin,
    find_judgements,
    measure_quality,
    rank_distance,
)


def known(*metadata: dict[str, str]) -> dict[str, Any]:
    return {f"i{n}": SimpleNamespace(metadata=each) for n, each in enumerate(metadata)}


def decided(**verdicts: str | None) -> dict[str, Any]:
    return {item: SimpleNamespace(verdict=verdict) for item, verdict in verdicts.items()}


def test_the_data_and_the_decisions_are_told_apart() -> None:
    items = known({"good": "yes"}, {"good": "no"}, {"good": "1"})
    states = decided(i0="reject", i2="accept", i1=None)
    by_data, by_decisions = find_judgements(list(items), items, states)
    assert by_data.good.tolist() == [True, False, True]
    assert by_decisions.rows == [0, 2]
    assert by_decisions.good.tolist() == [False, True]
    assert by_decisions.counts == (1, 1)


@pytest.mark.parametrize(
    ("items", "states"),
    [
        (known({}, {}), {}),
        (known({"good": "yes"}, {"good": "yes"}), decided(i0="accept", i1="accept")),
        (known({"good": "perhaps"}, {"good": ""}), decided(i0="reject")),
    ],
)
def test_without_both_kinds_nothing_is_known(items: dict[str, Any], states: dict[str, Any]) -> None:
    assert find_judgements(list(items), items, states) == []


def test_methods_are_ranked_by_how_they_find_the_good_ones() -> None:
    table = pd.DataFrame({"eap": [3.0, 2, 1, 9], "rarity": [1.0, 2, 3, 9], "loo": [1.0, 1, 1, 9]})
    judged = Judgements("your data", [0, 1, 2], np.array([True, False, False]))
    found = measure_quality(table, ["rarity", "eap", "loo"], judged)
    assert [(one.column, one.auc) for one in found] == [("eap", 1.0), ("loo", 0.5), ("rarity", 0.0)]


def test_the_margin_shrinks_with_more_candidates() -> None:
    assert auc_margin(0.8, 10, 10) == pytest.approx(0.2, abs=0.02)  # 1.96 · 0.1016
    assert auc_margin(0.8, 100, 100) < auc_margin(0.8, 10, 10) / 3
    assert auc_margin(1.0, 5, 5) == 0.0


def test_the_distance_is_from_what_the_others_say_on_average() -> None:
    own, others = np.array([90.0, 50, 10]), np.array([[10.0, 30], [0, 100], [40, 60]])
    assert rank_distance(own, others).tolist() == [70.0, 0.0, 40.0]
