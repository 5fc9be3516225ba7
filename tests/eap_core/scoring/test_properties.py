"""What must be true of the score whatever the data (the method's own promises).

Where a property is about geometry the detector must have it too: an isolation forest cuts along the
axes with random numbers, a nearest-neighbour detector turns and shifts with the data.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import special_ortho_group

from eap_core.base.problem import Problem
from eap_core.base.table import Floats
from eap_core.scoring.evidence import Evidence, estimate
from eap_core.scoring.posterior import Posterior, Prior, make_parts
from eap_core.scoring.settings import AUTHORS, PAPER, Settings
from tests.conftest import make_problem

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 10**6)
SINGLE = replace(AUTHORS, subsets=0, detector="knn")
SMALL = {"normals": 40, "anomalies": 4, "each": 4}


def eap(problem: Problem, chosen: Settings = SINGLE) -> Floats:
    return make_parts(estimate(problem, chosen), Prior.of_rate(problem.rate)).eap


def moved(problem: Problem, train: Floats, candidates: Floats) -> Problem:
    return Problem(train, problem.y_train, candidates, problem.ids)


@given(seeds, st.sampled_from([SINGLE, PAPER, replace(AUTHORS, subsets=5)]))
@quick
def test_finite_and_a_probability(seed: int, chosen: Settings) -> None:
    found = eap(make_problem(seed, **SMALL), chosen)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


@given(seeds, st.floats(-1e4, 1e4), st.floats(0.01, 100))
@quick
def test_shifting_and_scaling_change_nothing(seed: int, shift: float, scale: float) -> None:
    problem = make_problem(seed, **SMALL)
    other = moved(problem, problem.x_train * scale + shift, problem.x_candidates * scale + shift)
    np.testing.assert_allclose(eap(problem), eap(other), rtol=1e-6)


@given(seeds)
@quick
def test_rotating_changes_nothing(seed: int) -> None:
    problem = make_problem(seed, **SMALL)
    turn = special_ortho_group.rvs(3, random_state=seed)
    other = moved(problem, problem.x_train @ turn, problem.x_candidates @ turn)
    np.testing.assert_allclose(eap(problem), eap(other), rtol=1e-6)


@given(seeds)
@quick
def test_the_order_of_rows_and_columns_changes_nothing(seed: int) -> None:
    problem = make_problem(seed, **SMALL)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(problem.n), rng.permutation(3)
    other = Problem(
        problem.x_train[rows][:, columns],
        problem.y_train[rows],
        problem.x_candidates[:, columns],
        problem.ids,
    )
    np.testing.assert_allclose(eap(problem), eap(other), rtol=1e-9)


@pytest.mark.parametrize("columns", [3, 40])
@given(seed=seeds)
@quick
def test_the_other_candidates_change_nothing(columns: int, seed: int) -> None:
    problem = make_problem(seed, **SMALL, columns=columns)
    chosen = replace(AUTHORS, subsets=2)
    some = np.random.default_rng(seed).permutation(len(problem.ids))[:5]
    alone = Problem(
        problem.x_train,
        problem.y_train,
        problem.x_candidates[some],
        tuple(problem.ids[i] for i in some),
    )
    np.testing.assert_allclose(eap(problem, chosen)[some], eap(alone, chosen), rtol=1e-12)


@given(seeds, st.sampled_from([SINGLE, PAPER, replace(AUTHORS, subsets=30)]))
@quick
def test_a_far_candidate_gets_exactly_the_prior(seed: int, chosen: Settings) -> None:
    problem = make_problem(seed, **SMALL)
    far = moved(problem, problem.x_train, problem.x_candidates + 1e6)
    assert (eap(far, chosen) == Prior.of_rate(problem.rate).mean).all()


def evidence_of(p_x: Floats, p_y: Floats) -> Evidence:
    return Evidence(
        p_x=p_x[None],
        p_y=p_y[None],
        covered=p_x[None] > 0,
        k=np.array([5]),
        n=np.array([100]),
        threshold=np.ones(1),
        squared_radii=np.ones(100),
    )


probability = st.floats(0, 1)
rates = st.floats(0.001, 0.499)


@given(st.lists(probability, min_size=2, max_size=20), st.floats(0, 0.5), rates)
def test_for_fixed_density_the_score_grows_with_p_y(
    p_y: list[float], p_x: float, rate: float
) -> None:
    values = np.sort(p_y)
    posterior = Posterior.of(evidence_of(np.full(len(p_y), p_x), values), Prior.of_rate(rate))
    assert (np.diff(posterior.mean) >= -1e-15).all()


@given(st.lists(st.floats(0, 0.5), min_size=2, max_size=20), rates, probability)
def test_above_the_prior_the_score_grows_with_density(
    p_x: list[float], rate: float, p_y: float
) -> None:
    values = np.sort(p_x)
    posterior = Posterior.of(evidence_of(values, np.full(len(p_x), p_y)), Prior.of_rate(rate))
    change = np.diff(posterior.mean)
    assert (change >= -1e-15).all() if p_y > rate else (change <= 1e-15).all()


@given(st.lists(st.tuples(st.floats(0, 0.5), probability), min_size=1, max_size=20), rates)
def test_the_score_is_what_its_parts_say(pairs: list[tuple[float, float]], rate: float) -> None:
    p_x, p_y = np.array(pairs).T
    made_of = make_parts(evidence_of(p_x, p_y), Prior.of_rate(rate))
    expected = made_of.weight * made_of.p_y + (1 - made_of.weight) * made_of.prior
    np.testing.assert_allclose(made_of.eap, expected, rtol=1e-12)
    np.testing.assert_allclose(made_of.observations, 100 * p_x, rtol=1e-9, atol=1e-12)
