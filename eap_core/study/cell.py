"""One cell of the study: a data set and a seed, all evaluators and all priors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from eap_core.evaluators import EVALUATORS
from eap_core.evaluators.eap import Eap
from eap_core.posterior import Prior
from eap_core.ranking import best_first
from eap_core.study.curves import LearningCurves, learner_of
from eap_core.study.datasets import DataSet
from eap_core.study.split import Split, split
from eap_core.sweep import RATES
from eap_core.table import Floats
from eap_core.workbench import Workbench

DEFAULT_PRIOR = "m/n"
_ALONE = threading.Lock()  # the number of threads is the process's: one cell in it at a time


@dataclass(frozen=True)
class Cell:
    """All that its result depends on; ``pool`` are the data sets that unrealistic rows are from."""

    data: DataSet
    seed: int
    pool: tuple[DataSet, ...]
    evaluators: tuple[str, ...]
    points: int
    key: str

    @property
    def name(self) -> str:
        return f"{self.data.name}, seed {self.seed}"


def run(cell: Cell) -> dict[str, Any]:
    """The rows of a cell and how long each part took, as plain data."""
    started = time.perf_counter()
    # One thread: the last bits of a sum depend on how many share it.
    with _ALONE, threadpool_limits(1):
        made = split(cell.data, cell.pool, cell.seed)
        seconds = {"split": time.perf_counter() - started}
        bench = Workbench(made.problem, seed=cell.seed)
        curves = LearningCurves(
            made, learner_of(cell.data.track, made, cell.seed), points=cell.points
        )
        rows = []
        for kind, method, scores, took in _scores(bench, cell.evaluators):
            if kind == "evaluator":
                seconds[method] = took
            began = time.perf_counter()
            rows.append({"kind": kind, "method": method, **_figures(made, scores, curves)})
            seconds["curves"] = seconds.get("curves", 0.0) + time.perf_counter() - began
    return {
        "key": cell.key,
        "dataset": cell.data.name,
        "track": cell.data.track,
        "seed": cell.seed,
        "normals": len(made.problem.normals),
        "anomalies": made.problem.m,
        "candidates": len(made.problem.ids),
        "columns": made.problem.x_train.shape[1],
        "lenders": list(made.lenders),
        "rows": rows,
        "seconds": seconds,
    }


def _scores(
    bench: Workbench, evaluators: Sequence[str]
) -> Iterator[tuple[str, str, Floats, float]]:
    for name in evaluators:
        began = time.perf_counter()
        scores = EVALUATORS[name].score(bench)
        yield "evaluator", name, scores, time.perf_counter() - began
    for name, rate in [
        *((f"{rate:g}", rate) for rate in RATES),
        (DEFAULT_PRIOR, bench.problem.rate),
    ]:
        yield "prior", name, replace(Eap(), prior=Prior.of_rate(rate)).score(bench), 0.0


def _figures(made: Split, scores: Floats, curves: LearningCurves) -> dict[str, Any]:
    order = best_first(scores, made.problem.ids)
    gain, loss = curves.best_first(order), curves.worst_first(order)
    return {
        "AUC_qlt": float(roc_auc_score(made.realistic, np.asarray(scores))),
        "AULC_g": gain.area,
        "ACC_g": gain.end,
        "AULC_p": loss.area,
        "gain_at": list(gain.shares),
        "gain": list(gain.accuracy),
        "loss_at": list(loss.shares),
        "loss": list(loss.accuracy),
    }
