"""The fast passes against the plain transcription, and the paper's convention by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import transcription
from eap_core.base.errors import DataError
from eap_core.base.problem import Problem
from eap_core.scoring import detectors
from eap_core.scoring.evidence import estimate, random_subsets
from eap_core.scoring.posterior import Prior, make_parts
from eap_core.scoring.settings import AUTHORS, PAPER, Settings
from tests.conftest import make_problem

CONVENTIONS = {
    "authors, one pass": replace(AUTHORS, subsets=0),
    "authors": replace(AUTHORS, subsets=8),
    "authors, refitted": replace(AUTHORS, subsets=4, refit=True),
    "paper": PAPER,
    "paper, averaged": replace(PAPER, subsets=6),
    "fixed k": replace(AUTHORS, subsets=3, k=9),
    "another detector": replace(AUTHORS, subsets=3, detector="knn"),
}


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("anomalies", [0, 5])
def test_equal_to_the_plain_transcription(name: str, columns: int, anomalies: int) -> None:
    chosen = CONVENTIONS[name]
    problem = make_problem(anomalies=anomalies, columns=columns)
    evidence = estimate(problem, chosen, seed=1)
    everything = np.ones(problem.n, dtype=bool)
    fitted = detectors.fit(chosen.detector, problem.x_train, 1).model
    for t, kept in enumerate([everything, *random_subsets(problem, chosen, 1)]):
        arguments = (
            problem.x_train[kept],
            problem.y_train[kept],
            problem.x_train[problem.anomalies],
            problem.x_candidates,
            problem.rate,
            chosen,
            1,
        )
        detector = None if chosen.refit else (fitted, fitted.decision_scores_[kept])
        p_x, p_y, _ = transcription.single_pass(*arguments, detector)
        np.testing.assert_allclose(evidence.p_x[t], p_x, rtol=1e-9)
        np.testing.assert_allclose(evidence.p_y[t], p_y, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(evidence.covered[t], p_x > 0)


def test_paper_convention_on_four_points_by_hand() -> None:
    """Normals at 0, 1, 3 and an anomaly at 4.5 on a line; k = 1, closed balls, density over D.

    The ball of 3 has radius 2 and holds the anomaly: K = 0, so the quantile of Beta(1, 2), 0.776,
    gives k = 1 + int(0.776) = 1, and radii 1, 1, 2. Smallest balls around the four rows: 1, 1, 2,
    2, so Σ 1/r = 3. The candidate at 2 is on the surface of the ball of 1: r = 1, P = 1/(1 + 3),
    N = 1. At 5 it is on that of 3: r = 2, P = ½/(½ + 3) = 1/7, N = 4/7. At 5.1 nothing holds it.
    """
    problem = Problem(
        np.array([[0.0], [1.0], [3.0], [4.5]]),
        np.array([0, 0, 0, 1], dtype=np.int8),
        np.array([[2.0], [5.0], [5.1]]),
        ("a", "b", "c"),
    )
    evidence = estimate(problem, PAPER)
    assert evidence.k.tolist() == [1]
    np.testing.assert_allclose(evidence.p_x[0], [1 / 4, 1 / 7, 0], rtol=1e-15)
    np.testing.assert_allclose(evidence.observations[0], [1, 4 / 7, 0], rtol=1e-15)
    assert evidence.covered[0].tolist() == [True, True, False]
    made_of = make_parts(evidence, Prior.of_rate(problem.rate))
    assert made_of.eap[2] == 0.25  # m/n, exactly
    p = evidence.p_y[0]
    np.testing.assert_allclose(made_of.eap[0], (0.25 + p[0]) / 2, rtol=1e-15)


def test_paper_convention_in_the_plane_by_hand() -> None:
    """Five normals on a cross of arm 1 and an anomaly at (3, 0).

    NN_1 is 1 for the arms and for the centre. The anomaly is 2 from its nearest arm and 3 from the
    centre. Of the arm's neighbours: centre 1, the two next arms √2, the opposite arm 2: the ball
    reaches 2 at k = 4, which is n − 1, so K = 1, and Beta(2, 1) gives k = 1 + int(3·0.9747) = 3.
    Radii for k = 3: arms √2, centre 1. A point at (0.5, 0) lies in the centre's ball: r = 1.
    Everything is within the centre's closed ball but the anomaly, which no ball holds:
    Σ 1/r = 5, so P = 1/6 and N = 6·(1/6) = 1.
    """
    cross = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], dtype=float)
    problem = Problem(
        np.vstack([cross, [[3.0, 0.0]]]),
        np.array([0] * 5 + [1], dtype=np.int8),
        np.array([[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]]),
        ("a", "b", "c"),
    )
    evidence = estimate(problem, PAPER)
    assert evidence.k.tolist() == [3]
    root = 1 / np.sqrt(2)
    np.testing.assert_allclose(evidence.p_x[0], [1 / 6, root / (root + 5), 0], rtol=1e-14)
    np.testing.assert_allclose(evidence.observations[0, 0], 1, rtol=1e-14)


def test_open_balls_leave_their_surface_out() -> None:
    problem = Problem(
        np.array([[0.0], [1.0], [3.0], [4.5]]),
        np.array([0, 0, 0, 1], dtype=np.int8),
        np.array([[2.0], [5.0]]),
        ("a", "b"),
    )
    evidence = estimate(problem, replace(PAPER, ball="open"))
    # The candidate at 2 is left with the ball of 3; the one at 5 with none. Smallest balls around
    # the rows: 1, 1, 2, 2 as before.
    np.testing.assert_allclose(evidence.p_x[0], [0.5 / 3.5, 0], rtol=1e-15)


@pytest.mark.parametrize("subsets", [0, 5])
@pytest.mark.parametrize("columns", [3, 40])
def test_the_budget_changes_no_bit(subsets: int, columns: int) -> None:
    problem = make_problem(normals=400, anomalies=8, columns=columns)
    chosen = replace(AUTHORS, subsets=subsets)
    small, large = (estimate(problem, chosen, budget=b) for b in (8_000_000, 10**9))
    for name in ("p_x", "p_y", "covered", "k", "threshold", "squared_radii"):
        np.testing.assert_array_equal(getattr(small, name), getattr(large, name))


def test_duplicates_give_finite_densities() -> None:
    """Each row fifteen times: every radius is 0 for k < 15, and nothing may divide by it."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(40, 3)), 15, axis=0)
    problem = Problem(
        np.vstack([rows, rng.normal(size=(5, 3)) + 2]),
        np.repeat([0, 1], [600, 5]).astype(np.int8),
        np.vstack([rows[:1], rng.normal(size=(5, 3)), np.full((1, 3), 99.0)]),
        tuple("abcdefg"),
    )
    for chosen in (replace(AUTHORS, subsets=5, k=5), AUTHORS, PAPER):
        evidence = estimate(problem, chosen)
        assert np.isfinite(evidence.p_x).all()
        assert evidence.covered[:, 0].mean() > 0.5, "a copy of a normal row is covered"
        assert not evidence.covered[:, 6].any()


