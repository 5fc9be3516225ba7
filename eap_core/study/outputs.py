"""What a study leaves behind: cells, tables, the comparison with the paper, and a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from eap_core.errors import printable
from eap_core.study import paper, results
from eap_core.study.plan import Plan
from eap_core.study.report import report
from eap_core.study.running import Failed, Outcome, Result
from eap_core.writers import unwritable, write_frame

_SHOWN = ("data", "evaluator", "AUC_qlt", "rAUC_qlt", "avg_rank")


def write_outputs(
    plan: Plan, outcome: Outcome, out: Path
) -> tuple[list[str], list[Sequence[object]]] | None:
    """Write everything into the folder; the table's head and rows for people to see at once."""
    _write_failures(outcome.failed, out)
    if not outcome.results:
        return None
    cells = frame_of(outcome.results)
    summary = results.summary(cells)
    write_frame(cells, out / "cells.parquet")
    write_frame(summary.table, out / "table.csv")
    write_frame(summary.sweep, out / "sweep.csv")
    write_frame(paper.comparison(summary.table), out / "comparison.csv")
    write_frame(_times(outcome.results), out / "times.csv")
    _write_text(out / "report.html", report(cells, about(plan, outcome)))
    rows = summary.table[list(_SHOWN)]
    return list(_SHOWN), [tuple(row) for row in rows.itertuples(index=False)]


def frame_of(found: Sequence[Result]) -> pd.DataFrame:
    """One row for each cell and method, in an order that does not depend on who was first."""
    head = ("track", "dataset", "seed")
    rows = [
        {name: cell[name] for name in head} | row
        for cell in sorted(found, key=lambda cell: tuple(cell[name] for name in head))
        for row in cell["rows"]
    ]
    return pd.DataFrame(rows)


def about(plan: Plan, outcome: Outcome) -> dict[str, str | Sequence[str]]:
    """How the figures were made, without anything that differs from one machine to the next."""
    return {
        "Data sets": f"{len(plan.datasets)}, each split with {plan.seeds} seeds",
        "Cells": f"{len(outcome.results)} of {len(plan.datasets) * plan.seeds}",
        "Evaluators": ", ".join(plan.evaluators),
        "Learning curves": f"{plan.points} positions; a random forest of 100 trees for tables, a "
        "support vector machine with an RBF kernel for images",
        "Notes": list(plan.notes),
        "Failed cells": [f"{one.cell.name}: {one.reason}" for one in outcome.failed],
    }


def _times(found: Sequence[Result]) -> pd.DataFrame:
    rows = [
        {"track": cell["track"], "dataset": cell["dataset"], "seed": cell["seed"]} | cell["seconds"]
        for cell in found
    ]
    return pd.DataFrame(rows)


def _write_failures(failed: Sequence[Failed], out: Path) -> None:
    path = out / "failed.txt"
    if failed:
        lines = (f"{printable(one.cell.name)}: {one.reason}\n{one.details}" for one in failed)
        _write_text(path, "\n".join(lines))
    else:
        path.unlink(missing_ok=True)


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
