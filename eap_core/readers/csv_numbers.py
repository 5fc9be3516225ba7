"""Columns of text to numbers, once it is clear how the file writes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import shown
from eap_core.readers.contents import Contents, Features
from eap_core.readers.csv_cells import (
    Mask,
    booleans_in,
    first_mistake,
    gaps_in,
    is_text,
)
from eap_core.readers.csv_notation import Texts, find_notation
from eap_core.readers.number_text import (
    COMMA,
    POINT,
    Notation,
    contains,
    first_grouped,
    numbers_in,
    trim,
)
from eap_core.table import Floats


@dataclass(frozen=True)
class _Column:
    """A column as it was written; ``solid`` has 0 where a value is missing."""

    cells: pa.ChunkedArray
    solid: pa.ChunkedArray
    gaps: Mask | None

    def open(self, values: Floats) -> Floats:
        """The values, with NaN where one is missing."""
        return values if self.gaps is None else np.where(self.gaps, np.nan, values)


_Columns = dict[str, _Column]


def convert(
    contents: Contents, names: list[str], decimal: str | None = None
) -> tuple[Features, Notation]:
    """Numbers where a column holds nothing else, text where it holds hardly any."""
    features = Features()
    plain: _Columns = {}
    odd: _Columns = {}
    clean: dict[str, Floats] = {}  # of the odd: read with a comma, nothing is left to explain
    for name in names:
        column, with_point, with_comma = _read(contents.columns[name])
        if with_point is not None:
            plain[name], features.numbers[name] = column, column.open(with_point)
            continue
        odd[name] = column
        if with_comma is not None:
            clean[name] = with_comma
    if decimal is not None:
        notation = COMMA if decimal == COMMA.mark else POINT
    else:
        originals = {name: column.cells for name, column in odd.items()}
        notation = find_notation(contents, _solid(plain), _solid(odd), originals, set(clean))
    if notation is COMMA:
        features.numbers |= {name: odd.pop(name).open(values) for name, values in clean.items()}
        # Here 1.234 is 1234.
        odd |= {name: column for name, column in plain.items() if contains(column.solid, ".")}
    for name, column in odd.items():
        _convert_odd(contents, name, column, notation, features, stated=decimal is not None)
    return features, notation


def _read(cells: pa.ChunkedArray) -> tuple[_Column, Floats | None, Floats | None]:
    """A column with its numbers, if it holds nothing else: by a point, or else by a comma."""
    column = _Column(cells, cells, None)
    with_point, with_comma = _by_point_or_comma(cells)
    if with_point is None and with_comma is None:
        column = _with_gaps(trim(cells))  # takes longer than reading the numbers
        with_point, with_comma = _by_point_or_comma(column.solid)
    return column, with_point, with_comma


def _by_point_or_comma(cells: pa.ChunkedArray) -> tuple[Floats | None, Floats | None]:
    values = numbers_in(cells)
    if values is None and contains(cells, ",") and not contains(cells, "."):
        return None, numbers_in(COMMA.to_point(cells))
    return values, None


def _with_gaps(cells: pa.ChunkedArray) -> _Column:
    gaps = gaps_in(cells)
    solid = cells if gaps is None else pc.if_else(pa.array(gaps), "0", cells)
    return _Column(cells, solid, gaps)


def _solid(columns: _Columns) -> Texts:
    return {name: column.solid for name, column in columns.items()}


def _convert_odd(
    contents: Contents,
    name: str,
    column: _Column,
    notation: Notation,
    features: Features,
    *,
    stated: bool,
) -> None:
    values = _numbers(column.solid, notation)
    if values is not None:
        features.numbers[name] = column.open(values)
        _warn_of_groups(contents, name, column.solid, notation, values)
        return
    values = booleans_in(column.solid)
    if values is not None:
        features.numbers[name] = column.open(values)
        contents.remarks.warn(f"column {shown(name)} is read as true = yes = 1 and false = no = 0")
        return
    numbers = notation.matches(column.cells)
    if stated:  # with the wrong mark stated, numbers must not pass for words
        numbers = pc.or_(POINT.matches(column.cells), COMMA.matches(column.cells))
    if not is_text(column.cells, numbers):
        raise first_mistake(contents, name, column.cells, notation)
    features.texts.append(name)


def _numbers(cells: pa.ChunkedArray, notation: Notation) -> Floats | None:
    # A point that stands between no thousands is no mark of a notation with commas.
    if notation is COMMA and contains(cells, ".") and not pc.all(COMMA.matches(cells)).as_py():
        return None
    return numbers_in(notation.to_point(cells))


def _warn_of_groups(
    contents: Contents, name: str, cells: pa.ChunkedArray, notation: Notation, values: Floats
) -> None:
    row = first_grouped(cells, notation)
    if row is not None:
        contents.remarks.warn(
            f"column {shown(name)} is read with '{notation.group}' between thousands: "
            f"{shown(cells[row].as_py())} is {values[row]:.15g}"
        )
