"""Columns of text to numbers, once it is clear how the file writes them."""

from __future__ import annotations

import pyarrow as pa

from eap_core.errors import DataError, shown
from eap_core.readers.contents import Contents, Features
from eap_core.readers.csv_cells import booleans_in, first_mistake, is_text, needs_more_than_a_point
from eap_core.readers.number_text import (
    COMMA,
    POINT,
    Notation,
    contains,
    first_ambiguous,
    first_grouped,
    first_proof,
    numbers_in,
    trim,
)
from eap_core.table import Floats

_Texts = dict[str, pa.ChunkedArray]


def convert(contents: Contents, names: list[str]) -> tuple[Features, Notation]:
    """Numbers where a column holds nothing else, text where it holds hardly any."""
    features = Features()
    plain: _Texts = {}
    odd: _Texts = {}
    for name in names:
        cells = contents.columns[name]
        values = numbers_in(cells)
        if values is None:
            cells = trim(cells)
            values = numbers_in(cells)
        if values is None:
            odd[name] = cells
        else:
            plain[name], features.numbers[name] = cells, values
    clean = _clean_commas(odd)
    notation = _find_notation(contents, plain, odd, set(clean))
    if notation is COMMA:
        features.numbers |= clean
        odd = {name: cells for name, cells in odd.items() if name not in clean}
        # Here 1.234 is 1234.
        odd |= {name: cells for name, cells in plain.items() if COMMA.has_groups(cells)}
    for name, cells in odd.items():
        _convert_odd(contents, name, cells, notation, features)
    return features, notation


def _clean_commas(odd: _Texts) -> dict[str, Floats]:
    """The columns, as read with a decimal comma, in which that leaves nothing to explain."""
    clean = {}
    for name, cells in odd.items():
        if contains(cells, ",") and not contains(cells, "."):
            values = numbers_in(COMMA.to_point(cells))
            if values is not None:
                clean[name] = values
    return clean


def _find_notation(contents: Contents, plain: _Texts, odd: _Texts, clean: set[str]) -> Notation:
    """The notation that some cell proves; marks that prove nothing are an error."""
    doubtful = {
        n: cells for n, cells in odd.items() if n in clean or needs_more_than_a_point(cells)
    }
    if not doubtful:
        return POINT
    may_have_points = {n: cells for n, cells in doubtful.items() if n not in clean}
    comma, point = _proof(doubtful, COMMA), _proof(may_have_points | plain, POINT)
    if comma and point:
        raise _mixture(contents, comma, point)
    if not comma and not point:
        raise _ambiguous(contents, doubtful)
    return COMMA if comma else POINT


def _proof(columns: _Texts, notation: Notation) -> tuple[str, int] | None:
    for name, cells in columns.items():
        row = first_proof(cells, notation)
        if row is not None:
            return name, row
    return None


def _convert_odd(
    contents: Contents, name: str, cells: pa.ChunkedArray, notation: Notation, features: Features
) -> None:
    values = numbers_in(notation.to_point(cells))
    if values is not None:
        features.numbers[name] = values
        _warn_of_groups(contents, name, cells, notation, values)
        return
    values = booleans_in(cells)
    if values is not None:
        features.numbers[name] = values
        contents.remarks.warn(f"column {shown(name)} is read as true = yes = 1 and false = no = 0")
    elif is_text(cells, notation.matches(cells)):
        features.texts.append(name)
    else:
        raise first_mistake(contents, name, cells, notation)


def _warn_of_groups(
    contents: Contents, name: str, cells: pa.ChunkedArray, notation: Notation, values: Floats
) -> None:
    row = first_grouped(cells, notation)
    if row is not None:
        contents.remarks.warn(
            f"column {shown(name)} is read with '{notation.group}' between thousands: "
            f"{shown(cells[row].as_py())} is {values[row]:.15g}"
        )


def _mixture(contents: Contents, comma: tuple[str, int], point: tuple[str, int]) -> DataError:
    cases = [(name, row, contents.columns[name][row].as_py()) for name, row in (comma, point)]
    places = contents.places([row for _, row, _ in cases])
    seen = " and ".join(
        f"{shown(cell)} ({place}, column {shown(name)})"
        for (name, _, cell), place in zip(cases, places, strict=True)
    )
    return DataError(
        f"{contents.source} uses two decimal marks — {seen} — write all numbers with the same mark"
    )


def _ambiguous(contents: Contents, doubtful: _Texts) -> DataError:
    name, cells = next(iter(doubtful.items()))
    row = first_ambiguous(cells)
    assert row is not None  # it has marks, and none that only one notation allows
    cell = cells[row].as_py()
    return contents.bad_value(
        f"it is not clear whether {shown(cell)} has a decimal mark or a thousands mark",
        name,
        row,
        "write numbers without thousands marks and with '.' as decimal mark",
    )
