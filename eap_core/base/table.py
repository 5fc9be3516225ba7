"""Rows with named numeric columns, as a reader hands them over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, FileError, list_names, quote

# What counts as missing in a table, and what may be done about it.

Missing = Literal["refuse", "drop", "median"]
# What programs and people write into a cell of a number or a category that is not there.
MISSING_WORDS = (
    *("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "nil", "missing"),
    *("-", "?", "."),
)
MISSING_ADVICE = (
    "fill these cells, exclude the column, or set missing to 'drop' (leaves such rows out) or "
    "'median' (of the training normals)"
)


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
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
            raise self._missing(missing, columns)
        position = {name: j for j, name in enumerate(self.columns)}
        spare = [name for name in self.columns if name not in columns]
        kept = {
            name: tuple(_write_number(value) for value in self.values[:, position[name]].tolist())
            for name in spare
        }
        warnings = self.warnings
        if spare:
            warnings += (
                f"{self.source}: {list_names(spare)} is not in the training data — "
                "ignored for the score, kept in the export",
            )
        return replace(
            self,
            columns=columns,
            values=self.values[:, [position[name] for name in columns]],
            extras={**self.extras, **kept},
            warnings=warnings,
        )

    def _missing(self, missing: list[str], columns: tuple[str, ...]) -> DataError:
        worded = [name for name in missing if name in self.extras]
        if worded:
            return DataError(
                f"the column {list_names(worded)} holds text or is no feature here, but numbers in "
                "the training data",
                where=self.source,
                advice="make it the same in both files",
            )
        near = {name.strip().casefold(): name for name in self.columns if name not in columns}
        hints = [
            f"{quote(name)} instead of {quote(near[name.strip().casefold()])}"
            for name in missing
            if name.strip().casefold() in near
        ]
        hint = (
            f"did you mean {', '.join(hints)}?"
            if hints
            else f"it has {list_names(list(self.columns))}"
        )
        return FileError(
            f"lacks the column {list_names(missing)} of the training data ({hint})",
            where=self.source,
            advice="both files must use the same names",
        )


def drop_labels(candidates: Table) -> Table:
    """Candidates are anomalies by intention: labels they carry travel along and do not count."""
    if candidates.labels is None:
        return candidates
    normal = int((candidates.labels == 0).sum())
    warnings = candidates.warnings
    if normal:
        warnings += (
            f"{candidates.source}: {normal:,} of {len(candidates):,} candidates are labelled 0 — "
            "all of them are scored as candidates, and the label is kept in the export",
        )
    extras = {**candidates.extras, "label": tuple(str(label) for label in candidates.labels)}
    return replace(candidates, labels=None, extras=extras, warnings=warnings)


def count_columns(counts: Mapping[str, int]) -> str:
    """Columns with a count each, as they may appear in a message."""
    head = ", ".join(f"{quote(name)} {count:,}" for name, count in list(counts.items())[:_COUNTED])
    more = len(counts) - _COUNTED
    return head if more <= 0 else f"{head} and {more:,} more columns"


def _write_number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.17g}"


# What an item is in a project.

Role = Literal["normal", "anomaly", "candidate", "test_normal", "test_anomaly"]
ROLES: tuple[Role, ...] = get_args(Role)


# What is known about an item beside its features, by the names people give such columns.
#
# These columns are never features. They are recognised by name, kept as text, shown, filtered by
# and exported.

KEYS: tuple[str, ...] = ("generator", "prompt", "defect_type", "source", "mask")
_NAMES = MappingProxyType(
    {
        "generator": ("generator", "method", "generated_by", "generator_name"),
        "prompt": ("prompt", "text_prompt", "positive_prompt", "caption"),
        "defect_type": ("defect_type", "defect", "anomaly_type", "fraud_type", "defect_class"),
        "source": ("source", "source_file", "source_image", "source_id", "parent", "base_image"),
        "mask": ("mask", "mask_file", "mask_path", "ground_truth", "segmentation"),
    }
)
_KEY_OF = MappingProxyType({name: key for key, names in _NAMES.items() for name in names})


def metadata_key(column: str) -> str | None:
    """The kind of metadata a column of this name holds, if any: ``Defect-Type`` → defect_type."""
    return _KEY_OF.get(re.sub(r"[\s\-.]+", "_", column.strip().casefold()))


# The rows of one role that came in several files, as one table whatever the order of files.

_MOST_LENIENT: tuple[Missing, ...] = ("median", "drop", "refuse")


def combine_tables(tables: Sequence[Table]) -> Table:
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
        texts=_shared_names("texts", every, shared),
        categorical=_shared_names("categorical", every, shared),
        missing=next(choice for choice in _MOST_LENIENT if choice in asked),
        notes=tuple(note for table in every for note in table.notes),
        warnings=(
            *(warning for table in every for warning in table.warnings),
            *(
                f"{list_names([name])} is text in some files and missing in others of the same "
                "role — left out of the score"
                for name in partial
            ),
        ),
    )


def _shared_names(field: str, tables: Sequence[Table], shared: set[str]) -> tuple[str, ...]:
    names = dict.fromkeys(name for table in tables for name in getattr(table, field))
    return tuple(name for name in names if name in shared)


def free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name of a column that was given, told apart from one of the program's own."""
    while is_taken(name):
        name = f"{name} (given)"
    return name
