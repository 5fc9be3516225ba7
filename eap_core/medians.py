"""Missing numbers become the median of the training normals: never of candidates or anomalies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eap_core.errors import DataError, shown
from eap_core.missing import MISSING_ADVICE
from eap_core.table import Floats, Labels, Table

_SHOWN = 5


def filled(parts: list[Table], labels: Labels, candidates: Table) -> list[Table]:
    """All tables, the candidates last, without NaN; their columns are the same already."""
    tables = [*parts, candidates]
    open_columns = np.any([np.isnan(table.values).any(axis=0) for table in tables], axis=0)
    if not open_columns.any():
        return tables
    columns = parts[0].columns
    normals = np.concatenate([part.values for part in parts])[labels == 0]
    medians = np.zeros(len(columns))
    for j in np.flatnonzero(open_columns):
        medians[j] = _median(normals[:, j], columns[j])
    return [_filled(table, medians) for table in tables]


def _median(values: Floats, column: str) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        raise DataError(
            f"no training normal has a value in column {shown(column)}, so that its gaps cannot be "
            "filled — exclude the column"
        )
    return float(np.median(known))


def _filled(table: Table, medians: Floats) -> Table:
    gaps = np.isnan(table.values)
    if not gaps.any():
        return table
    if table.missing != "median":
        i, j = np.argwhere(gaps)[0]
        raise DataError(
            f"{table.source}: missing value — row {shown(table.ids[i])}, column "
            f"{shown(table.columns[j])} — {MISSING_ADVICE}"
        )
    some = [
        f"{shown(table.columns[j])} ({gaps[:, j].sum():,} with {medians[j]:g})"
        for j in np.flatnonzero(gaps.any(axis=0))
    ]
    more = f" and {len(some) - _SHOWN:,} more columns" if len(some) > _SHOWN else ""
    note = (
        f"{table.source}: missing values are filled with the median of the training normals: "
        f"{', '.join(some[:_SHOWN])}{more}"
    )
    return replace(table, values=np.where(gaps, medians, table.values), notes=(*table.notes, note))
