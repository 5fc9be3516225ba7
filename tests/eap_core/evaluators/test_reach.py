"""EAP-Reach against its definition, written slowly, and the bounds that it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import skew
from sklearn.covariance import LedoitWolf
from sklearn.neighbors import LocalOutlierFactor

from eap_core.analysis.score import score
from eap_core.base.problem import Problem
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS
from eap_core.evaluators.reach import EapReach, posterior_of
from eap_core.scoring.distances import squared_distances
from eap_core.scoring.posterior import Prior, make_parts
from eap_core.scoring.reach import VIEWS, Mahalanobis, Reach, measure_reach, middle_ranks
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem


def ecod(normals: Floats, point: Floats) -> float:
    """The largest of three sums over columns: left tails, right tails, the longer tails."""
    n, left, right, longer = len(normals), 0.0, 0.0, 0.0
    for column, value in zip(normals.T, point, strict=True):
        low = -np.log((sum(v <= value for v in column) + 1) / (n + 1))
        high = -np.log((sum(v >= value for v in column) + 1) / (n + 1))
        left, right = left + low, right + high
        longer += low if skew(column) < 0 else high
    return max(left, right, longer)


def slow_views(problem: Problem, seed: int) -> tuple[Floats, Floats]:
    """z of all training rows, normals first, and of the candidates; a row for each view."""
    normals = problem.x_train[problem.normals]
    others = np.vstack([problem.x_train[problem.anomalies], problem.x_candidates])
    within = np.sqrt(squared_distances(normals, normals))
    np.fill_diagonal(within, np.inf)
    lof = LocalOutlierFactor(10, novelty=True).fit(normals)
    folded = np.empty(len(normals))
    for fold in np.array_split(np.random.default_rng(seed).permutation(len(normals)), 5):
        kept = np.setdiff1d(np.arange(len(normals)), fold)
        folded[fold] = LedoitWolf().fit(normals[kept]).mahalanobis(normals[fold])
    own = [
        within.min(axis=1),
        -lof.negative_outlier_factor_,
        [ecod(normals, row) for row in normals],
        folded,
    ]
    made = [
        np.sqrt(squared_distances(others, normals)).min(axis=1),
        -lof.score_samples(others),
        [ecod(normals, row) for row in others],
        LedoitWolf().fit(normals).mahalanobis(others),
    ]
    z_own, z_made = np.log(np.array(own)), np.log(np.array(made))
    return np.hstack([z_own, z_made[:, : problem.m]]), z_made[:, problem.m :]


@pytest.mark.parametrize("doubt", [False, True])
@pytest.mark.parametrize("anomalies", [0, 1, 8])
def test_how_many_rows_reach_as_far(anomalies: int, doubt: bool) -> None:
    problem = make_problem(3, normals=40, anomalies=anomalies, each=4, columns=3)
    training, made = slow_views(problem, seed=5)
    count = len(problem.normals)
    slow = np.empty((4, 12))
    for v, (rows, points) in enumerate(zip(training, made, strict=True)):
        ends = [np.quantile(rows[:count], 0.99)]
        if anomalies:
            ends.append(np.quantile(rows[count:], 0.9))
        half = (max(ends) - np.median(rows[:count])) / 2
        for c, z in enumerate(points):
            terms = [2.0 ** -((max(0.0, z - row) / half) ** 4) for row in rows]
            slow[v, c] = sum(terms) - (max(terms) if doubt and anomalies >= 6 else 0.0)
    found = measure_reach(problem, np.full(12, 0.5), seed=5, doubt_labels=doubt)
    np.testing.assert_allclose(found.by_view, slow, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.limiting, slow.argmin(axis=0))
    np.testing.assert_allclose(
        found.observations, np.where(slow.min(axis=0) < 1e-6, 0, slow.min(axis=0)), rtol=1e-6
    )
    assert (found.forest is None) == (anomalies == 0)


def test_middle_ranks_by_hand() -> None:
    own = np.array([1.0, 2.0, 2.0, 5.0])
    # below all; between; equal to two of them; above all
    found = middle_ranks(own, np.array([0.0, 1.5, 2.0, 9.0]))
    np.testing.assert_allclose(found, [0.5 / 5, 1.5 / 5, 2.5 / 5, 4.5 / 5])


@pytest.mark.parametrize(("rows", "columns"), [(30, 4), (20, 50), (3, 1)])
def test_mahalanobis_is_that_of_ledoit_and_wolf(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    known, points = rng.normal(size=(rows, columns)) * 3 + 7, rng.normal(size=(5, columns))
    theirs = LedoitWolf().fit(known).mahalanobis(points)
    np.testing.assert_allclose(Mahalanobis(known).of(points) ** 2, theirs, rtol=1e-6)


def test_the_score_is_the_posterior_of_its_parts(problem: Problem) -> None:
    table = score(Workbench(problem), ["eap", "reach"]).columns
    assert table.keys() >= {
        "reach_observations", "reach_limit", "reach_p", "reach_nearest", "reach_forest",
    }  # fmt: skip
    n, p, prior = table["reach_observations"], table["reach_p"], Prior.of_rate(problem.rate)
    np.testing.assert_allclose(table["reach"], (prior.alpha + n * p) / (prior.strength + n))
    parts = (table["reach_nearest"], table["reach_forest"], table["p_y"])
    np.testing.assert_allclose(p, np.mean(parts, axis=0))
    assert set(table["reach_limit"]) <= set(range(len(VIEWS)))
    # realistic candidates first, far ones last: here it is not hard
    assert table["reach"][:10].mean() > table["reach"][10:20].mean() > table["reach"][20:].mean()


def test_what_nothing_reaches_stays_exactly_at_the_prior(problem: Problem) -> None:
    far = replace(problem, x_candidates=problem.x_candidates[20:] * 1e4, ids=problem.ids[20:])
    bench = Workbench(far)
    assert EapReach().columns(bench)["reach_observations"].tolist() == [0.0] * 10
    np.testing.assert_array_equal(EapReach().score(bench), far.rate)
    other = Prior(0.2, 0.6)
    np.testing.assert_allclose(EapReach(prior=other).score(bench), 0.25)


def test_the_runs_prior_is_used(problem: Problem) -> None:
    usual, other = (
        score(Workbench(problem), ["reach"], prior).columns["reach"]
        for prior in (None, Prior(0.4, 0.6))
    )
    assert (other > usual).all()


def test_without_anomalies_the_normals_own_reach_counts() -> None:
    problem = make_problem(anomalies=0)
    columns = EapReach().columns(Workbench(problem))
    assert "reach_forest" not in columns
    p_y = make_parts(Workbench(problem).evidence(), Prior.of_rate(problem.rate)).p_y
    np.testing.assert_allclose(columns["reach_p"], (columns["reach_nearest"] + p_y) / 2)


def test_one_wrong_label_cannot_vouch_for_what_is_like_it() -> None:
    problem = make_problem(2, normals=80, anomalies=7, columns=3)
    train = problem.x_train.copy()
    train[-1] = 60.0  # an anomaly that is none of this product's
    wrong = Problem(train, problem.y_train, np.full((1, 3), 60.5), ("like it",))
    trusting, doubting = (EapReach(doubt_labels=doubt) for doubt in (False, True))
    assert trusting.columns(Workbench(wrong))["reach_observations"][0] > 0.9
    assert doubting.columns(Workbench(wrong))["reach_observations"][0] < 0.1
    few = replace(problem, x_train=problem.x_train[:85], y_train=problem.y_train[:85],
                  train_ids=problem.train_ids[:85])  # fmt: skip
    np.testing.assert_array_equal(  # with five of them each is needed
        trusting.score(Workbench(few)), doubting.score(Workbench(few))
    )


shares = st.floats(0.0, 1.0)
evidence = st.floats(0.0, 1e9)
rates = st.floats(0.001, 0.499)


def phi(n: float, p: float, prior: Prior) -> float:
    made = Reach(np.full((4, 1), n), np.array([p]), np.array([p]), np.array([p]))
    return float(posterior_of(made, prior)[0])


@given(evidence, shares, rates, st.floats(0.01, 100.0))
def test_the_three_properties(n: float, p: float, rate: float, strength: float) -> None:
    """Much evidence: what it looks like. None: the prior. And a certain one goes to 1."""
    prior = Prior(rate * strength, (1 - rate) * strength)
    n = n if n >= 1e-6 else 0.0
    weight = n / (strength + n)
    found = phi(n, p, prior)
    assert abs(found - p) <= strength / (strength + n) + 1e-9
    assert abs(found - prior.mean) <= weight + 1e-9
    assert phi(n, 1.0, prior) == pytest.approx(1 - prior.beta / (strength + n), abs=1e-9)
    assert 0 <= found <= 1


@given(evidence, evidence, st.floats(0.5, 1.0), shares, shares, rates)
def test_the_ranking_conditions(
    n_real: float, n_other: float, p_real: float, p_far: float, p_dull: float, rate: float
) -> None:
    prior = Prior.of_rate(rate)
    pi = prior.mean
    a, b = (n / (1 + n) for n in (n_real, n_other))
    assume(n_real >= 1e-6)
    realistic = phi(n_real, p_real, prior)
    if a * (0.5 - pi) > b * (1 - pi) + 1e-9:
        assert realistic > phi(n_other, p_far, prior)
    if a * (0.5 - pi) > max(0.0, p_dull - pi) + 1e-9:
        assert realistic > phi(n_other, p_dull, prior)


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.floats(0.5, 30.0))
def test_farther_out_in_a_view_is_never_more_evidence(seed: int, spread: float) -> None:
    problem = make_problem(seed % 50, normals=30, anomalies=3, columns=2)
    points = spread * np.random.default_rng(seed).normal(size=(20, 2))
    made = Problem(problem.x_train, problem.y_train, points, tuple(map(str, range(20))))
    by_view = dict(zip(VIEWS, measure_reach(made, np.zeros(20)).by_view, strict=True))
    normals = problem.x_train[problem.normals]
    outward = {
        "nearest": squared_distances(points, normals).min(axis=1),
        "tails": np.array([ecod(normals, point) for point in points]),
        "mahalanobis": Mahalanobis(normals).of(points),
    }
    for view, distances in outward.items():
        assert (np.diff(by_view[view][np.argsort(distances)]) <= 1e-9).all()


def test_near_real_by_hand() -> None:
    """Distances of the training rows: 10, 9, …, 1 of normals, 3 between the two anomalies."""
    train = np.array([[float(i)] for i in range(10)] + [[10.0], [13.0]])
    labels = np.repeat([0, 1], [10, 2])
    problem = Problem(train, labels, np.array([[10.1], [6.5], [40.0], [8.0]]), tuple("abcd"))
    own = np.array([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 3, 3], dtype=float)
    slow = [
        ((own > d).sum() + 0.5 * (own == d).sum() + 0.5) / (len(own) + 1)
        for d in (0.1, 3.5, 27.0, 2.0)
    ]
    np.testing.assert_allclose(EVALUATORS["near_real"].score(Workbench(problem)), slow)


def test_near_real_has_no_opinion_without_anomalies() -> None:
    scores = EVALUATORS["near_real"].score(Workbench(make_problem(anomalies=0)))
    assert set(scores) == {0.5}
