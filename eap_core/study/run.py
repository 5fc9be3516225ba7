"""The cells of a study: each a data set and a seed, computed here, in processes or on a cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from eap_core.analysis.compare import RATES
from eap_core.analysis.learning import Forest, Learner, LearningCurves, Svm
from eap_core.base.errors import EapError, SettingsError, quote, require
from eap_core.base.files import explain_unwritable, whole_file
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS
from eap_core.evaluators.eap import Eap
from eap_core.scoring import best_first
from eap_core.scoring.posterior import Prior
from eap_core.scoring.workbench import Workbench
from eap_core.study.data import DataSet, Split, Track, split_dataset
from eap_core.study.unrealistic import FOREIGN, Unrealistic

DEFAULT_PRIOR = "m/n"
_ALONE = threading.Lock()  # the number of threads is the process's: one cell in it at a time


@dataclass(frozen=True)
class Cell:
    """All that its result depends on; ``pool`` are the data sets that unrealistic rows are from.

    Without ``points`` it has no learning curves.
    """

    data: DataSet
    seed: int
    pool: tuple[DataSet, ...]
    evaluators: tuple[str, ...]
    points: int
    key: str
    unrealistic: Unrealistic = FOREIGN

    @property
    def name(self) -> str:
        return f"{self.data.name}, seed {self.seed}"


def run(cell: Cell) -> dict[str, Any]:
    """The rows of a cell and how long each part took, as plain data."""
    started = time.perf_counter()
    # One thread: the last bits of a sum depend on how many share it.
    with _ALONE, threadpool_limits(1):
        made = split_dataset(cell.data, cell.pool, cell.seed, cell.unrealistic)
        seconds = {"split": time.perf_counter() - started}
        bench = Workbench(made.problem, seed=cell.seed)
        curves = _curves(cell, made)
        rows: list[dict[str, Any]] = []
        for kind, method, scores, took in _scores(bench, cell.evaluators):
            if kind == "evaluator":
                seconds[method] = took
            auc = float(roc_auc_score(made.realistic, np.asarray(scores)))
            rows.append({"kind": kind, "method": method, "AUC_qlt": auc})
            if curves:
                began = time.perf_counter()
                rows[-1] |= _learn(made, scores, curves)
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
        "unrealistic": cell.unrealistic,
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


def learner_of(track: Track, split: Split, seed: int) -> Learner:
    """A support vector machine for images, a random forest for tables, as in the paper."""
    return Svm(split.task) if track == "images" else Forest(split.task, seed)


def _curves(cell: Cell, made: Split) -> LearningCurves | None:
    if not cell.points:
        return None
    return LearningCurves(
        made.task, learner_of(cell.data.track, made, cell.seed), points=cell.points
    )


def _learn(made: Split, scores: Floats, curves: LearningCurves) -> dict[str, Any]:
    order = best_first(scores, made.problem.ids)
    gain, loss = curves.best_first(order), curves.worst_first(order)
    return {
        "AULC_g": gain.area,
        "ACC_g": gain.end,
        "AULC_p": loss.area,
        "gain_at": list(gain.shares),
        "gain": list(gain.accuracy),
        "loss_at": list(loss.shares),
        "loss": list(loss.accuracy),
    }


# Cells computed in parallel, each written at once, so that an interrupted study goes on.

Result = dict[str, Any]
_ENDED = "its process was ended from outside, perhaps for want of memory"


@dataclass(frozen=True)
class FailedCell:
    """A cell without a result, why, and where in the program unless the data are to blame."""

    cell: Cell
    error: EapError
    details: str = ""

    @property
    def reason(self) -> str:
        return str(self.error)


Finished = tuple[Cell, Result | FailedCell]
Compute = Callable[[Sequence[Cell]], Iterator[Finished]]


@dataclass(frozen=True)
class CellOutcome:
    """The results in the order of the cells, and the cells that have none."""

    results: tuple[Result, ...]
    failed: tuple[FailedCell, ...]


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    compute: Compute,
    resume: bool = True,
    progress: Progress = silent,
) -> CellOutcome:
    """Compute what the folder does not hold yet, and keep it there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_unwritable(folder, error) from error
    known = {cell: read_result(cell, folder) if resume else None for cell in cells}
    failed = []
    left = [cell for cell, result in known.items() if result is None]
    done = len(cells) - len(left)
    progress(done / len(cells), f"{done} of {len(cells)}")
    for cell, result in compute(left):
        if isinstance(result, FailedCell):
            failed.append(result)
        else:
            keep_result(result, cell, folder)
            known[cell] = result
        done += 1
        progress(done / len(cells), f"{done} of {len(cells)}: {cell.name}")
    return CellOutcome(tuple(one for one in known.values() if one is not None), tuple(failed))


