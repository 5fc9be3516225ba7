"""SSDO keeps scikit-learn's rules and its own formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import hmean
from sklearn.utils.estimator_checks import parametrize_with_checks

from eap_core.scoring import detectors
from eap_core.scoring.ssdo import SSDO, posterior, squared_scale


@parametrize_with_checks([SSDO(random_state=0)])  # type: ignore[untyped-decorator]
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_rules(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_formula_by_hand() -> None:
    # p = 0.5, two anomalies at half nearness and one normal on the spot, α = 2:
    # (0.5 + 2·1) / (1 + 2·(1 + 1)) = 0.5
    assert posterior(np.array([0.5]), np.array([1.0]), np.array([1.0]), 2.0)[0] == 0.5
    # Without labels nearby the prior stands.
    assert posterior(np.array([0.3]), np.zeros(1), np.zeros(1), 2.3)[0] == 0.3


def test_length_scale_is_the_harmonic_mean_with_duplicates_floored() -> None:
    assert squared_scale(np.array([0.0, 1.0, 4.0]), 9.0) == pytest.approx(hmean([1, 1, 2]) ** 2)


def test_scores_equal_the_formula_written_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), (np.arange(80) < 8).astype(int)
    new = rng.normal(size=(20, 4)) * 2
    model = SSDO(random_state=3).fit(X, y)
    prior = detectors.fit("iforest", X, 3)
    eta = hmean(np.sort(cdist(X, X), axis=1)[:, 10])
    near = 2.0 ** -((cdist(new, X) / eta) ** 2)
    a, b = near[:, y == 1].sum(axis=1), near[:, y == 0].sum(axis=1)
    expected = (prior.probability(new) + 2.3 * a) / (1 + 2.3 * (a + b))
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-12)
    assert np.mean(model.scores_ > model.threshold_) == pytest.approx(0.1)


def test_labels_move_the_scores_of_their_surroundings() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(10, 2)) * 0.2 + 2])
    y = np.repeat([0, 1], [100, 10])
    scores = SSDO(random_state=0).fit(X, y).score_samples(np.array([[2.0, 2.0], [-2.0, -2.0]]))
    assert scores[0] > 2 * scores[1]
