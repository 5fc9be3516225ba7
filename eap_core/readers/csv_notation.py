"""How a whole file writes its numbers: the notation that some cell proves."""

from __future__ import annotations

import pyarrow as pa

from eap_core.errors import DataError, shown
from eap_core.readers.contents import Contents
from eap_core.readers.csv_cells import needs_more_than_a_point
from eap_core.readers.number_text import COMMA, POINT, Notation, first_ambiguous, first_proof

Texts = dict[str, pa.ChunkedArray]


def find_notation(
    contents: Contents, plain: Texts, odd: Texts, originals: Texts, clean: set[str]
) -> Notation:
    """The notation that some cell proves; marks that prove nothing are an error.

    ``plain`` columns are numbers with a point; of the ``odd`` ones, here without gaps, the
    ``clean`` are numbers with a comma; ``originals`` are the odd ones as they were written.
    """
    doubtful = {
        name: cells
        for name, cells in odd.items()
        if name in clean or needs_more_than_a_point(originals[name])
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


def _proof(columns: Texts, notation: Notation) -> tuple[str, int] | None:
    for name, cells in columns.items():
        row = first_proof(cells, notation)
        if row is not None:
            return name, row
    return None


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


def _ambiguous(contents: Contents, doubtful: Texts) -> DataError:
    name, cells = next(iter(doubtful.items()))
    row = first_ambiguous(cells)
    assert row is not None  # it has marks, and none that only one notation allows
    cell = cells[row].as_py()
    return contents.bad_value(
        f"it is not clear whether {shown(cell)} has a decimal mark or a thousands mark",
        name,
        row,
        "state the decimal mark, or write numbers without thousands marks and with '.'",
    )
