"""What a file holds before label, ids and features are told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.csv_neutral import restored
from eap_core.readers.remarks import Remarks
from eap_core.table import Floats


@dataclass(frozen=True)
class Contents:
    """Named columns of one file; ``places`` says where given rows are in it (``line 7``).

    ``stem`` starts the ids of rows that have none; ``neutral`` are the columns whose text carries
    the quotes of an export.
    """

    stem: str
    columns: Mapping[str, pa.ChunkedArray]
    places: Callable[[list[int]], list[str]]
    remarks: Remarks
    neutral: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        return self.remarks.source

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def text(self, name: str) -> pa.ChunkedArray:
        """A column as text, whatever its type, as it was before any export."""
        text = as_text(self.columns[name])
        return restored(text) if name in self.neutral else text

    def bad_value(self, what: str, name: str, row: int, advice: str) -> DataError:
        """The error for one value, with its place."""
        [place] = self.places([row])
        return DataError(f"{self.source}: {what} — {place}, column {shown(name)} — {advice}")

    def require(self, name: str, role: str) -> str:
        """The same name, if there is such a column."""
        if name in self.columns:
            return name
        raise DataError(
            f"{self.source}: there is no column {shown(name)} to use as {role} — "
            f"it has {listed(list(self.columns))}"
        )


def row_places(rows: list[int]) -> list[str]:
    """Places in a file that has no lines."""
    return [f"row {row + 1:,}" for row in rows]


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Any column as strings, with the empty string for what is missing."""
    text = column if column.type == pa.string() else pc.cast(column, pa.string())
    return pc.fill_null(text, "") if text.null_count else text


@dataclass
class Features:
    """Columns of numbers, NaN where one is missing, and the names of those that hold text."""

    numbers: dict[str, Floats] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
