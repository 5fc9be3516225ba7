"""What candidates add to models that learn from random parts of the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import f1_score

from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.series import Bools
from eap_core.ssdo import SSDO
from eap_core.table import Floats
from eap_core.utility import Model, Values
from eap_core.workbench import Workbench

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
    found = values(bench, models, exact, progress)
    return np.asarray(np.mean([value.gains for value in found], axis=0))


def values(
    bench: Workbench, models: Sequence[Model], exact: bool, progress: Progress = silent
) -> list[Values]:
    """U of each model: with the detector held fixed, or exactly, by refitting everything."""
    if exact:
        return [_refitted(bench, m, i, len(models), progress) for i, m in enumerate(models)]
    return bench.utility.values(models, progress)


def _refitted(bench: Workbench, model: Model, i: int, of: int, progress: Progress) -> Values:
    with_each = []
    for j, candidate in enumerate(model.candidates):
        with_each.append(_refitted_utility(bench, model.kept, int(candidate)))
        progress((i + (j + 1) / len(model.candidates)) / of, "refitting")
    return Values(_refitted_utility(bench, model.kept, None), np.array(with_each))


def _refitted_utility(bench: Workbench, kept: Bools, candidate: int | None) -> float:
    """U(S) or U(S + c), with SSDO and its detector fitted from scratch."""
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
