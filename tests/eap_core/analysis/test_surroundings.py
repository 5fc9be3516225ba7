"""What lies around a candidate agrees with the slow way and with the explanation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.analysis.explain import _nearest, explain, find_surroundings
from eap_core.scoring.evidence import estimate
from eap_core.scoring.settings import AUTHORS, PAPER, Settings
from tests.conftest import make_problem


@pytest.mark.parametrize("columns", [3, 40])  # differences, and matrix products
@pytest.mark.parametrize("settings", [replace(AUTHORS, subsets=3), PAPER])
def test_it_agrees_with_the_explanation(columns: int, settings: Settings) -> None:
    problem = make_problem(3, columns=columns)
    evidence = estimate(problem, settings)
    found = find_surroundings(problem, evidence, settings)
    covered = 0
    for i, name in enumerate(problem.ids):
        said = explain(problem, evidence, settings, name)
        assert [problem.train_ids[row] for row in found.nearest[i]] == [
            near.id for near in said.nearest_normals
        ]
        assert found.nearest_distance[i] == pytest.approx(
            [near.distance for near in said.nearest_normals]
        )
        assert said.nearest_anomaly is not None
        assert problem.train_ids[found.anomaly[i]] == said.nearest_anomaly.id
        assert found.anomaly_distance[i] == pytest.approx(said.nearest_anomaly.distance)
        if said.covering is None:
            assert found.ball[i] == -1
            assert np.isnan(found.radius[i])
        else:
            covered += 1
            assert problem.train_ids[found.ball[i]] == said.covering.id
            assert found.radius[i] == pytest.approx(said.radius)
    assert 0 < covered < len(problem.ids)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 40]), st.integers(0, 5))
def test_among_equals_the_first_is_nearest(seed: int, columns: int, count: int) -> None:
    """On a grid nearly everything ties, far from the origin as well as near it."""
    rng = np.random.default_rng(seed)
    far = 1e3 * (seed % 2)
    others = rng.integers(0, 2, (count, columns)).astype(np.float64) + far
    points = rng.integers(0, 3, (6, columns)).astype(np.float64) + far
    squared = np.array([[((p - o) ** 2).sum() for o in others] for p in points]).reshape(6, -1)
    noisy = squared * (1 + rng.uniform(-1e-12, 1e-12, squared.shape))  # as products are
    found = _nearest(points, others, noisy, 3)
    for i in range(len(points)):
        order = sorted(range(count), key=lambda row, s=squared[i]: (s[row], row))  # type: ignore[misc]
        assert found[i].tolist() == [*order, -1, -1, -1][:3]


def test_without_anomalies_there_is_no_nearest_one() -> None:
    problem = make_problem(anomalies=0)
    settings = replace(AUTHORS, subsets=0)
    found = find_surroundings(problem, estimate(problem, settings), settings)
    assert set(found.anomaly.tolist()) == {-1}
    assert np.isinf(found.anomaly_distance).all()


def test_blocks_do_not_matter() -> None:
    problem = make_problem(1, normals=80, each=100, columns=40)
    evidence = estimate(problem, PAPER)
    whole = find_surroundings(problem, evidence, PAPER)
    small = find_surroundings(problem, evidence, PAPER, budget=8 * 64 * problem.n * 8)
    for name, array in vars(whole).items():
        np.testing.assert_array_equal(array, getattr(small, name))
