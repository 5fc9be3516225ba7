"""Maps: the same each time, keeping groups apart, and possible for the smallest and oddest data."""

from __future__ import annotations

import numpy as np
import pytest

from eap_core.analysis import neighbours
from eap_core.analysis.neighbours import place_by_pca, place_by_umap
from eap_core.base.problem import Problem
from tests.conftest import make_problem


def test_pca_shows_the_widest_directions() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 4)) * [0.1, 5.0, 0.2, 1.0]
    problem = Problem(rows, np.zeros(50, dtype=np.int8), rows[:3] + 1.0, tuple("abc"))
    found = place_by_pca(problem)
    assert found.method == "pca"
    centred = rows - rows.mean(axis=0)
    assert abs(np.corrcoef(found.training[:, 0], centred[:, 1])[0, 1]) > 0.999
    assert abs(np.corrcoef(found.training[:, 1], centred[:, 3])[0, 1]) > 0.95
    # distances along the two axes are the data's own
    assert np.linalg.norm(found.training - found.training[0], axis=1) == pytest.approx(
        np.linalg.norm((centred - centred[0])[:, [1, 3]], axis=1), abs=0.8
    )


def test_candidates_do_not_turn_the_flat_map() -> None:
    problem = make_problem()
    few = Problem(problem.x_train, problem.y_train, problem.x_candidates[:4], problem.ids[:4])
    np.testing.assert_array_equal(place_by_pca(problem).training, place_by_pca(few).training)


def test_the_map_keeps_groups_apart_and_is_the_same_each_time() -> None:
    problem = make_problem(0, normals=120, anomalies=10, each=30, columns=6)
    one, two = place_by_umap(problem, 1), place_by_umap(problem, 1)
    for name in ("training", "candidates"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert getattr(one, name).dtype == np.float32
        assert not getattr(one, name).flags.writeable
    assert (one.training.shape, one.candidates.shape) == ((130, 2), (90, 2))
    normals, beside = one.training[:120], one.candidates[:30]
    # a candidate beside the normals lies nearer to the real anomalies than most normals do
    anomaly = np.median(one.training[120:], axis=0)
    to_anomaly = [np.median(np.linalg.norm(g - anomaly, axis=1)) for g in (beside, normals)]
    assert to_anomaly[0] < to_anomaly[1]
    assert not np.array_equal(one.training, place_by_umap(problem, 2).training)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("normals", "candidates"), [(3, 1), (4, 2), (16, 1)])
def test_the_smallest_problems_have_maps(columns: int, normals: int, candidates: int) -> None:
    rng = np.random.default_rng(0)
    problem = Problem(
        rng.normal(size=(normals, columns)),
        np.zeros(normals, dtype=np.int8),
        rng.normal(size=(candidates, columns)),
        tuple(f"c{i}" for i in range(candidates)),
    )
    for found in (place_by_pca(problem), place_by_umap(problem)):
        assert np.isfinite(found.training).all()
        assert np.isfinite(found.candidates).all()
        assert (len(found.training), len(found.candidates)) == (normals, candidates)


@pytest.mark.parametrize("scale", [1.0, 1e100, 1e-100])
def test_copies_and_odd_scales_have_maps(scale: float) -> None:
    train = np.zeros((25, 3))
    train[0] = scale
    problem = Problem(train, np.zeros(25, dtype=np.int8), np.zeros((6, 3)), tuple("abcdef"))
    for found in (place_by_pca(problem), place_by_umap(problem)):
        assert np.isfinite(found.training).all()
        assert np.isfinite(found.candidates).all()


def test_approximate_neighbours_serve_where_exact_ones_would_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbours, "_EXACT_UP_TO", 10)
    found = place_by_umap(make_problem())
    assert np.isfinite(found.candidates).all()


def test_neighbours_are_exact_and_begin_with_the_row_itself() -> None:
    rows = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    where, far = neighbours._neighbours(rows, 5, lambda share, step: None)  # noqa: ARG005
    assert where[:, 0].tolist() == list(range(60))
    gaps = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(far, np.sort(gaps, axis=1)[:, :5], rtol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(gaps, where, axis=1), far, rtol=1e-6)
