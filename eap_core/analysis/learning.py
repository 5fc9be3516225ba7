"""What candidates are worth to a classifier: its accuracy as they are added one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from eap_core.analysis.forest import RankedRows
from eap_core.base.table import Floats, Ints, Labels

POINTS = 25


@dataclass(frozen=True, eq=False)
class LearningTask:
    """Rows to learn from, candidates to add to them as anomalies, and held-out rows."""

    x_train: Floats
    y_train: Labels
    x_candidates: Floats
    x_test: Floats
    y_test: Labels

    @property
    def rows(self) -> Floats:
        """The training rows and, after them, the candidates."""
        return np.concatenate([self.x_train, self.x_candidates])

    def used(self, added: Ints) -> tuple[Ints, Labels]:
        """Which of the rows are learned from, and as what."""
        n = len(self.x_train)
        return (
            np.append(np.arange(n), n + added),
            np.append(self.y_train, np.ones(len(added), dtype=np.int8)),
        )


class Learner(Protocol):
    """Labels of the test rows, learned from the training rows and some candidates as anomalies."""

    def labels(self, added: Ints) -> Labels: ...


@dataclass(frozen=True, eq=False)
class Forest:
    """``RandomForestClassifier()``, whose trees share one ranking of all rows."""

    task: LearningTask
    seed: int

    @cached_property
    def rows(self) -> RankedRows:
        return RankedRows(self.task.rows, self.task.x_test, self.seed)

    def labels(self, added: Ints) -> Labels:
        return self.rows.labels(*self.task.used(added))


@dataclass(frozen=True, eq=False)
class Svm:
    """``SVC()``: an RBF kernel of scikit-learn's "scale" width; all distances are taken once."""

    task: LearningTask

    @cached_property
    def rows(self) -> Floats:
        return self.task.rows

    @cached_property
    def within(self) -> Floats:
        return np.asarray(cdist(self.rows, self.rows, "sqeuclidean"))

    @cached_property
    def across(self) -> Floats:
        return np.asarray(cdist(self.task.x_test, self.rows, "sqeuclidean"))

    def labels(self, added: Ints) -> Labels:
        used, known = self.task.used(added)
        gamma = 1.0 / (self.rows.shape[1] * self.rows[used].var())
        learned = SVC(kernel="precomputed").fit(
            np.exp(-gamma * self.within[np.ix_(used, used)]), known
        )
        return np.asarray(learned.predict(np.exp(-gamma * self.across[:, used])), dtype=np.int8)


@dataclass(frozen=True)
class Curve:
    """Test accuracy when a share of all candidates has been added."""

    shares: tuple[float, ...]
    accuracy: tuple[float, ...]

    @property
    def area(self) -> float:
        """Mean height, by the trapezoid rule."""
        return float(np.trapezoid(self.accuracy, self.shares) / self.shares[-1])

    @property
    def end(self) -> float:
        return self.accuracy[-1]


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Curves of one split; the same candidates added by different methods are learned once."""

    task: LearningTask
    learner: Learner
    points: int = POINTS
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    def best_first(self, order: Ints) -> Curve:
        """Up to a third of the candidates, from the best on."""
        return self._curve(order, 1 / 3)

    def worst_first(self, order: Ints) -> Curve:
        """Up to two thirds, from the worst on; ``order`` is still from the best to the worst."""
        return self._curve(order[::-1], 2 / 3)

    def _curve(self, order: Ints, until: float) -> Curve:
        last = round(until * len(order))
        stops = np.unique(np.round(np.linspace(0, last, min(self.points, last + 1))).astype(int))
        return Curve(
            tuple(float(stop) / len(order) for stop in stops),
            tuple(self._accuracy(order[:stop]) for stop in stops),
        )

    def _accuracy(self, added: Ints) -> float:
        # in one order, so that a set of candidates means one classifier
        added = np.sort(added)
        key = added.tobytes()
        if key not in self._known:
            self._known[key] = float(np.mean(self.learner.labels(added) == self.task.y_test))
        return self._known[key]
