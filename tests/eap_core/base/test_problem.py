"""A problem is valid, frozen and known by its content."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from eap_core.base.errors import DataError, EapError
from eap_core.base.problem import ASSUMED_RATE, Problem
from tests.conftest import make_problem


def build(**changes: Any) -> Problem:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        "x_train": rng.normal(size=(20, 2)),
        "y_train": np.repeat([0, 1], [18, 2]),
        "x_candidates": rng.normal(size=(3, 2)),
        "ids": ("a", "b", "c"),
    }
    return Problem(**{**given, **changes})


def with_value(value: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    rows = np.zeros((3, 2))
    rows[1, 1] = value
    return rows


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_candidates": with_value(np.nan)}, "candidate row 'b', column 'f1' holds nan"),
        ({"x_candidates": with_value(np.inf)}, "candidate row 'b', column 'f1' holds inf"),
        ({"x_candidates": with_value(1e200)}, "none beyond 1e\\+140"),
        ({"x_candidates": np.zeros((3, 4))}, "candidates have 4 columns and the training data 2"),
        ({"x_candidates": np.zeros((0, 2)), "ids": ()}, "there are no candidates"),
        ({"ids": ("a", "b", "a")}, "the candidate id 'a' stands twice"),
        ({"ids": ("a", "b")}, "2 candidate ids for 3"),
        ({"y_train": np.repeat([0, 1], [10, 10])}, "10 of 20 .* needs fewer than half"),
        ({"y_train": np.ones(20)}, "no normal rows among the 20"),
        ({"y_train": np.repeat([0, 2], [18, 2])}, "labels hold '2' — only 0"),
        ({"y_train": np.zeros(19)}, "19 labels for 20"),
        ({"x_train": np.ones((20, 2))}, "all 18 normal rows are identical"),
        ({"x_train": np.arange(40.0).reshape(20, 2) * 1e-170}, "closer than 1e-140"),
        ({"x_train": np.ones((3, 2)), "y_train": [0, 0, 1]}, "only 2 normal rows"),
        ({"x_train": np.zeros((20, 0)), "x_candidates": np.zeros((3, 0))}, "do not fit"),
        ({"rate": 0.7}, "anomaly rate of 0.7 is not possible"),
    ],
)
def test_what_cannot_be_scored_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EapError, match=message):
        build(**changes)


def test_arrays_are_copies_that_cannot_be_written() -> None:
    mine = np.random.default_rng(0).normal(size=(20, 2))
    problem = build(x_train=mine)
    mine[0, 0] = 99
    assert problem.x_train[0, 0] != 99
    for array in (problem.x_train, problem.y_train, problem.x_candidates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(FrozenInstanceError):
        problem.rate = 0.1  # type: ignore[misc]


def test_integers_become_floats_before_anything_is_subtracted() -> None:
    problem = build(x_candidates=np.array([[0, 255]] * 3, dtype=np.uint8))
    assert problem.x_candidates.dtype == np.float64


def test_the_rate_is_the_share_of_anomalies_or_assumed() -> None:
    assert build().rate == pytest.approx(0.1)
    assert build(y_train=np.zeros(20)).rate == ASSUMED_RATE
    assert build(y_train=np.zeros(20), rate=0.2).rate == 0.2


def test_the_fingerprint_changes_with_any_content_and_only_then() -> None:
    problem = make_problem()
    assert problem.fingerprint == make_problem().fingerprint
    assert len(problem.fingerprint) == 64
    train, candidates = problem.x_train.copy(), problem.x_candidates.copy()
    train[-1, -1] = np.nextafter(train[-1, -1], 9)
    candidates[0, 0] = np.nextafter(candidates[0, 0], 9)
    labels = problem.y_train.copy()
    labels[0] = 1
    others = [
        replace(problem, x_train=train),
        replace(problem, x_candidates=candidates),
        replace(problem, y_train=labels, rate=0.0),
        replace(problem, ids=("x", *problem.ids[1:])),
        replace(problem, columns=("a", "b", "c")),
        replace(problem, rate=0.2),
    ]
    assert len({other.fingerprint for other in [problem, *others]}) == 7


def test_an_unknown_candidate_is_named_with_those_there_are() -> None:
    with pytest.raises(DataError, match="no candidate has the id 'zz' — the ids are 'c00'"):
        make_problem().position("zz")
