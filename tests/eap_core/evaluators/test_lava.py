"""All candidates annealed together against one candidate at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from eap_core.base.problem import Problem
from eap_core.base.table import Floats
from eap_core.evaluators.lava import Annealing, LabelCosts, Lava, Schedule, _log_sums
from eap_core.evaluators.lava import transport_cost as fast_transport
from eap_core.scoring.distances import SquaredDistances, squared_distances
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem

EPSILON = 0.1


def softmin(epsilon: float, cost: Floats, log_weighted: Floats) -> Floats:
    return np.asarray(-epsilon * logsumexp(log_weighted - cost / epsilon, axis=1))


def anneal(f_cost: Floats, g_cost: Floats, largest: float) -> tuple[Floats, Floats]:
    """f from rows to columns and g back, each half-step with costs of its own."""
    rows, columns = f_cost.shape
    log_a, log_b = -np.log(rows), -np.log(columns)
    steps = [largest]
    while (largest * 0.25 ** (len(steps) - 1)) > EPSILON * (1 + 1e-12):
        steps.append(largest * 0.25 ** (len(steps) - 1))
    steps.append(EPSILON)
    f = softmin(steps[0], f_cost, np.full(columns, log_b))
    g = softmin(steps[0], g_cost, np.full(rows, log_a))
    for epsilon in steps:
        new_f = softmin(epsilon, f_cost, log_b + g / epsilon)
        new_g = softmin(epsilon, g_cost, log_a + f / epsilon)
        f, g = (f + new_f) / 2, (g + new_g) / 2
    f, g = (
        softmin(EPSILON, f_cost, log_b + g / EPSILON),
        softmin(EPSILON, g_cost, log_a + f / EPSILON),
    )
    return f, g


def largest_step(old: Floats, candidate: Floats, side: float, rounded: bool) -> float:
    """The squared diagonal of the box; ``rounded`` to whole quarterings beside that of ``old``."""
    box = float(np.square(np.ptp(np.vstack([old, candidate]), axis=0)).sum()) + side
    usual = max(float(np.square(np.ptp(old, axis=0)).sum()) + side, EPSILON)
    return usual * 4.0 ** round(np.log(max(box / usual, 1.0)) / np.log(4.0)) if rounded else box


def transport(rows: Floats, candidate: Floats, columns: Floats, rounded: bool) -> float:
    cost = 0.5 * squared_distances(np.vstack([rows, candidate]), columns)
    largest = largest_step(np.vstack([rows, columns]), candidate, 0.0, rounded)
    f, g = anneal(cost, cost.T, largest)
    return float(f.mean() + g.mean())


def one_at_a_time(problem: Problem, candidate: int, rounded: bool = True) -> float:
    """The definition, with the two tables of label costs written out."""
    x, y, c = problem.x_train, problem.y_train, problem.x_candidates[candidate]
    normals, anomalies = x[y == 0], x[y == 1]
    without = 0.0
    to_normals = to_anomalies = 0.0
    if len(anomalies):
        plain = 0.5 * squared_distances(normals, anomalies)
        without = sum(
            part.mean() for part in anneal(plain, plain.T, np.square(np.ptp(x, axis=0)).sum())
        )
        to_normals = transport(anomalies, c, normals, rounded)
        to_anomalies = transport(anomalies, c, anomalies, rounded)
    labels = np.append(y, 1)
    cost = 0.5 * squared_distances(np.vstack([x, c]), x)
    f_cost = cost + 0.5 * np.where(labels == 1, to_normals, without)[:, None]
    table = {(0, 0): 0.0, (0, 1): to_normals, (1, 0): to_anomalies, (1, 1): to_normals}
    g_cost = cost.T + 0.5 * np.array([[table[a, b] for b in labels] for a in y])
    f, _ = anneal(f_cost, g_cost, largest_step(x, c, 9.0, rounded))
    return float(-(f[-1] * (1 + 1 / len(x)) - f.sum() / len(x)))


@pytest.mark.parametrize("reach", [1.0, 50.0, 1000.0])
@pytest.mark.parametrize("columns", [2, 12])
@pytest.mark.parametrize("anomalies", [0, 1, 6])
def test_equal_to_a_solve_per_candidate(reach: float, columns: int, anomalies: int) -> None:
    """Far candidates too, whose sums leave the range of numbers unless taken in logarithms."""
    problem = make_problem(5, normals=60, anomalies=anomalies, each=5, columns=columns)
    candidates = problem.x_candidates.copy()
    candidates[10:] *= reach
    problem = Problem(problem.x_train, problem.y_train, candidates, problem.ids, rate=problem.rate)
    slow = [one_at_a_time(problem, c) for c in range(15)]
    np.testing.assert_allclose(Lava().score(Workbench(problem)), slow, rtol=1e-8, atol=1e-8)


def test_whole_quarterings_hardly_change_a_value() -> None:
    """The order is that of a schedule for each, inside the box of the training rows and outside."""
    problem = make_problem(2, normals=60, anomalies=6, each=6, columns=3)
    exact = np.array([one_at_a_time(problem, c, rounded=False) for c in range(18)])
    found = Lava().score(Workbench(problem))
    x = problem.x_train
    outside = (problem.x_candidates < x.min(axis=0)) | (problem.x_candidates > x.max(axis=0))
    inside = ~outside.any(axis=1)
    assert 0 < inside.sum() < 18
    assert np.array_equal(np.argsort(found), np.argsort(exact))


def test_isolated_training_rows_do_not_break_the_sums() -> None:
    rng = np.random.default_rng(0)
    train = np.vstack([rng.normal(size=(20, 2)), [[90.0, 0.0], [0.0, -90.0]]])
    problem = Problem(
        train, np.zeros(22, dtype=np.int8), rng.normal(size=(4, 2)) * 30, tuple("abcd"), rate=0.1
    )
    slow = [one_at_a_time(problem, c) for c in range(4)]
    np.testing.assert_allclose(Lava().score(Workbench(problem)), slow, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("height", [0.0, 100.0, -100.0])
def test_a_potential_that_towers_over_the_others_is_counted(height: float) -> None:
    """One entry 1,000 ε above or below the rest, where its exponential is no number any more."""
    rows = make_problem(1, normals=30, anomalies=4).x_train
    potentials = np.random.default_rng(0).normal(size=(34, 3))
    potentials[7, 1] += height
    cost = 0.5 * squared_distances(rows, rows)
    classes = [slice(0, 30), slice(30, 34)]
    found = _log_sums(SquaredDistances(rows, rows), potentials, classes, 0.1)
    for sums, each in zip(found, classes, strict=True):
        slow = logsumexp((potentials[None, each] - cost[:, each, None]) / 0.1, axis=1)
        np.testing.assert_allclose(sums, slow, rtol=1e-12, atol=1e-9)


def test_terms_lost_to_underflow_are_found_again() -> None:
    """A column whose near entries are so low that far ones, beyond the kernel's range, count."""
    rows = np.linspace(0.0, 30.0, 31)[:, None]
    potentials = np.zeros((31, 2))
    potentials[:, 1] = np.where(np.arange(31) < 16, -60.0, 0.0)
    cost = 0.5 * squared_distances(rows, rows)
    slow = logsumexp((potentials[None] - cost[:, :, None]) / 0.1, axis=1)
    (found,) = _log_sums(SquaredDistances(rows, rows), potentials, [slice(0, 31)], 0.1)
    np.testing.assert_allclose(found, slow, rtol=1e-12, atol=1e-9)


def test_transport_costs_of_two_points() -> None:
    """A single point onto another: nothing to spread, so the cost is half the square."""
    schedule = Schedule(EPSILON)
    assert fast_transport(np.zeros((1, 1)), np.full((1, 1), 4.0), schedule) == pytest.approx(8.0)
    end = Annealing(np.zeros((1, 1)), np.full((1, 1), 4.0)).run(
        np.zeros((1, 1)), schedule, LabelCosts.none(1)
    )
    assert (end.f.mean(axis=0) + end.g.mean(axis=0))[1] == pytest.approx(8.0)


def test_far_candidates_are_the_least_valuable(problem: Problem) -> None:
    scores = Lava().score(Workbench(problem))
    assert scores[20:].max() < scores[:20].min()
