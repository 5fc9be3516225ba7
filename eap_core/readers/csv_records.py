"""Text to records, exactly and with line numbers; the definition the fast splitter must meet."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice
from typing import NamedTuple

from eap_core.errors import DataError, shown
from eap_core.readers.limits import MAX_COLUMNS, MAX_NAME

_UP_TO_QUOTE = re.compile(r'[^"]*+(?:""[^"]*+)*+')
_MOST_VALUES = 10 * MAX_COLUMNS  # above the limit, so that its message can give the number
_RAGGED_SHOWN, _RAGGED_LOOKED_AT = 3, 1_000


class Record(NamedTuple):
    """The values of one record and the line, from 1, on which it starts; no values: blank line."""

    line: int
    values: list[str]


class Layout(NamedTuple):
    """What is needed to take a text apart; ``named``: its first record holds the names."""

    source: str
    delimiter: str
    header: tuple[str, ...]
    named: bool = True


def lines_of(data: bytes, encoding: str = "utf-8") -> Iterable[str]:
    """Physical lines with their ends: LF or CRLF, or CR in a file that has no LF at all."""
    end = "\n" if b"\n" in data else "\r"
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline=end)


def records(lines: Iterable[str], delimiter: str, source: str) -> Iterator[Record]:
    """Every record and every blank line."""
    blank = " \t\r\n".replace(delimiter, "")
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if not line.strip(blank):
            yield Record(number, [])
        elif '"' in line:
            yield Record(number, _quoted(line, number, numbered, delimiter, source))
        else:
            if line.count(delimiter) > _MOST_VALUES:
                raise _too_wide(number, source)
            yield Record(number, line.rstrip("\r\n").split(delimiter))


def rows(data: bytes, layout: Layout, skipped: list[int] | None = None) -> Iterator[Record]:
    """The records below the header, if there is one, each with one value per column.

    Blank lines between rows are no rows and are reported in ``skipped``, except between the
    values of a one-column table: there they are missing values.
    """
    width = len(layout.header)
    found = records(lines_of(data), layout.delimiter, layout.source)
    found = dropwhile(lambda record: not record.values, found)
    if layout.named:
        next(found)
    blanks: list[int] = []
    for record in found:
        if not record.values:
            blanks.append(record.line)
            continue
        if width == 1:
            yield from (Record(line, [""]) for line in blanks)
        elif skipped is not None:
            skipped.extend(blanks)
        blanks.clear()
        if len(record.values) != width:
            raise _ragged(record, found, layout)
        yield record


def row_lines(data: bytes, layout: Layout, wanted: list[int]) -> list[int]:
    """The lines on which the given rows start."""
    last = max(wanted)
    lines = {
        row: record.line
        for row, record in enumerate(islice(rows(data, layout), last + 1))
        if row == last or row in wanted
    }
    return [lines[row] for row in wanted]


def _quoted(
    line: str, number: int, more: Iterator[tuple[int, str]], delimiter: str, source: str
) -> list[str]:
    values: list[str] = []
    position, stop = 0, len(line.rstrip("\r\n"))
    while True:
        if line.startswith('"', position):
            value, number, last, end = _in_quotes(line, number, position + 1, more, source)
            if last is not line:  # measured once a line: it may be long and have many values
                line, stop = last, len(last.rstrip("\r\n"))
            if end < stop and not line.startswith(delimiter, end):
                rest = shown(line[end : min(stop, end + MAX_NAME)])
                raise DataError(
                    f"{source}: text follows a closing quote — line {number:,}, {rest} — "
                    'write a quote inside a quoted value twice ("")'
                )
        else:
            end = line.find(delimiter, position)
            end = stop if end < 0 else end
            value = line[position:end]
        values.append(value)
        if len(values) > _MOST_VALUES:
            raise _too_wide(number, source)
        if not line.startswith(delimiter, end):
            return values
        position = end + 1


def _too_wide(number: int, source: str) -> DataError:
    """The error for a line that could fill the memory with separators alone."""
    return DataError(
        f"{source}: line {number:,} has more than {_MOST_VALUES:,} values; "
        f"limit is {MAX_COLUMNS:,} columns — keep only the columns that are needed"
    )


def _in_quotes(
    line: str, number: int, position: int, more: Iterator[tuple[int, str]], source: str
) -> tuple[str, int, str, int]:
    """The value up to its closing quote, which may be lines further on, and where that is."""
    opened, pieces = number, []
    while True:
        piece = _UP_TO_QUOTE.match(line, position)
        assert piece is not None  # it matches the empty string
        pieces.append(piece.group().replace('""', '"'))
        if piece.end() < len(line):
            return "".join(pieces), number, line, piece.end() + 1
        following = next(more, None)
        if following is None:
            raise DataError(
                f"{source}: a quote is opened and never closed — line {opened:,} — "
                "close or remove it"
            )
        (number, line), position = following, 0


def _ragged(first: Record, more: Iterator[Record], layout: Layout) -> DataError:
    """One error for the first lines that have too many or too few values."""
    width, odd = len(layout.header), [(first.line, len(first.values))]
    try:
        for line, values in islice(more, _RAGGED_LOOKED_AT):
            if values and len(values) != width:
                odd.append((line, len(values)))
    except DataError:
        pass  # a broken quote further down: the line already found comes first
    where = "; ".join(
        f"line {line:,}: expected {width:,} value{'s' * (width > 1)}, saw {count:,}"
        for line, count in odd[:_RAGGED_SHOWN]
    )
    more_text = f" and {len(odd) - _RAGGED_SHOWN:,} more" if len(odd) > _RAGGED_SHOWN else ""
    return DataError(
        f"{layout.source} has lines that do not fit its header — {where}{more_text} — "
        "give every line one value per column and remove comments and totals"
    )