def test_duplicates_agree_with_the_transcription_where_radii_are_zero() -> None:
    rng = np.random.default_rng(2)
    rows = np.vstack([np.repeat(rng.normal(size=(3, 2)), 8, axis=0), rng.normal(size=(20, 2))])
    problem = Problem(
        np.vstack([rows, rng.normal(size=(3, 2)) + 2]),
        np.repeat([0, 1], [len(rows), 3]).astype(np.int8),
        np.vstack([rows[:2], rng.normal(size=(12, 2))]),
        tuple("abcdefghijklmn"),
    )
    chosen = replace(AUTHORS, subsets=0, k=5)
    anomalies = problem.x_train[problem.anomalies]
    p_x, k, _ = transcription.densities(
        problem.x_train, problem.y_train, anomalies, problem.x_candidates, chosen
    )
    evidence = estimate(problem, chosen)
    assert k == 5
    assert np.count_nonzero(evidence.squared_radii == evidence.squared_radii.min()) >= 24
    np.testing.assert_allclose(evidence.p_x[0], p_x, rtol=1e-12)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_subsets_are_large_enough_and_spread_over_the_range(seed: int) -> None:
    problem = make_problem(normals=30, anomalies=4)
    masks = random_subsets(problem, replace(AUTHORS, subsets=20), seed)
    assert len(masks) == 20
    assert all(mask[problem.normals].sum() >= 7 for mask in masks)
    sizes = np.array([mask.mean() for mask in masks])
    assert sizes[:7].mean() < sizes[-7:].mean() - 0.2


def test_too_few_normals_are_refused_with_the_minimum() -> None:
    problem = make_problem(normals=6, anomalies=2)
    with pytest.raises(DataError, match="only 6 normal rows — at least 7 are needed"):
        estimate(problem)
    assert np.isfinite(estimate(problem, PAPER).p_x).all()


def test_progress_reaches_the_end_and_never_goes_back(problem: Problem) -> None:
    seen: list[float] = []
    estimate(problem, Settings(subsets=3), progress=lambda share, _: seen.append(share))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
