"""Scores under other priors, from what a run keeps, against the evidence itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eap_core.analysis.compare import GRID, compare_sides, rescore, resweep, sweep_priors, sweep_run
from eap_core.base.prepare import problem_from_tables
from eap_core.project.demos import demo_tables
from eap_core.scoring.evidence import Evidence, estimate
from eap_core.scoring.posterior import Posterior, Prior, make_parts
from eap_core.scoring.settings import Settings
from ui.priors import sweep_words


@pytest.mark.parametrize("subsets", [0, 25])
@pytest.mark.parametrize("own", [None, 0.3])
def test_the_parts_of_a_run_give_the_sweep_of_its_evidence(subsets: int, own: float | None) -> None:
    train, candidates = demo_tables()
    problem = problem_from_tables(train, candidates)
    evidence = estimate(problem, Settings(subsets=subsets))
    kept = make_parts(evidence, Prior.of_rate(own or problem.rate))
    wanted = sweep_priors(problem, evidence)
    found = resweep(kept.eap, kept.weight, problem.ids, wanted.rates, kept.prior, wanted.top)
    assert np.abs(found.scores - wanted.scores).max() < 1e-12
    if own is None:  # two scores that differ in the last digit alone may tie in one of the sweeps
        assert np.abs(found.kendall - wanted.kendall).max() < 1e-3
        assert found.overlap.tolist() == wanted.overlap.tolist()


shares = st.floats(0.001, 0.499)


@settings(max_examples=60, deadline=None)
@given(
    passes=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    own=shares,
    other=shares,
)
def test_any_evidence_is_rescored_exactly(passes: int, seed: int, own: float, other: float) -> None:
    rng = np.random.default_rng(seed)
    covered = rng.random((passes, 7)) < 0.7
    evidence = Evidence(
        p_x=np.where(covered, rng.random((passes, 7)) * 0.1, 0.0),
        p_y=rng.random((passes, 7)),
        covered=covered,
        k=np.ones(passes, dtype=np.intp),
        n=rng.integers(5, 100, passes),
        threshold=np.ones(passes),
        squared_radii=np.ones(3),
    )
    kept = make_parts(evidence, Prior.of_rate(own))
    wanted = Posterior.of(evidence.averaged, Prior.of_rate(other)).mean
    assert np.abs(rescore(kept.eap, kept.weight, own, other) - wanted).max() < 1e-12


def frame(count: int = 30, prior: float = 0.05) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    weight, p_y = np.where(rng.random(count) < 0.3, 0.0, rng.random(count) / 2), rng.random(count)
    names = [f"c{i:03d}" for i in range(count)]
    eap = weight * p_y + (1 - weight) * prior
    return pd.DataFrame({"id": names, "eap": eap, "weight": weight, "prior": prior})


def test_nobody_moves_under_the_runs_own_prior() -> None:
    found = sweep_run(frame(), 1 / 3)
    outlook = found.under(0.05)
    assert not outlook.enters.any()
    assert not outlook.leaves.any()
    assert outlook.kendall == pytest.approx(1.0)
    assert found.best.sum() == found.sweep.top == 10
    assert set(found.sweep.rates) >= set(GRID)


def test_as_many_enter_as_leave_and_the_first_change_is_one() -> None:
    found = sweep_run(frame(), 1 / 3)
    assert found.moving.any()
    for rate in found.sweep.rates:
        outlook = found.under(rate)
        assert outlook.enters.sum() == outlook.leaves.sum()
    for row in np.flatnonzero(found.moving):
        at = found.first_change(int(row), found.sweep.default)
        outlook = found.under(at)
        assert bool((outlook.enters | outlook.leaves)[row])


def test_a_change_between_two_steps_of_the_grid_has_a_rate() -> None:
    found = sweep_run(frame(), 1 / 3)
    staying = int(np.flatnonzero(~found.moving)[0])
    assert found.first_change(staying, 0.123) == 0.123


def test_those_that_leave_and_enter_take_turns() -> None:
    best = np.array([True, True, True, False, False])
    assert compare_sides(np.array([2, 3, 0, 1, 4]), best).tolist() == [2, 3, 0, 4, 1]
    assert compare_sides(np.array([], dtype=np.intp), best).tolist() == []


def test_one_candidate_alone_never_moves() -> None:
    found = sweep_run(frame(1), 1 / 3)
    assert not found.moving.any()
    assert "all of the best 1 stay" in sweep_words(found.sweep)
