"""How numbers are written: with '.' or ',' as decimal mark, with or without thousands marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.base.errors import DataError, FileError, quote
from eap_core.base.table import MISSING_WORDS, Bools, Floats
from eap_core.readers.files import Features, RawColumns

_FIRST_LOOK = 1_000
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Notation:
    """One way to write numbers: its decimal mark and its thousands mark."""

    mark: str
    group: str

    @property
    def plain(self) -> str:
        """The pattern of a number without thousands marks."""
        return rf"\A[+-]?(\d+([{self.mark}]\d*)?|[{self.mark}]\d+)([eE][+-]?\d+)?\z"

    @property
    def grouped(self) -> str:
        """The pattern of a number with thousands marks."""
        return rf"\A[+-]?[1-9]\d{{0,2}}([{self.group}]\d{{3}})+([{self.mark}]\d*)?\z"

    def matches(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Which cells are numbers in this notation."""
        return pc.match_substring_regex(cells, f"{self.plain}|{self.grouped}")

    def has_groups(self, cells: pa.ChunkedArray) -> bool:
        """Whether some cell uses the thousands mark."""
        return first_grouped(cells, self) is not None

    def to_point(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """The same numbers as :func:`numbers_in` takes them."""
        if self.has_groups(cells):
            bare = pc.replace_substring(cells, self.group, "")
            cells = pc.if_else(pc.match_substring_regex(cells, self.grouped), bare, cells)
        return cells if self.mark == "." else _with_points(cells, self.mark)


POINT = Notation(mark=".", group=",")
COMMA = Notation(mark=",", group=".")


def is_number(text: str) -> bool:
    """Whether a single text is a number in either notation."""
    return _NUMBER.fullmatch(text.strip()) is not None


def trim(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells without the blanks around them."""
    return pc.ascii_trim_whitespace(cells)


def numbers_in(cells: pa.ChunkedArray) -> Floats | None:
    """The finite numbers of a column in point notation, or None if some cell is not one."""
    try:
        cast = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    values: Floats = cast.to_numpy()
    return values if bool(np.isfinite(values).all()) else None


def first_proof(cells: pa.ChunkedArray, notation: Notation) -> int | None:
    """The first row that is a number in this notation but not in the other one."""
    other = COMMA if notation is POINT else POINT
    for start, piece in _growing(cells):
        # The quick way to know that there is none: all are plain numbers of the other notation.
        if not contains(piece, other.group) and numbers_in(other.to_point(piece)) is not None:
            continue
        row = first_true(pc.and_not(notation.matches(piece), other.matches(piece)))
        if row is not None:
            return start + row
    return None


def first_grouped(cells: pa.ChunkedArray, notation: Notation) -> int | None:
    """The first row that uses the thousands mark."""
    if not contains(cells, notation.group):
        return None
    return first_true(pc.match_substring_regex(cells, notation.grouped))


def first_ambiguous(cells: pa.ChunkedArray) -> int | None:
    """The first row with a mark that is a number in both notations."""
    marked = pc.match_substring_regex(cells, "[.,]")
    return first_true(pc.and_(marked, pc.and_(POINT.matches(cells), COMMA.matches(cells))))


def contains(cells: pa.ChunkedArray, char: str) -> bool:
    """Whether some cell holds the character, looked for in the bytes of all cells at once."""
    return any(bool((_bytes_of(chunk) == ord(char)).any()) for chunk in cells.chunks)


def first_true(mask: pa.ChunkedArray) -> int | None:
    """The first row of a mask that is set."""
    row = int(pc.index(mask, True).as_py())
    return None if row < 0 else row


def _growing(cells: pa.ChunkedArray) -> Iterator[tuple[int, pa.ChunkedArray]]:
    """The first rows, then the rest: a proof is mostly found at once."""
    yield 0, cells.slice(0, _FIRST_LOOK)
    yield _FIRST_LOOK, cells.slice(_FIRST_LOOK)


def _bytes_of(chunk: pa.StringArray) -> npt.NDArray[np.uint8]:
    _, offsets, data = chunk.buffers()
    if data is None or not len(chunk):
        return np.empty(0, dtype=np.uint8)
    bounds = np.frombuffer(offsets, dtype=np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return np.frombuffer(data, dtype=np.uint8)[bounds[0] : bounds[1]]


def _with_points(cells: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    """One character for another in all bytes at once: several times quicker than cell by cell."""
    return pa.chunked_array([_with_points_in(chunk, mark) for chunk in cells.chunks], pa.string())


def _with_points_in(chunk: pa.StringArray, mark: str) -> pa.StringArray:
    _, offsets, data = chunk.buffers()
    if data is None:
        return chunk
    changed = pa.py_buffer(data.to_pybytes().replace(mark.encode(), b"."))
    return pa.StringArray.from_buffers(len(chunk), offsets, changed, offset=chunk.offset)


# What a column of text is that is not all numbers: true/false, text, or a mistake to point at.

TRUE_WORDS, FALSE_WORDS = ("true", "yes"), ("false", "no")
_NUMBERS_IN_TEXT = 0.1  # up to this share of numbers a column of words is still text
_INFINITE = tuple(sign + word for sign in ("", "+", "-") for word in ("inf", "infinity"))


def gaps_in(cells: pa.ChunkedArray) -> Bools | None:
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
    contents: RawColumns, name: str, cells: pa.ChunkedArray, notation: Notation
) -> DataError:
    """The error for the first cell, missing ones aside, that is not a finite number."""
    written = _mask(notation.matches(cells))
    point = pc.if_else(pa.array(written), notation.to_point(cells), "0")
    finite = np.isfinite(pc.cast(point, pa.float64()).to_numpy())
    wrong = np.flatnonzero(~(written & finite | _is_in(cells, MISSING_WORDS)))
    row = int(wrong[0])
    cell = cells[row].as_py()
    more = f" (and {len(wrong) - 1:,} more in this column)" if len(wrong) > 1 else ""
    what, advice = _explain_cell(cell, bool(written[row]), notation)
    return contents.bad_value(what + more, name, row, advice)


def _explain_cell(cell: str, written: bool, notation: Notation) -> tuple[str, str]:
    if written or cell.strip().lower() in _INFINITE:
        return f"{quote(cell)} is not a finite number", "use numbers up to 1.7e308"
    other = COMMA if notation is POINT else POINT
    if other.matches(pa.chunked_array([[cell]]))[0].as_py():
        what = f"{quote(cell)} is not a number with '{notation.mark}' as decimal mark"
        return what, "correct it, or state the other decimal mark"
    return (
        f"{quote(cell)} is not a number",
        "correct it, remove the row, or exclude the column",
    )


def _is_in(cells: pa.ChunkedArray, words: tuple[str, ...]) -> Bools:
    return _mask(pc.is_in(pc.ascii_lower(cells), value_set=pa.array(words)))


def _mask(column: pa.ChunkedArray) -> Bools:
    mask: Bools = column.to_numpy()
    return mask


# How a whole file writes its numbers: the notation that some cell proves.

Texts = dict[str, pa.ChunkedArray]


def find_notation(
    contents: RawColumns, plain: Texts, odd: Texts, originals: Texts, clean: set[str]
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


def _mixture(contents: RawColumns, comma: tuple[str, int], point: tuple[str, int]) -> DataError:
    cases = [(name, row, contents.columns[name][row].as_py()) for name, row in (comma, point)]
    places = contents.places([row for _, row, _ in cases])
    seen = " and ".join(
        f"{quote(cell)} ({place}, column {quote(name)})"
        for (name, _, cell), place in zip(cases, places, strict=True)
    )
    return FileError(
        f"uses two decimal marks — {seen}",
        where=contents.source,
        advice="write all numbers with the same mark",
    )


def _ambiguous(contents: RawColumns, doubtful: Texts) -> DataError:
    name, cells = next(iter(doubtful.items()))
    row = first_ambiguous(cells)
    assert row is not None  # it has marks, and none that only one notation allows
    cell = cells[row].as_py()
    return contents.bad_value(
        f"it is not clear whether {quote(cell)} has a decimal mark or a thousands mark",
        name,
        row,
        "state the decimal mark, or write numbers without thousands marks and with '.'",
    )


# Columns of text to numbers, once it is clear how the file writes them.


@dataclass(frozen=True)
class _Column:
    """A column as it was written; ``solid`` has 0 where a value is missing."""

    cells: pa.ChunkedArray
    solid: pa.ChunkedArray
    gaps: Bools | None

    def open(self, values: Floats) -> Floats:
        """The values, with NaN where one is missing."""
        return values if self.gaps is None else np.where(self.gaps, np.nan, values)


_Columns = dict[str, _Column]


def convert(
    contents: RawColumns, names: list[str], decimal: str | None = None
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
    contents: RawColumns,
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
        contents.remarks.warn(f"column {quote(name)} is read as true = yes = 1 and false = no = 0")
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
    contents: RawColumns, name: str, cells: pa.ChunkedArray, notation: Notation, values: Floats
) -> None:
    row = first_grouped(cells, notation)
    if row is not None:
        contents.remarks.warn(
            f"column {quote(name)} is read with '{notation.group}' between thousands: "
            f"{quote(cells[row].as_py())} is {values[row]:.15g}"
        )
