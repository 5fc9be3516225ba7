"""What a column of text is that is not all numbers: true/false, text, or a mistake to point at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import DataError, shown
from eap_core.missing import MISSING_WORDS
from eap_core.readers.contents import Contents
from eap_core.readers.number_text import (
    COMMA,
    POINT,
    Notation,
    first_true,
)
from eap_core.table import Floats

Mask = npt.NDArray[np.bool_]
TRUE_WORDS, FALSE_WORDS = ("true", "yes"), ("false", "no")
_NUMBERS_IN_TEXT = 0.1  # up to this share of numbers a column of words is still text
_INFINITE = tuple(sign + word for sign in ("", "+", "-") for word in ("inf", "infinity"))


def gaps_in(cells: pa.ChunkedArray) -> Mask | None:
    """Which cells say that a value is missing, or None if none does."""
    gaps = _is_in(cells, MISSING_WORDS)
    return gaps if gaps.any() else None


def booleans_in(cells: pa.ChunkedArray) -> Floats | None:
    """1 and 0 for words such as true and no, or None if some cell is another word."""
    true, false = _is_in(cells, (*TRUE_WORDS, "1")), _is_in(cells, (*FALSE_WORDS, "0"))
    return true.astype(np.float64) if bool((true | false).all()) else None


def is_text(cells: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    """Whether (almost) all cells that say something say it in words."""
    number = _mask(numbers)
    word = ~(number | _is_in(cells, (*MISSING_WORDS, *_INFINITE)))
    said = int(number.sum() + word.sum())
    return bool(word.any()) and int(number.sum()) <= _NUMBERS_IN_TEXT * said


def needs_more_than_a_point(cells: pa.ChunkedArray) -> bool:
    """Whether this is a column of numbers of which some hold a ',' or several '.'."""
    either = pc.or_(POINT.matches(cells), COMMA.matches(cells))
    beyond = pc.and_not(either, pc.match_substring_regex(cells, POINT.plain))
    return first_true(beyond) is not None and not is_text(cells, either)


def first_mistake(
    contents: Contents, name: str, cells: pa.ChunkedArray, notation: Notation
) -> DataError:
    """The error for the first cell, missing ones aside, that is not a finite number."""
    written = _mask(notation.matches(cells))
    point = pc.if_else(pa.array(written), notation.to_point(cells), "0")
    finite = np.isfinite(pc.cast(point, pa.float64()).to_numpy())
    wrong = np.flatnonzero(~(written & finite | _is_in(cells, MISSING_WORDS)))
    row = int(wrong[0])
    cell = cells[row].as_py()
    more = f" (and {len(wrong) - 1:,} more in this column)" if len(wrong) > 1 else ""
    what, advice = _explained(cell, bool(written[row]), notation)
    return contents.bad_value(what + more, name, row, advice)


def _explained(cell: str, written: bool, notation: Notation) -> tuple[str, str]:
    if written or cell.strip().lower() in _INFINITE:
        return f"{shown(cell)} is not a finite number", "use numbers up to 1.7e308"
    other = COMMA if notation is POINT else POINT
    if other.matches(pa.chunked_array([[cell]]))[0].as_py():
        what = f"{shown(cell)} is not a number with '{notation.mark}' as decimal mark"
        return what, "correct it, or state the other decimal mark"
    return f"{shown(cell)} is not a number", "correct it, remove the row, or exclude the column"


def _is_in(cells: pa.ChunkedArray, words: tuple[str, ...]) -> Mask:
    return _mask(pc.is_in(pc.ascii_lower(cells), value_set=pa.array(words)))


def _mask(column: pa.ChunkedArray) -> Mask:
    mask: Mask = column.to_numpy()
    return mask
