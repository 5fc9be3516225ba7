"""Columns that come with a type: numbers and true/false are features, strings are text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.contents import Contents, Features, as_text
from eap_core.readers.number_text import first_true
from eap_core.readers.remarks import Remarks
from eap_core.table import Floats


def convert_typed(contents: Contents, names: list[str]) -> Features:
    """Every number as float64, NaN where it is missing; what is not finite is an error."""
    features = Features()
    for name in names:
        if is_text(contents.columns[name].type):
            features.texts.append(name)
        else:
            features.numbers[name] = _numbers(contents, name)
    booleans = [name for name in names if pa.types.is_boolean(contents.columns[name].type)]
    if booleans:
        contents.remarks.note(f"{listed(booleans)} is read as true = 1 and false = 0")
    return features


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are strings."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of this type can be read as numbers."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def check_text(name: str, column: pa.ChunkedArray, remarks: Remarks) -> None:
    """Refuse text that no database takes: NUL, or bytes that are not UTF-8."""
    text = as_text(column)
    row = first_true(pc.match_substring(text, "\x00"))
    if row is not None:
        raise DataError(
            f"{remarks.source} holds a NUL character — row {row + 1:,}, column {shown(name)} — "
            "remove it"
        )


def _numbers(contents: Contents, name: str) -> Floats:
    column = contents.columns[name]
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    values: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy()
    odd = np.flatnonzero(np.isinf(values))
    if odd.size:
        row = int(odd[0])
        raise contents.bad_value(
            f"'{values[row]}' is not a finite number",
            name,
            row,
            "fill these cells, remove these rows, or exclude it",
        )
    return values
