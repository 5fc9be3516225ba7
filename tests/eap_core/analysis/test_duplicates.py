"""Copies are found, different things are not, and the diverse order is the greedy one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eap_core.analysis import neighbours as module
from eap_core.analysis.neighbours import (
    SHARE,
    are_alike,
    find_twins,
    merge_twins,
    pick_diverse,
    typical_distance,
)
from eap_core.base.problem import Problem
from tests.conftest import make_problem

COUNT = st.integers(1, 14)


def problem_of(candidates: np.ndarray) -> Problem:
    base = make_problem(0, normals=300, columns=candidates.shape[1])
    ids = tuple(f"c{i:05d}" for i in range(len(candidates)))
    return Problem(base.x_train, base.y_train, candidates, ids)


@pytest.mark.parametrize("columns", [3, 8, 64])
def test_copies_with_tiny_noise_are_found_and_nothing_else(columns: int) -> None:
    rng = np.random.default_rng(0)
    own = rng.normal(size=(600, columns)) + 1.5
    copies = own[::3] + rng.normal(scale=0.005, size=(200, columns))
    found = find_twins(problem_of(np.vstack([own, copies])), np.arange(1, 801))
    assert (found[600:] == np.arange(0, 600, 3)).mean() > 0.97
    assert (found[:600] >= 0).mean() < 0.02


def test_exact_copies_are_found_whatever_the_normals_are() -> None:
    """Every normal twice: the usual distance is that to the nearest different one."""
    candidates = np.repeat(np.random.default_rng(1).normal(size=(5, 4)), 2, axis=0)
    base = make_problem(columns=4)
    doubled = Problem(
        np.repeat(base.x_train, 2, axis=0),
        np.repeat(base.y_train, 2),
        candidates,
        tuple("abcdefghij"),
    )
    found = find_twins(doubled, np.array([2, 1, 3, 4, 6, 5, 7, 8, 9, 10]))
    assert found.tolist() == [1, -1, -1, 2, 5, -1, -1, 6, -1, 8]
    assert are_alike(candidates, np.arange(10), 0.0).tolist() == [-1, 0, -1, 2, -1, 4, -1, 6, -1, 8]


def test_the_usual_distance_leaves_copies_aside() -> None:
    assert typical_distance(np.array([[0.0], [0.0], [3.0], [5.0]])) == pytest.approx(2.0)
    assert typical_distance(np.zeros((4, 2))) == 0.0


@example(seed=1, count=2, columns=1, limit=0.0)  # both the same point
@given(st.integers(0, 10**6), COUNT, st.sampled_from([1, 2, 20]), st.floats(0.0, 2.0))
def test_it_agrees_with_the_slow_way(seed: int, count: int, columns: int, limit: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (count, columns)) / 2
    ranks = rng.permutation(count) + 1
    expected = np.full(count, -1)
    for i in sorted(range(count), key=lambda i: int(ranks[i])):
        better = [j for j in range(count) if ranks[j] < ranks[i] and expected[j] < 0]
        gaps = {j: float(((points[i] - points[j]) ** 2).sum()) for j in better}
        near = [j for j in better if gaps[j] <= limit**2]
        expected[i] = min(near, key=lambda j: int(ranks[j]), default=-1)
    assert are_alike(points, ranks, limit).tolist() == expected.tolist()


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(300, 2))
    whole = are_alike(points, np.arange(300), 0.2)
    assert (whole >= 0).sum() > 50
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_array_equal(are_alike(points, np.arange(300), 0.2), whole)


def test_whatever_is_not_confirmed_is_no_twin() -> None:
    points = np.zeros((3, 1))
    asked: list[tuple[int, int]] = []

    def odd(one: int, other: int) -> bool:
        asked.append((one, other))
        return (one + other) % 2 == 0

    assert are_alike(points, np.arange(3), 1.0, odd).tolist() == [-1, -1, 0]
    assert asked == [(1, 0), (2, 0)]


def test_twins_in_two_senses_lead_to_one_that_is_nobodys_twin() -> None:
    ranks = np.array([1, 2, 3, 4])
    found = merge_twins(ranks, np.array([-1, 0, -1, -1]), np.array([-1, -1, 1, -1]))
    assert found.tolist() == [-1, 0, 0, -1]


@given(st.integers(0, 10**6), COUNT, st.sampled_from([1, 3]))
def test_the_diverse_order_is_the_greedy_one(seed: int, count: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, columns)).round(1)
    ranks = rng.permutation(count) + 1
    order = [int(np.argmin(ranks))]
    while len(order) < count:
        left = sorted(set(range(count)) - set(order), key=lambda i: int(ranks[i]))
        gaps = [min(float(((points[i] - points[j]) ** 2).sum()) for j in order) for i in left]
        best = max(gaps)
        order.append(next(i for i, gap in zip(left, gaps, strict=True) if gap >= best - 1e-9))
    found = pick_diverse(points, ranks)
    assert sorted(found.tolist()) == list(range(count))
    reached = np.argsort(found)
    assert _spread(points, reached) == pytest.approx(_spread(points, np.array(order)), abs=1e-6)
    assert reached[0] == order[0]


def _spread(points: np.ndarray, order: np.ndarray) -> list[float]:
    """How far each is from those before: what the greedy order makes as large as it can."""
    gaps = [
        min(float(np.linalg.norm(points[i] - points[j])) for j in order[:n])
        for n, i in enumerate(order)
        if n
    ]
    return gaps[:2]  # later steps depend on how ties were broken


def test_beyond_the_limit_the_rest_comes_best_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FARTHEST", 3)
    points = np.array([[0.0], [1.0], [2.0], [9.0], [3.0], [-5.0]])
    found = pick_diverse(points, np.array([1, 6, 4, 5, 2, 3]))
    assert np.argsort(found).tolist() == [0, 3, 5, 4, 2, 1]


def test_the_share_stays_below_what_tells_defects_apart() -> None:
    assert SHARE < 0.5
