"""Balls, k and density, by hand and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from eap_core.scoring.rarity import (
    density,
    floor_at_smallest_positive,
    inside_balls,
    k_hat,
    rarity,
    smallest_covering_k,
)

LINE = np.array([[0.0], [1.0], [3.0]])  # NN_1 = 1, 1, 2 and NN_2 = 3, 2, 3


def test_rarity_on_a_line_by_hand() -> None:
    points = np.array([[2.0], [0.5], [4.5], [5.0], [9.0]])
    # 2 lies on the surface of the ball of 1 (open: outside) and inside that of 3, radius 2;
    # 5 lies on the surface of the ball of 3; 9 is far away.
    np.testing.assert_array_equal(rarity(LINE, points, k=1), [2, 1, 2, 0, 0])
    np.testing.assert_array_equal(rarity(LINE, points, k=2), [2, 2, 3, 3, 0])


def test_rarity_with_more_neighbours_than_rows_uses_all() -> None:
    np.testing.assert_array_equal(rarity(LINE, np.array([[5.0]]), k=10), [3])


@given(
    n=st.integers(3, 40), m=st.integers(1, 6), d=st.integers(1, 3), seed=st.integers(0, 10**6),
    closed=st.booleans(), integer=st.booleans(),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_smallest_k_equals_trying_each(
    n: int, m: int, d: int, seed: int, closed: bool, integer: bool
) -> None:
    rng = np.random.default_rng(seed)
    normals, anomalies = rng.normal(size=(n, d)), 2 * rng.normal(size=(m, d))
    if integer:  # many ties, on which < and ≤ differ
        normals, anomalies = np.round(normals), np.round(anomalies)
    nearest = np.sort(cdist(normals, normals, "sqeuclidean"), axis=1)
    to_anomalies = cdist(normals, anomalies, "sqeuclidean")
    slow = [
        next(
            (
                k
                for k in range(1, n)
                if inside_balls(to_anomalies[:, a], nearest[:, k], closed).any()
            ),
            n,
        )
        for a in range(m)
    ]
    np.testing.assert_array_equal(smallest_covering_k(nearest, to_anomalies, closed), slow)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 18))
@settings(max_examples=50, deadline=None)
def test_coverage_grows_with_k(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    train, points = rng.normal(size=(20, 2)), 3 * rng.normal(size=(30, 2))
    fewer, more = rarity(train, points, k) > 0, rarity(train, points, k + 1) > 0
    assert (more | ~fewer).all()


def test_k_hat_by_hand() -> None:
    # One anomaly covered at once: K = 0, Beta(1, 2), whose 95 % quantile is 1 − √0.05 = 0.776…
    assert k_hat(np.array([5]), n_normals=106, k_min=5, quantile=0.95) == 5 + int(77.639)
    # None at all: the uniform prior's own quantile.
    assert k_hat(np.array([], dtype=np.intp), n_normals=106, k_min=5, quantile=0.95) == 5 + 95
    # One never covered: K = 1, Beta(2, 1), quantile √0.95 = 0.974…
    assert k_hat(np.array([106]), n_normals=106, k_min=5, quantile=0.95) == 5 + 97
    # The fewest possible normals leave one choice.
    assert k_hat(np.array([5, 6]), n_normals=7, k_min=5, quantile=0.95) == 5


def test_zero_radius_is_floored_and_uncovered_is_not_confused_with_it() -> None:
    np.testing.assert_array_equal(floor_at_smallest_positive(np.array([0.0, 4, 1]), 9), [1, 4, 1])
    np.testing.assert_array_equal(floor_at_smallest_positive(np.zeros(2), 9), [9, 9])
    found = density(np.array([1.0, 4.0, np.inf]), np.ones(1))
    np.testing.assert_allclose(found, [1 / 2, (1 / 2) / (3 / 2), 0], rtol=1e-15)


@pytest.mark.parametrize("budget", [10**7, 10**9])
def test_rarity_equals_the_double_loop(budget: int) -> None:
    rng = np.random.default_rng(0)
    train, points = rng.normal(size=(50, 4)), 2 * rng.normal(size=(40, 4))
    radii = np.sort(cdist(train, train), axis=1)[:, 10]
    slow = [
        min((r for t, r in zip(train, radii, strict=True) if cdist([t], [p])[0, 0] < r), default=0)
        for p in points
    ]
    np.testing.assert_allclose(rarity(train, points, 10, budget), slow, rtol=1e-14)
