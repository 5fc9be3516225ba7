"""SSDO, semi-supervised detection of outliers (Vercruyssen et al., 2018).

An unsupervised prior p(x) in [0, 1] is moved by the labelled rows nearby. With the nearness
s(d) = 2^−(d/η)², η the harmonic mean of the training rows' k-distances, a = Σ s over labelled
anomalies and b = Σ s over labelled normals:

    f(x) = (p + α·a) / (1 + α·(a + b))
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import hmean
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eap_core.base.table import Floats
from eap_core.scoring import detectors, rarity
from eap_core.scoring.distances import SquaredDistances
from eap_core.scoring.rarity import floor_at_smallest_positive, kth_smallest


def squared_scale(squared_k_distances: Floats, otherwise: float) -> float:
    """η², from the squared k-distances of the training rows; duplicates' zeros are floored."""
    floored = floor_at_smallest_positive(squared_k_distances, otherwise)
    return float(hmean(np.sqrt(floored)) ** 2)


def posterior(prior: Floats, a: Floats, b: Floats, weight: float) -> Floats:
    """f, the prior moved by the labelled rows nearby."""
    return np.asarray((prior + weight * a) / (1.0 + weight * (a + b)))


class SSDO(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Semi-supervised anomaly detector; of the two labels the larger one is the anomaly.

    Parameters
    ----------
    detector : name of the pyod detector that gives the prior.
    n_neighbors : the k of the k-distances behind the length scale η.
    weight : α, how much a label counts against the prior.
    random_state : seed of the detector.
    """

    def __init__(
        self,
        detector: str = "iforest",
        n_neighbors: int = 10,
        weight: float = 2.3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.detector = detector
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn from rows X and two kinds of labels y; η, the prior and λ."""
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=3)
        check_classification_targets(labels)
        self.classes_, encoded = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: y holds "
                f"{len(self.classes_)} class(es), and SSDO needs normal and anomalous rows"
            )
        self._rows, self._anomalous = rows, encoded == 1
        seed = self.random_state
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        self._prior = detectors.fit(self.detector, rows, seed)
        k = min(self.n_neighbors, len(rows) - 1)
        within = SquaredDistances(rows, rows)
        k_distances = np.concatenate(list(within.map(lambda _, block: kth_smallest(block, k))))
        self.squared_scale_ = squared_scale(k_distances, otherwise=1.0)
        self.scores_ = self._posterior(within, self._prior.training_probability())
        self.threshold_ = rarity.threshold(self.scores_, encoded.mean(), "percentile")
        return self

    def score_samples(self, X: npt.ArrayLike) -> Floats:
        """f(x) ≥ 0, larger for more anomalous rows."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        across = SquaredDistances(rows, self._rows)
        return self._posterior(across, self._prior.probability(rows))

    def decision_function(self, X: npt.ArrayLike) -> Floats:
        """f(x) − λ: positive for rows that are rather anomalous than not."""
        return self.score_samples(X) - self.threshold_

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """P(y|x) of the two classes."""
        anomalous = rarity.squash(self.score_samples(X), self.threshold_)
        return np.column_stack([1 - anomalous, anomalous])

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The more probable of the two classes."""
        anomalous = self.decision_function(X) > 0
        return np.asarray(self.classes_[anomalous.astype(int)])

    def _posterior(self, distances: SquaredDistances, prior: Floats) -> Floats:
        def sums(_: slice, block: Floats) -> Floats:
            near = rarity.nearness(block, self.squared_scale_)
            a = near[:, self._anomalous].sum(axis=1)
            return np.array([a, near[:, ~self._anomalous].sum(axis=1)])

        a, b = np.concatenate(list(distances.map(sums)), axis=1)
        return posterior(prior, a, b, self.weight)
