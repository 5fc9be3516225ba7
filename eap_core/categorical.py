"""Which columns of text are categories, and what their values are.

The training data alone decide which columns are categorical and which values there are, so that no
candidate's score depends on another candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np

from eap_core.errors import DataError, listed, shown
from eap_core.missing import MISSING_WORDS
from eap_core.table import Labels, Table

MOST_VALUES = 20  # more different texts are names or remarks, not categories
ROWS_EACH = 5  # on average; fewer tell nothing about a value
LONGEST = 50  # characters; longer texts are remarks


@dataclass(frozen=True)
class Category:
    """A categorical column: its values in the training data, and the usual one of the normals."""

    name: str
    values: tuple[str, ...]
    usual: str
    stated: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in self.values)

    def is_gap(self, cell: str) -> bool:
        return _is_gap(cell, self.stated)


def find_categories(
    parts: list[Table], labels: list[Labels]
) -> tuple[list[Category], tuple[str, ...]]:
    """The categorical columns, in the training table's order, and what to say about all texts."""
    first, found, notes = parts[0], [], []
    for name in (*first.categorical, *first.texts):
        stated = name in first.categorical
        # Without a column that one part lacks: if it is a category, that is said later.
        cells = [cells_of(part, name) if name in part.extras else () for part in parts]
        counts = Counter(c for column in cells for c in column if not _is_gap(c, stated))
        if stated or _few(counts):
            found.append(
                Category(name, tuple(sorted(counts)), _usual(cells, labels, stated), stated)
            )
            notes.append(
                f"{first.source}: {shown(name)} is read as {len(counts):,} categories, one 0/1 "
                f"column each: {listed(sorted(counts))}"
            )
        else:
            notes.append(
                f"{first.source}: {shown(name)} holds {len(counts):,} different texts in "
                f"{counts.total():,} rows and is not scored — categories are 2 to {MOST_VALUES} "
                f"short texts with at least {ROWS_EACH} rows each on average"
            )
    return found, tuple(notes)


def _few(counts: Mapping[str, int]) -> bool:
    return (
        2 <= len(counts) <= MOST_VALUES
        and sum(counts.values()) >= ROWS_EACH * len(counts)
        and max(map(len, counts)) <= LONGEST
    )


def _usual(cells: list[tuple[str, ...]], labels: list[Labels], stated: bool) -> str:
    """The most frequent value of the normals, the first in the alphabet among equals."""
    normal = Counter(
        cell
        for column, part in zip(cells, labels, strict=True)
        for cell in compress(column, part == 0)
        if not _is_gap(cell, stated)
    )
    return min(normal, key=lambda value: (-normal[value], value), default="")


def cells_of(table: Table, name: str) -> tuple[str, ...]:
    """The column's text without the blanks around it."""
    if name in table.extras:
        return tuple(cell.strip() for cell in table.extras[name])
    if name in table.columns:
        values = table.values[:, table.columns.index(name)]
        if np.isnan(values).all():
            return ("",) * len(table)
        raise DataError(
            f"{table.source}: the column {shown(name)} holds numbers here, but text in the "
            "training data — state it as categorical, or exclude it"
        )
    raise DataError(
        f"{table.source} lacks the column {shown(name)}, which the training data have as "
        "categories — add it, or exclude it"
    )


def _is_gap(cell: str, stated: bool) -> bool:
    """In a column that was stated, words such as 'none' are values like any other."""
    return not cell if stated else cell.lower() in MISSING_WORDS
