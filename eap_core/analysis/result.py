"""EAP for programs: one scoring with all that can be asked of it, and an estimator of scikit-learn.

A candidate scores by the expected anomaly posterior (Perini et al., 2024): high for what looks
anomalous where the data reach, low for what looks normal, near the prior for what no data support.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from eap_core.analysis.compare import Comparison, Sweep, compare_scores, known_quality, sweep_priors
from eap_core.analysis.explain import Explanation, explain
from eap_core.analysis.score import ScoreTable, column_name, evaluator_names
from eap_core.analysis.score import score as score_bench
from eap_core.base.errors import DataError, SettingsError
from eap_core.base.prepare import learn_scale, problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Bools, Floats, Table, drop_labels, free_name
from eap_core.evaluators.eap import Eap
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Result:
    """One scoring: the problem and settings in ``bench``, the scores in ``table``.

    ``extras`` are the candidates' columns that are no features; they travel along.
    """

    bench: Workbench
    table: ScoreTable
    evaluators: tuple[str, ...]
    prior: Prior | None = None
    extras: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        return self.bench.problem

    def frame(self) -> pd.DataFrame:
        """A row per candidate: its score, rank, category, parts, and one column per evaluator."""
        frame = self.table.frame()
        for name, values in self.extras.items():
            frame[free_name(name, frame.__contains__)] = list(values)
        return frame

    def explain(self, candidate: str) -> Explanation:
        """Why one candidate has its score, in numbers and in a sentence."""
        settings, evidence = self.bench.settings, self.bench.evidence()
        return explain(self.problem, evidence, settings, candidate, self.prior)

    def compare(self) -> Comparison:
        """How the evaluators agree, and how right each is where a column tells the truth."""
        scores = {name: self.table.columns[column_name(name)] for name in self.evaluators}
        return compare_scores(scores, known_quality(self.extras))

    def sweep(self, rates: Sequence[float] | None = None, top: int | None = None) -> Sweep:
        """How much the order of the candidates hangs on the prior."""
        return sweep_priors(self.problem, self.bench.evidence(), rates, top)


def score(
    train: Table | Problem,
    candidates: Table | None = None,
    anomalies: Table | None = None,
    *,
    evaluators: Sequence[str] = ("eap",),
    settings: Settings = AUTHORS,
    prior: Prior | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Result:
    """Give every candidate its quality score.

    ``train`` holds normals and real anomalies with their labels, or normals only beside a table of
    ``anomalies``; or it is a whole problem, which has its candidates in it.

    >>> import numpy as np, eap_core as eap
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(size=(200, 2)), rng.normal(3, 0.5, size=(8, 2))])
    >>> made = np.array([[2.8, 2.8], [0.0, 0.0], [40.0, -40.0]])
    >>> problem = eap.Problem(rows, np.repeat([0, 1], [200, 8]), made, ("scratch", "none", "star"))
    >>> result = eap.score(problem, evaluators=["eap", "rarity"], seed=0)
    >>> result.frame().sort_values("rank")["id"].iloc[0]
    'scratch'
    >>> result.explain("star").category
    'unrealistic'
    >>> result.compare().names
    ('eap', 'rarity')
    >>> len(result.sweep([0.02, 0.1]).scores)
    2
    """
    names = evaluator_names(evaluators)
    problem, extras = _make_problem(train, candidates, anomalies)
    problem = problem.drawn(settings.max_normals, seed)
    bench = Workbench(problem, settings, seed)
    return Result(bench, score_bench(bench, names, prior, progress), names, prior, extras)


def _make_problem(
    train: Table | Problem, candidates: Table | None, anomalies: Table | None
) -> tuple[Problem, Mapping[str, Sequence[str]]]:
    if isinstance(train, Problem):
        if candidates is not None or anomalies is not None:
            raise SettingsError(
                "a problem has its candidates in it", advice="give no tables beside it"
            )
        return train, {}
    if candidates is None:
        raise SettingsError(
            "no candidates are given", advice="give their table after the training table"
        )
    made = drop_labels(candidates)
    problem = problem_from_tables(train, made, anomalies)
    kept = frozenset(problem.ids)  # rows with gaps may have been dropped
    made = made.only(np.array([name in kept for name in made.ids]))
    return problem, made.ordered_like(train.columns).extras


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
