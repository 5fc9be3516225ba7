"""Cells computed in parallel, each written at once, so that an interrupted study goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from eap_core.errors import EapError
from eap_core.progress import Progress, silent
from eap_core.study.cell import Cell, run
from eap_core.writers import unwritable

Result = dict[str, Any]
_ENDED = "its process was ended from outside, perhaps for want of memory"


@dataclass(frozen=True)
class Failed:
    """A cell without a result, why, and where in the program unless the data are to blame."""

    cell: Cell
    reason: str
    details: str = ""


Finished = tuple[Cell, Result | Failed]
Compute = Callable[[Sequence[Cell]], Iterator[Finished]]


@dataclass(frozen=True)
class Outcome:
    """The results in the order of the cells, and the cells that have none."""

    results: tuple[Result, ...]
    failed: tuple[Failed, ...]


def complete(
    cells: Sequence[Cell],
    folder: Path,
    compute: Compute,
    resume: bool = True,
    progress: Progress = silent,
) -> Outcome:
    """Compute what the folder does not hold yet, and keep it there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    known = {cell: kept(cell, folder) if resume else None for cell in cells}
    failed = []
    left = [cell for cell, result in known.items() if result is None]
    done = len(cells) - len(left)
    progress(done / len(cells), f"{done} of {len(cells)}")
    for cell, result in compute(left):
        if isinstance(result, Failed):
            failed.append(result)
        else:
            keep(result, cell, folder)
            known[cell] = result
        done += 1
        progress(done / len(cells), f"{done} of {len(cells)}: {cell.name}")
    return Outcome(tuple(one for one in known.values() if one is not None), tuple(failed))


def locally(workers: int, cells: Sequence[Cell]) -> Iterator[Finished]:
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


def outcome_of(cell: Cell, result: Callable[[], Result]) -> Result | Failed:
    """The result of a cell, or why there is none."""
    try:
        return result()
    except BrokenProcessPool:
        raise  # says nothing of this cell
    except EapError as error:
        return Failed(cell, str(error))
    except Exception as error:
        return Failed(cell, f"{type(error).__name__}: {error}", traceback.format_exc())


def kept(cell: Cell, folder: Path) -> Result | None:
    """The result that was computed before; a damaged file counts as none."""
    try:
        found = json.loads(_path(cell, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("key") == cell.key else None


def keep(result: Result, cell: Cell, folder: Path) -> None:
    """Write a result, whole or not at all."""
    path = _path(cell, folder)
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            json.dump(result, file)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)
    except OSError as error:
        raise unwritable(path, error) from error


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


def _alone(cell: Cell) -> Result | Failed:
    try:
        return next(result for _, result in _in_pool([cell], 1))
    except BrokenProcessPool:
        return Failed(cell, _ENDED)


def _deaf() -> None:
    """An interrupt is for the process that people see, which then ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def on_this_machine(workers: int | None) -> Compute:
    return partial(locally, workers or os.cpu_count() or 1)
