"""Agreement of evaluators by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from eap_core.analysis.compare import compare_scores, known_quality
from eap_core.base.errors import DataError


def test_correlation_disagreement_and_spread() -> None:
    scores = {
        "one": np.array([1.0, 2.0, 3.0, 4.0]),
        "same": np.array([10.0, 20.0, 30.0, 40.0]),
        "opposite": np.array([4.0, 3.0, 2.0, 1.0]),
        "flat": np.zeros(4),
    }
    found = compare_scores(scores)
    assert found.correlation[0].tolist() == pytest.approx([1, 1, -1, 0])
    assert found.disagreement[0].tolist() == pytest.approx([0, 0, 1, 0.5])
    assert found.spread.tolist() == pytest.approx([75, 25, 25, 75])
    assert found.most_disputed(("d", "c", "b", "a"), 2) == ["a", "d"]
    assert found.auc is None


def test_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, size=(2, 40)).astype(float)
    assert compare_scores({"a": a, "b": b}).correlation[0, 1] == pytest.approx(
        spearmanr(a, b).statistic
    )


def test_auc_where_the_truth_is_known() -> None:
    good = np.array([True, False, True, False])
    found = compare_scores({"right": good.astype(float), "wrong": -good.astype(float)}, good)
    assert found.auc == {"right": 1.0, "wrong": 0.0}
    assert compare_scores({"a": np.arange(2.0)}, np.array([True, True])).auc is None


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        ({"Category": ["realistic", "unrealistic"]}, [True, False]),
        ({"good": ["1.0", "0"]}, [True, False]),
        ({"good ": ["yes", "No"]}, [True, False]),
        ({"generator": ["a", "b"]}, None),
    ],
)
def test_the_truth_is_found_by_name(
    extras: dict[str, list[str]], expected: list[bool] | None
) -> None:
    found = known_quality(extras)
    assert (None if found is None else found.tolist()) == expected


def test_a_column_that_means_something_else_is_no_truth() -> None:
    assert known_quality({"category": ["realistic", "splendid"]}) is None
    assert known_quality({"category": ["A", "B"], "good": ["1", "0"]}) is not None
    assert known_quality({"truth": ["realistic", "unrealistic"]}) is not None


def test_one_candidate_has_no_order() -> None:
    with pytest.raises(DataError, match="at least two"):
        compare_scores({"a": np.ones(1), "b": np.ones(1)})
