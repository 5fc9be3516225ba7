"""U(S + c) in closed form against refitting, pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import hmean
from sklearn.metrics import f1_score

from eap_core.base.problem import Problem
from eap_core.base.table import Bools, Floats
from eap_core.evaluators import EVALUATORS
from eap_core.evaluators.ame import Ame
from eap_core.evaluators.data_oob import DataOob
from eap_core.evaluators.marginals import (
    DataBanzhaf,
    Influence,
    Loo,
    marginal_values,
    random_rows,
)
from eap_core.scoring import utility
from eap_core.scoring.ssdo import SSDO
from eap_core.scoring.utility import Model, Utility, f1, f1_columns
from eap_core.scoring.workbench import Workbench
from tests.conftest import make_problem


def refitted(utility: Utility, kept: Bools, candidate: int | None) -> tuple[float, Bools, float]:
    """SSDO fitted from scratch on S or S + c, the detector's probabilities given.

    Returns U, which candidates it calls anomalous, and how near any row comes to the threshold:
    of a row that lies on it, rounding alone decides.
    """
    problem = utility.problem
    rows, labels = problem.x_train[kept], problem.y_train[kept]
    prior = utility.prior_train[kept]
    if candidate is not None:
        rows = np.vstack([rows, problem.x_candidates[candidate]])
        labels = np.append(labels, 1)
        prior = np.append(prior, utility.prior_candidates[candidate])
    k = min(utility.n_neighbors, len(rows) - 1)
    distances = np.sort(cdist(rows, rows), axis=1)[:, k]
    positive = distances[distances > 0]
    eta = hmean(np.maximum(distances, positive.min() if len(positive) else 1.0))

    def score(points: Floats, unsupervised: Floats) -> Floats:
        near = 2.0 ** -((cdist(points, rows) / eta) ** 2)
        a, b = near[:, labels == 1].sum(axis=1), near[:, labels == 0].sum(axis=1)
        return np.asarray((unsupervised + 2.3 * a) / (1 + 2.3 * (a + b)))

    level = float(np.percentile(score(rows, prior), int(100 * (1 - labels.mean()))))
    scores = score(problem.x_train, utility.prior_train)
    called = score(problem.x_candidates, utility.prior_candidates) > level
    value = float(f1_score(problem.y_train, scores > level, zero_division=0))
    return value, called, float(np.abs(scores / level - 1).min())


@given(
    seed=st.integers(0, 10**6),
    share=st.sampled_from([0.1, 0.3, 0.6, 0.9, 1.0]),
    duplicates=st.booleans(),
    columns=st.sampled_from([1, 3, 40]),
)
@settings(max_examples=40, deadline=None)
def test_closed_form_equals_refitting(
    seed: int, share: float, duplicates: bool, columns: int
) -> None:
    problem = make_problem(seed, normals=50, anomalies=6, each=5, columns=columns)
    if duplicates:
        rows = problem.x_train[np.random.default_rng(seed).integers(20, size=problem.n)]
        made = np.vstack([problem.x_candidates[:10], rows[:5]])
        labels = problem.y_train
        if np.ptp(rows[labels == 0], axis=0).max() == 0:
            return
        problem = Problem(rows, labels, made, problem.ids)
    rng = np.random.default_rng(seed)
    utility = Workbench(problem).utility
    models = [Model(random_rows(problem, rng, share), np.arange(15)) for _ in range(3)]
    for model, found in zip(models, utility.values(models), strict=True):
        fast = [found.without, *found.with_each]
        for candidate, value in zip([None, *range(15)], fast, strict=True):
            slow, _, margin = refitted(utility, model.kept, candidate)
            labels = problem.y_train[model.kept]
            if labels.all() or (candidate is None and not labels.any()):
                slow = 0.0
            if margin > 1e-8:
                assert value == pytest.approx(slow, abs=1e-9)


def test_calls_equal_those_of_refitted_models() -> None:
    problem = make_problem(1, normals=60, anomalies=8)
    utility = Workbench(problem).utility
    rng = np.random.default_rng(0)
    masks = [random_rows(problem, rng, 0.5) for _ in range(10)]
    for kept, called in zip(masks, utility.calls(masks), strict=True):
        np.testing.assert_array_equal(called, refitted(utility, kept, None)[1])
    assert not utility.calls([problem.y_train == 0])[0].any(), "no anomaly known, none called"


def test_models_of_very_different_sizes_share_one_call() -> None:
    problem = make_problem(2, normals=120, anomalies=10)
    utility = Workbench(problem).utility
    rng = np.random.default_rng(0)
    shares = [0.9, 0.05, 0.5, 0.05, 1.0]
    models = [Model(random_rows(problem, rng, share), np.arange(30)) for share in shares]
    together = utility.values(models)
    for model, found in zip(models, together, strict=True):
        np.testing.assert_allclose(found.with_each, utility.values([model])[0].with_each)


def test_exact_refits_the_detector_too() -> None:
    """A detector without randomness that hardly notices one row: both ways agree on the order."""
    problem = make_problem(4, normals=40, anomalies=5, each=3)
    bench = Workbench(problem)
    model = Model(np.ones(problem.n, dtype=bool), np.array([0, 4, 8]))
    (exact,) = marginal_values(bench, [model], exact=True)
    assert exact.with_each.shape == (3,)
    assert ((exact.with_each >= 0) & (exact.with_each <= 1)).all()
    (fast,) = marginal_values(bench, [model], exact=False)
    assert exact.without == pytest.approx(fast.without, abs=1e-12), "S alone needs no holding fixed"


def test_loo_is_the_gain_over_all_rows(problem: Problem) -> None:
    bench = Workbench(problem)
    kept = np.ones(problem.n, dtype=bool)
    base = refitted(bench.utility, kept, None)[0]
    slow = [refitted(bench.utility, kept, c)[0] - base for c in range(len(problem.ids))]
    np.testing.assert_allclose(Loo().score(bench), slow, atol=1e-12)


def test_banzhaf_is_the_mean_gain_over_its_own_halves(problem: Problem) -> None:
    bench, method = Workbench(problem), DataBanzhaf(models=4)
    rng = bench.rng(method.label)
    masks = [random_rows(problem, rng, 0.5) for _ in range(4)]
    gains = [
        [refitted(bench.utility, m, c)[0] - refitted(bench.utility, m, None)[0] for c in range(30)]
        for m in masks
    ]
    np.testing.assert_allclose(method.score(bench), np.mean(gains, axis=0), atol=1e-12)


@pytest.mark.parametrize("method", [DataBanzhaf(models=6, exact=True), Influence(3, exact=True)])
def test_exact_means_run_over_different_parts_and_refit_everything(
    method: DataBanzhaf | Influence,
) -> None:
    problem = make_problem(5, normals=25, anomalies=4, each=1)
    bench, rng = Workbench(problem), Workbench(problem).rng(method.label)
    joined: dict[int, list[float]] = {c: [] for c in range(3)}
    alone: dict[int, list[float]] = {c: [] for c in range(3)}
    for _ in range(method.models):
        if isinstance(method, DataBanzhaf):
            kept, members = random_rows(problem, rng, 0.5), rng.random(3) < 0.5
        else:
            drawn = rng.permutation(problem.n + 3) < round(0.7 * (problem.n + 3))
            kept, members = drawn[: problem.n], drawn[problem.n :]
        for c in range(3):
            rows, labels = problem.x_train[kept], problem.y_train[kept]
            if members[c]:
                rows = np.vstack([rows, problem.x_candidates[c]])
                labels = np.append(labels, np.int8(1))
            called = np.zeros(problem.n)
            if labels.any() and not labels.all():
                called = SSDO(random_state=0).fit(rows, labels).predict(problem.x_train)
            value = float(f1_score(problem.y_train, called, zero_division=0))
            (joined if members[c] else alone)[c].append(value)
    slow = [
        float(np.mean(joined[c] or [0.0])) - float(np.mean(alone[c] or [0.0])) for c in range(3)
    ]
    told: list[float] = []
    found = method.score(bench, lambda share, _: told.append(share))
    np.testing.assert_allclose(found, slow, atol=1e-12)
    assert not np.allclose(found, replace(method, exact=False).score(bench))
    assert told[-1] == pytest.approx(1.0)


def test_ame_finds_a_candidate_whose_models_do_better() -> None:
    design = np.eye(4)[np.tile(np.arange(4), 40)]
    target = np.where(design[:, 2] == 1, 0.5, 0.0) + 0.01 * np.sin(np.arange(160))
    from eap_core.evaluators.ame import _lasso

    effects = _lasso(design, target - target.mean())
    assert int(np.argmax(effects)) == 2
    assert _lasso(design, np.zeros(160)).tolist() == [0, 0, 0, 0]
    assert Ame().shares == (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_data_oob_is_the_f1_of_the_models_calls(problem: Problem) -> None:
    bench, method = Workbench(problem), DataOob(models=6)
    rng = bench.rng(method.label)
    masks = [random_rows(problem, rng, 0.5) for _ in range(6)]
    calls = np.array(bench.utility.calls(masks))
    slow = [f1_score(np.ones(6), column, zero_division=0) for column in calls.T]
    np.testing.assert_allclose(method.score(bench), slow)


def test_shapley_laws_draw_parts_of_the_right_sizes() -> None:
    """Data Shapley looks at parts of every size, Beta Shapley(4, 1) mostly at small ones."""
    problem = make_problem(0, normals=200)
    scores = {name: EVALUATORS[name].score(Workbench(problem)) for name in EVALUATORS}
    assert not np.allclose(scores["data_shap"], scores["beta_shap"])
    shares = np.random.default_rng(0).beta(1, 4, size=10_000)
    assert np.mean(shares) == pytest.approx(0.2, abs=0.01)


def test_the_series_equals_the_sum() -> None:
    rng = np.random.default_rng(0)
    squared, masks = rng.uniform(0, 30, size=(7, 50)), (rng.random((50, 3)) < 0.5).astype(float)
    u = np.array([0.95, 1.0, 1.12])
    (batch,) = utility.make_batches([u])
    found = utility.sum_moments(squared, -batch.centre, masks, batch.terms)
    values_at = found @ utility.raise_powers(u / batch.centre - 1, batch.terms)
    for i, at in enumerate(u):
        np.testing.assert_allclose(values_at[:, :, i], np.exp(-squared * at) @ masks, atol=1e-12)


def test_batches_keep_models_with_distant_scales_apart() -> None:
    groups = utility.make_batches([np.array([1.0, 1.01]), np.array([5.0]), np.array([1.05])])
    assert sorted(sorted(batch.models.tolist()) for batch in groups) == [[0, 2], [1]]


def test_f1_by_hand() -> None:
    labels = np.array([1, 1, 0, 0], dtype=np.int8)
    assert f1(labels, np.array([True, False, True, False])) == 0.5
    columns = np.array([[True, False], [True, False], [False, False], [False, False]])
    np.testing.assert_array_equal(f1_columns(labels, columns), [1, 0])
    assert f1(np.zeros(2, dtype=np.int8), np.zeros(2, dtype=bool)) == 0
