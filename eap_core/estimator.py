"""EAP as a scikit-learn estimator: learn from normals and real anomalies, score candidates.

A candidate scores by the expected anomaly posterior (Perini et al., 2024): high for what looks
anomalous where the data reach, low for what looks normal, near the prior for what no data support.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from eap_core.base.errors import DataError
from eap_core.base.prepare import learn_scale
from eap_core.base.problem import Problem
from eap_core.base.table import Bools, Floats
from eap_core.evaluators.eap import Eap
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

_FEWEST_NORMALS = 3
_MOST_ANOMALOUS = 0.4  # of the training rows: the method needs fewer than half


class EAP(BaseEstimator):  # type: ignore[misc]
    """The quality of candidate anomalies, one by one.

    Parameters
    ----------
    prior : share of anomalies to expect, above 0 and below 0.5; that of the training rows if None.
    subsets : random subsets of the training rows to average over; 0 is one pass over all.
    random_state : the same number gives the same scores.

    Examples
    --------
    >>> import numpy as np
    >>> from eap_core import EAP
    >>> rng = np.random.default_rng(0)
    >>> normals, anomalies = rng.normal(size=(200, 2)), rng.normal(3, 0.5, size=(8, 2))
    >>> model = EAP(subsets=10).fit(np.vstack([normals, anomalies]), [0] * 200 + [1] * 8)
    >>> realistic, normal, far = model.score_samples([[2.8, 2.8], [0, 0], [40, -40]])
    >>> bool(realistic > normal) and bool(realistic > far)
    True
    """

    def __init__(
        self,
        *,
        prior: float | None = None,
        subsets: int = AUTHORS.subsets,
        random_state: int | None = 0,
    ) -> None:
        self.prior = prior
        self.subsets = subsets
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Labels are optional and of two kinds; this is no classifier all the same.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Self:
        """Learn from rows of which ``y`` tells the real anomalies: the rarer of two labels."""
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        anomalous = _find_anomalous(y, len(rows))
        if len(rows) - anomalous.sum() < _FEWEST_NORMALS:
            raise DataError(
                f"there are too few normal rows in n_samples={len(rows)}",
                advice=f"give at least {_FEWEST_NORMALS}",
            )
        # An array, so that copies and comparisons of estimators need no rule of their own.
        keep = _thin_anomalies(anomalous, check_random_state(self.random_state))
        self.centre_, self.spread_ = learn_scale(rows[keep])
        self.rows_ = (rows[keep] - self.centre_) / self.spread_
        self.anomalous_ = anomalous[keep]
        return self

    def score_samples(self, X: npt.ArrayLike) -> Floats:
        """The expected anomaly posterior of each candidate; none depends on the others."""
        check_is_fitted(self)
        candidates = validate_data(self, X, dtype=np.float64, reset=False)
        problem = Problem(
            self.rows_,
            self.anomalous_.astype(np.int8),
            (candidates - self.centre_) / self.spread_,
            tuple(str(i) for i in range(len(candidates))),
        )
        prior = None if self.prior is None else Prior.of_rate(self.prior)
        seed = 0 if self.random_state is None else int(self.random_state)
        return Eap(prior).score(Workbench(problem, self._settings(problem), seed))

    def _settings(self, problem: Problem) -> Settings:
        """The authors', with smaller balls where there are too few normals for them."""
        normals = problem.n - problem.m
        return replace(AUTHORS, subsets=self.subsets, k_min=min(AUTHORS.k_min, normals - 2))


def _find_anomalous(y: Any, count: int) -> Bools:
    if y is None:
        return np.zeros(count, dtype=np.bool_)
    labels = column_or_1d(y)
    kinds, counts = np.unique(labels, return_counts=True)
    if len(labels) != count or len(kinds) > 2:
        raise DataError(
            f"{len(labels):,} labels of {len(kinds)} kinds are given for {count:,} rows",
            advice="give one each, of two kinds",
        )
    if len(kinds) < 2:
        return np.asarray(labels == 1)
    return np.asarray(labels == kinds[1 if counts[1] <= counts[0] else 0])


def _thin_anomalies(anomalous: Bools, rng: np.random.RandomState) -> Bools:
    """Without some of the anomalies where they are too many to be the exception."""
    most = int(_MOST_ANOMALOUS / (1 - _MOST_ANOMALOUS) * np.count_nonzero(~anomalous))
    spare = np.count_nonzero(anomalous) - most
    keep = np.ones(len(anomalous), dtype=np.bool_)
    if spare > 0:
        warnings.warn(
            f"{spare} of the anomalies are left out: they must be fewer than the normals",
            stacklevel=3,
        )
        keep[rng.choice(np.flatnonzero(anomalous), spare, replace=False)] = False
    return keep
