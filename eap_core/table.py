"""Rows with named numeric columns, as a reader hands them over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from eap_core.errors import DataError, listed, shown
from eap_core.missing import Missing

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]
_COUNTED = 5


@dataclass(frozen=True, eq=False)
class Table:
    """``values[i, j]`` is the number in row ``ids[i]`` and column ``columns[j]``.

    ``labels`` are 0 (normal) and 1 (anomaly) where the file had a label column; ``extras`` are the
    text columns that are no features and travel to the export; ``notes`` say how the file was
    read wherever a reader had to choose, ``warnings`` what a person should look at. Of the extras,
    ``texts`` may serve as categories and ``categorical`` must. ``missing`` is what becomes of
    gaps: values are NaN only where it is "median".
    """

    source: str
    columns: tuple[str, ...]
    values: Floats
    ids: tuple[str, ...]
    labels: Labels | None = None
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: Missing = "refuse"

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, keep: npt.NDArray[np.bool_]) -> Table:
        """The rows that are to be kept."""
        values, labels = self.values[keep], None if self.labels is None else self.labels[keep]
        for array in (values, labels):
            if array is not None:
                array.setflags(write=False)
        return replace(
            self,
            values=values,
            ids=tuple(compress(self.ids, keep)),
            labels=labels,
            extras={name: tuple(compress(cells, keep)) for name, cells in self.extras.items()},
        )

    def ordered_like(self, columns: tuple[str, ...]) -> Table:
        """The same rows with exactly ``columns`` in that order, matched by name."""
        if self.columns == columns:
            return self
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise DataError(self._missing(missing, columns))
        position = {name: j for j, name in enumerate(self.columns)}
        spare = [name for name in self.columns if name not in columns]
        kept = {
            name: tuple(_written(value) for value in self.values[:, position[name]].tolist())
            for name in spare
        }
        warnings = self.warnings
        if spare:
            warnings += (
                f"{self.source}: {listed(spare)} is not in the training data — "
                "ignored for the score, kept in the export",
            )
        return replace(
            self,
            columns=columns,
            values=self.values[:, [position[name] for name in columns]],
            extras={**self.extras, **kept},
            warnings=warnings,
        )

    def _missing(self, missing: list[str], columns: tuple[str, ...]) -> str:
        worded = [name for name in missing if name in self.extras]
        if worded:
            return (
                f"{self.source}: the column {listed(worded)} holds text or is no feature here, but "
                "numbers in the training data — make it the same in both files"
            )
        near = {name.strip().casefold(): name for name in self.columns if name not in columns}
        hints = [
            f"{shown(name)} instead of {shown(near[name.strip().casefold()])}"
            for name in missing
            if name.strip().casefold() in near
        ]
        advice = (
            f"did you mean {', '.join(hints)}?" if hints else f"it has {listed(list(self.columns))}"
        )
        return (
            f"{self.source} lacks the column {listed(missing)} of the training data ({advice}) — "
            "both files must use the same names"
        )


def counted(counts: Mapping[str, int]) -> str:
    """Columns with a count each, as they may appear in a message."""
    head = ", ".join(f"{shown(name)} {count:,}" for name, count in list(counts.items())[:_COUNTED])
    more = len(counts) - _COUNTED
    return head if more <= 0 else f"{head} and {more:,} more columns"


def _written(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.17g}"