def run_locally(workers: int, cells: Sequence[Cell]) -> Iterator[Finished]:
    """In processes of this machine; one that is killed takes no other cell with it."""
    left = list(cells)
    while left:
        done: list[Cell] = []
        try:
            for cell, result in _in_pool(left, workers):
                done.append(cell)
                yield cell, result
        except BrokenProcessPool:
            left = [cell for cell in left if cell not in done]
            # The pool does not say which one it was: those that may have been at work, alone.
            for cell in left[: workers + 1]:
                yield cell, _alone(cell)
            left = left[workers + 1 :]
        else:
            return


def outcome_of(cell: Cell, result: Callable[[], Result]) -> Result | FailedCell:
    """The result of a cell, or why there is none."""
    try:
        return result()
    except BrokenProcessPool:
        raise  # says nothing of this cell
    except EapError as error:
        return FailedCell(cell, error)
    except Exception as error:
        reason = EapError(f"{type(error).__name__}: {error}")
        return FailedCell(cell, reason, traceback.format_exc())


def read_result(cell: Cell, folder: Path) -> Result | None:
    """The result that was computed before; a damaged file counts as none."""
    try:
        found = json.loads(_path(cell, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("key") == cell.key else None


def keep_result(result: Result, cell: Cell, folder: Path) -> None:
    """Write a result, whole or not at all."""
    path = _path(cell, folder)
    try:
        with whole_file(path) as file:
            file.write(json.dumps(result).encode())
    except OSError as error:
        raise explain_unwritable(path, error) from error


def _path(cell: Cell, folder: Path) -> Path:
    name = re.sub(r"[^\w.-]", "_", cell.data.name)[:60]
    return folder / f"{name}-{cell.seed}-{cell.key[:16]}.json"


def _in_pool(cells: Sequence[Cell], workers: int) -> Iterator[Finished]:
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _deaf)
    try:
        futures: dict[Future[Result], Cell] = {pool.submit(run, cell): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            yield cell, outcome_of(cell, future.result)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(cell: Cell) -> Result | FailedCell:
    try:
        return next(result for _, result in _in_pool([cell], 1))
    except BrokenProcessPool:
        return FailedCell(cell, EapError(_ENDED))


def _deaf() -> None:
    """An interrupt is for the process that people see, which then ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def on_this_machine(workers: int | None) -> Compute:
    return partial(run_locally, workers or os.cpu_count() or 1)


# The same cells on a dask.distributed cluster, whose workers see the same folder of data.

_PATIENCE = 20  # seconds until a scheduler must have answered


def on_cluster(address: str) -> Compute:
    """Workers may come and go: a cell whose worker is lost is given to another."""
    require("distributed", "study")  # before the data are read
    return partial(_on_cluster, address)


def _on_cluster(address: str, cells: Sequence[Cell]) -> Iterator[Finished]:
    from distributed import Client, as_completed

    if not cells:
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise SettingsError(
            f"no scheduler answers at {quote(address)}",
            advice=f"start one with `dask scheduler`, and workers with `dask worker {address} "
            "--nthreads 1`",
        ) from error
    with client:
        futures = {client.submit(run, cell, pure=False): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            yield cell, outcome_of(cell, future.result)
            future.release()
