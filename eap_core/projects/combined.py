"""The rows of one role that came in several files, as one table whatever the order of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eap_core.errors import listed
from eap_core.missing import Missing
from eap_core.table import Table

_MOST_LENIENT: tuple[Missing, ...] = ("median", "drop", "refuse")


def combined(tables: Sequence[Table]) -> Table:
    """All rows, matched by the columns of the first; text that only some files have is left out."""
    first, *others = tables
    if not others:
        return first
    every = [first, *(table.ordered_like(first.columns) for table in others)]
    shared = set.intersection(*(set(table.extras) for table in every))
    wanted = dict.fromkeys(name for table in every for name in (*table.texts, *table.categorical))
    partial = [name for name in wanted if name not in shared]
    asked = {table.missing for table in every}
    return replace(
        first,
        source=f"{first.source} and {len(others):,} more",
        values=np.concatenate([table.values for table in every]),
        ids=tuple(name for table in every for name in table.ids),
        extras={
            name: tuple(
                cell for table in every for cell in table.extras.get(name, ("",) * len(table))
            )
            for name in dict.fromkeys(name for table in every for name in table.extras)
        },
        texts=_named("texts", every, shared),
        categorical=_named("categorical", every, shared),
        missing=next(choice for choice in _MOST_LENIENT if choice in asked),
        notes=tuple(note for table in every for note in table.notes),
        warnings=(
            *(warning for table in every for warning in table.warnings),
            *(
                f"{listed([name])} is text in some files and missing in others of the same role — "
                "left out of the score"
                for name in partial
            ),
        ),
    )


def _named(field: str, tables: Sequence[Table], shared: set[str]) -> tuple[str, ...]:
    names = dict.fromkeys(name for table in tables for name in getattr(table, field))
    return tuple(name for name in names if name in shared)
