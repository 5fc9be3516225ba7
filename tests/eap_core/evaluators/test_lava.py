"""All candidates annealed together against one candidate at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from eap_core.base.problem import Problem
from eap_core.base.table import Floats
from eap_core.evaluators.lava import Annealing, Lava, label_cost, schedule
from eap_core.scoring.distances import squared_distances
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem


def softmin(epsilon: float, cost: Floats, log_weighted: Floats) -> Floats:
    return np.asarray(-epsilon * logsumexp(log_weighted - cost / epsilon, axis=1))


def one_at_a_time(problem: Problem, candidate: int, transport: float, steps: list[float]) -> float:
    n = problem.n
    source = np.vstack([problem.x_train, problem.x_candidates[candidate]])
    labels = np.append(problem.y_train, 1)
    cost = 0.5 * squared_distances(source, problem.x_train)
    cost += transport * (labels[:, None] != problem.y_train)
    log_a, log_b = -np.log(n + 1), -np.log(n)
    f = softmin(steps[0], cost, np.full(n, log_b))
    g = softmin(steps[0], cost.T, np.full(n + 1, log_a))
    for epsilon in steps:
        new_f = softmin(epsilon, cost, log_b + g / epsilon)
        new_g = softmin(epsilon, cost.T, log_a + f / epsilon)
        f, g = (f + new_f) / 2, (g + new_g) / 2
    f = softmin(steps[-1], cost, log_b + g / steps[-1])
    return float(-(f[-1] * (1 + 1 / n) - f.sum() / n))


@pytest.mark.parametrize("reach", [1.0, 50.0, 1000.0])
@pytest.mark.parametrize("columns", [2, 12])
def test_equal_to_a_solve_per_candidate(reach: float, columns: int) -> None:
    """Far candidates too, whose sums leave the range of numbers unless taken in logarithms."""
    problem = make_problem(5, normals=60, anomalies=6, each=5, columns=columns)
    candidates = problem.x_candidates.copy()
    candidates[10:] *= reach
    problem = Problem(problem.x_train, problem.y_train, candidates, problem.ids)
    steps, transport = schedule(problem, 0.1), 0.4 * label_cost(problem)
    found = Annealing(problem, transport).values(steps)
    slow = [one_at_a_time(problem, c, transport, steps) for c in range(15)]
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-9)


def test_isolated_training_rows_do_not_break_the_sums() -> None:
    rng = np.random.default_rng(0)
    train = np.vstack([rng.normal(size=(20, 2)), [[90.0, 0.0], [0.0, -90.0]]])
    problem = Problem(
        train, np.zeros(22, dtype=np.int8), rng.normal(size=(4, 2)) * 30, tuple("abcd"), rate=0.1
    )
    steps = schedule(problem, 0.1)
    found = Annealing(problem, 0.0).values(steps)
    slow = [one_at_a_time(problem, c, 0.0, steps) for c in range(4)]
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("height", [0.0, 100.0, -100.0])
def test_a_potential_that_towers_over_the_others_is_counted(height: float) -> None:
    """One entry 1,000 ε above or below the rest, where its exponential is no number any more."""
    problem = make_problem(1, normals=30, anomalies=4)
    rng = np.random.default_rng(0)
    columns, base = rng.normal(size=(34, 3)), rng.normal(size=34)
    columns[7, 1] += height
    cost = 0.5 * squared_distances(problem.x_train, problem.x_train)
    cost += 0.3 * (problem.y_train[:, None] != problem.y_train)
    slow = logsumexp((columns[None] - cost[:, :, None]) / 0.1, axis=1)
    found = Annealing(problem, 0.3)._log_sums(columns, base, 0.1)
    np.testing.assert_allclose(found, slow, rtol=1e-12, atol=1e-9)


def test_the_label_cost_is_the_transport_between_the_classes() -> None:
    train = np.array([[0.0], [0.0], [2.0], [2.0], [2.0], [4.0]])
    labels = np.array([0, 0, 0, 0, 0, 1], dtype=np.int8)
    problem = Problem(train, labels, np.zeros((1, 1)), ("a",))
    # Two fifths travel 4, three fifths travel 2, each at half its square.
    assert label_cost(problem) == pytest.approx(0.4 * 8 + 0.6 * 2)
    assert label_cost(make_problem(anomalies=0)) == 0


def test_far_candidates_are_the_least_valuable(problem: Problem) -> None:
    scores = Lava().score(Workbench(problem))
    assert scores[20:].max() < scores[:20].min()
