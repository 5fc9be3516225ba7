"""What candidates add to models that learn from random parts of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Bools, Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring.utility import Model, Values

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench

_FEWEST_ROWS = 3
_TRIES = 100


def random_rows(problem: Problem, rng: np.random.Generator, share: float) -> Bools:
    """Each training row kept with the given probability; at least a few of them."""
    for _ in range(_TRIES):
        kept = rng.random(problem.n) < share
        if np.count_nonzero(kept) >= _FEWEST_ROWS:
            return kept
    return np.asarray(rng.permutation(problem.n) < _FEWEST_ROWS)


def mean_gain(bench: Workbench, masks: Sequence[Bools], exact: bool, progress: Progress) -> Floats:
    """Mean U(S + c) − mean U(S) over the given S, for each candidate."""
    everyone = np.arange(len(bench.problem.ids))
    models = [Model(kept, everyone) for kept in masks]
    found = marginal_values(bench, models, exact, progress)
    return np.asarray(np.mean([value.gains for value in found], axis=0))


def marginal_values(
    bench: Workbench, models: Sequence[Model], exact: bool, progress: Progress = silent
) -> list[Values]:
    """U of each model: with the detector held fixed, or exactly, by refitting everything."""
    if exact:
        return [_refit_values(bench, m, i, len(models), progress) for i, m in enumerate(models)]
    return bench.utility.values(models, progress)


def mean_gain_as_published(bench: Workbench, models: Sequence[Model], progress: Progress) -> Floats:
    """Mean U(S + c) over the models that c is in, less the mean U(S) over those that it is not in.

    So the authors' code computes, refitting everything: of a candidate the two means run over
    different S. A mean over no model at all counts as 0.
    """
    found = marginal_values(bench, models, True, progress)
    joined, alone = (np.zeros((len(models), len(bench.problem.ids))) for _ in range(2))
    inside = np.zeros(joined.shape, dtype=bool)
    for i, (model, value) in enumerate(zip(models, found, strict=True)):
        inside[i, model.candidates] = True
        joined[i, model.candidates] = value.with_each
        alone[i, ~inside[i]] = value.without
    times = np.count_nonzero(inside, axis=0)
    return np.asarray(
        joined.sum(axis=0) / np.maximum(times, 1)
        - alone.sum(axis=0) / np.maximum(len(models) - times, 1)
    )


def _refit_values(bench: Workbench, model: Model, i: int, of: int, progress: Progress) -> Values:
    with_each = []
    for j, candidate in enumerate(model.candidates):
        with_each.append(_refit_utility(bench, model.kept, int(candidate)))
        progress((i + (j + 1) / len(model.candidates)) / of, "refitting")
    without = _refit_utility(bench, model.kept, None)
    progress((i + 1) / of, "refitting")
    return Values(without, np.array(with_each))


def _refit_utility(bench: Workbench, kept: Bools, candidate: int | None) -> float:
    """U(S) or U(S + c), with SSDO and its detector fitted from scratch."""
    from sklearn.metrics import f1_score  # slow to import

    from eap_core.scoring.ssdo import SSDO

    problem, settings = bench.problem, bench.settings
    rows, labels = problem.x_train[kept], problem.y_train[kept]
    if candidate is not None:
        rows = np.vstack([rows, problem.x_candidates[candidate]])
        labels = np.append(labels, np.int8(1))
    if len(np.unique(labels)) < 2:
        return 0.0  # nothing to tell apart: no anomaly can be found
    model = SSDO(settings.detector, settings.ssdo_k, settings.ssdo_weight, bench.seed)
    predicted = model.fit(rows, labels).predict(problem.x_train)
    return float(f1_score(problem.y_train, predicted, zero_division=0))


# Leave one out: U(D + c) − U(D), what one candidate adds to all training rows.
#
# ``exact`` refits the detector for every candidate instead of holding it fixed.


@dataclass(frozen=True)
class Loo:
    label: ClassVar[str] = "Loo"
    title: ClassVar[str] = "Leave one out"
    summary: ClassVar[str] = "detection improves when it is added to all training rows"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.8
    in_paper: ClassVar[bool] = True
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        everything = np.ones(bench.problem.n, dtype=bool)
        return mean_gain(bench, [everything], self.exact, progress)


# Influence (Feldman and Zhang, 2020): mean U(S + c) − mean U(S) over S of 70 % of D.
#
# ``exact`` computes as the authors' code does: S is drawn from the training rows and the candidates
# together, everything is refitted, and the first mean runs over the S that hold c, the second over
# those that do not.


@dataclass(frozen=True)
class Influence:
    label: ClassVar[str] = "Inf"
    title: ClassVar[str] = "Influence"
    summary: ClassVar[str] = "detection improves when it is added to 70 % of the rows"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 7.0
    in_paper: ClassVar[bool] = True
    models: int = 50
    share: float = 0.7
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng, n = bench.rng(self.label), bench.problem.n
        if self.exact:
            models = [self._draw(bench.problem, rng) for _ in range(self.models)]
            return mean_gain_as_published(bench, models, progress)
        size = max(3, round(self.share * n))
        masks = [rng.permutation(n) < size for _ in range(self.models)]
        return mean_gain(bench, [np.asarray(mask) for mask in masks], False, progress)

    def _draw(self, problem: Problem, rng: np.random.Generator) -> Model:
        total = problem.n + len(problem.ids)
        drawn = rng.permutation(total) < round(self.share * total)
        return Model(drawn[: problem.n], np.flatnonzero(drawn[problem.n :]))


# Data Banzhaf (Wang and Jia, 2023): mean U(S + c) − mean U(S) over random halves S of D.
#
# Each training row is in S with probability one half; with ``exact`` each candidate as well, and
# the two means then run over different S, as for Influence.


@dataclass(frozen=True)
class DataBanzhaf:
    label: ClassVar[str] = "DataBanzhaf"
    title: ClassVar[str] = "Banzhaf"
    summary: ClassVar[str] = "detection improves when it is added to half of the rows"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 5.0
    in_paper: ClassVar[bool] = True
    models: int = 50
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng = bench.rng(self.label)
        if self.exact:
            models = [self._draw(bench.problem, rng) for _ in range(self.models)]
            return mean_gain_as_published(bench, models, progress)
        masks = [random_rows(bench.problem, rng, 0.5) for _ in range(self.models)]
        return mean_gain(bench, masks, False, progress)

    def _draw(self, problem: Problem, rng: np.random.Generator) -> Model:
        kept = random_rows(problem, rng, 0.5)
        return Model(kept, np.flatnonzero(rng.random(len(problem.ids)) < 0.5))


# Data Shapley (Ghorbani and Zou, 2019) and Beta Shapley (Kwon and Zou, 2022).
#
# Both are means of U(S + c) − U(S) over random S whose sizes follow a law of their own. Drawing a
# probability q and keeping each row with it gives just these laws: q uniform for Shapley's value,
# and q from Beta(b, a) for Beta Shapley(a, b), which with (4, 1) looks mostly at small S.


@dataclass(frozen=True)
class DataShap:
    label: ClassVar[str] = "DataShap"
    title: ClassVar[str] = "Shapley"
    summary: ClassVar[str] = "detection improves when it is added to parts of any size"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 10.0
    in_paper: ClassVar[bool] = False
    models: int = 100
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return _semivalue(bench, self.label, 1.0, 1.0, self.models, self.exact, progress)


@dataclass(frozen=True)
class BetaShap:
    label: ClassVar[str] = "BetaShap"
    title: ClassVar[str] = "Beta Shapley"
    summary: ClassVar[str] = "detection improves when it is added to small parts"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 10.0
    in_paper: ClassVar[bool] = False
    alpha: float = 4.0
    beta: float = 1.0
    models: int = 100
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        shape = self.beta, self.alpha
        return _semivalue(bench, self.label, *shape, self.models, self.exact, progress)


def _semivalue(
    bench: Workbench, purpose: str, a: float, b: float, models: int, exact: bool, progress: Progress
) -> Floats:
    rng = bench.rng(purpose)
    shares = rng.beta(a, b, size=models)
    masks = [random_rows(bench.problem, rng, max(float(share), 0.01)) for share in shares]
    return mean_gain(bench, masks, exact, progress)
