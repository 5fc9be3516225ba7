"""Categorical columns as columns of 0 and 1: ``colour`` → ``colour=blue``, ``colour=red``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from eap_core.categorical import Category, cells_of, find_categories
from eap_core.errors import DataError, listed, shown
from eap_core.missing import MISSING_ADVICE
from eap_core.table import Labels, Table

_MOST_CELLS = 250_000_000  # as many as a file may have


def encoded(parts: list[Table], labels: list[Labels], candidates: Table) -> list[Table]:
    """All tables, the candidates last, with the 0/1 columns and without their gaps."""
    found, notes = find_categories(parts, labels)
    tables = [*parts, candidates]
    _check_room(found, tables)
    done = [_with_columns(table, found) for table in tables] if found else tables
    return [replace(done[0], notes=(*done[0].notes, *notes)), *done[1:]]


def _with_columns(table: Table, found: list[Category]) -> Table:
    cells = {category.name: cells_of(table, category.name) for category in found}
    gaps = {
        category.name: np.fromiter(map(category.is_gap, cells[category.name]), bool, len(table))
        for category in found
    }
    gaps = {name: gap for name, gap in gaps.items() if gap.any()}
    if gaps and table.missing == "drop":
        return _with_columns(_without(table, gaps), found)
    notes, warnings = list(table.notes), list(table.warnings)
    blocks = [table.values]
    for category in found:
        column = cells[category.name]
        if category.name in gaps:
            column = _filled(table, category, column, gaps[category.name], notes)
        code = {value: j for j, value in enumerate(category.values)}
        codes = np.array([code.get(cell, -1) for cell in column])
        blocks.append((codes[:, None] == np.arange(len(code))).astype(np.float64))
        warnings += _unseen(table, category, compress(column, codes < 0))
    return replace(
        table,
        columns=(*table.columns, *(name for category in found for name in category.columns)),
        values=np.hstack(blocks),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _without(table: Table, gaps: Mapping[str, npt.NDArray[np.bool_]]) -> Table:
    keep = ~np.any(list(gaps.values()), axis=0)
    if not keep.any():
        raise DataError(
            f"{table.source}: every row misses a category in {listed(list(gaps))}, none is left — "
            "exclude the column"
        )
    dropped = list(compress(table.ids, ~keep))
    warning = (
        f"{table.source}: {len(dropped):,} of {len(table):,} rows are dropped because a category "
        f"is missing in {listed(list(gaps))}: {listed(dropped)}"
    )
    return replace(table.only(keep), warnings=(*table.warnings, warning))


def _filled(
    table: Table,
    category: Category,
    column: tuple[str, ...],
    gap: npt.NDArray[np.bool_],
    notes: list[str],
) -> tuple[str, ...]:
    if table.missing != "median" or not category.usual:
        row = table.ids[int(np.argmax(gap))]
        raise DataError(
            f"{table.source}: {int(gap.sum()):,} of {len(gap):,} rows have no value in column "
            f"{shown(category.name)}, which is read as categories — the first is row {shown(row)} "
            f"— {MISSING_ADVICE}"
        )
    notes.append(
        f"{table.source}: {int(gap.sum()):,} missing values in {shown(category.name)} are filled "
        f"with the most frequent one of the training normals, {shown(category.usual)}"
    )
    return tuple(category.usual if empty else cell for cell, empty in zip(column, gap, strict=True))


def _unseen(table: Table, category: Category, cells: Iterable[str]) -> list[str]:
    counts = Counter(cells)
    if not counts:
        return []
    return [
        f"{table.source}: {counts.total():,} of {len(table):,} rows have {listed(sorted(counts))} "
        f"in {shown(category.name)}, which no training row has — they are 0 in each of its "
        "columns; that alone may be what is anomalous"
    ]


def _check_room(found: list[Category], tables: list[Table]) -> None:
    names = Counter(name for category in found for name in category.columns)
    for table in tables:
        repeated = [name for name, count in (names + Counter(table.columns)).items() if count > 1]
        if repeated:
            raise DataError(
                f"{table.source}: {listed(repeated)} is both a column and a category — rename the "
                "column"
            )
    width = len(names) + len(tables[0].columns)
    if found and width * sum(map(len, tables)) > _MOST_CELLS:
        raise DataError(
            f"{tables[0].source}: with its categories it would have {width:,} columns, more than "
            "fit — exclude some of the text columns"
        )
