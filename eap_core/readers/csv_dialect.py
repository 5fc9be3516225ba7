"""Which character separates the columns of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from eap_core.errors import DataError, shown
from eap_core.readers.csv_records import lines_of, records

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50
_SAMPLE_LINES = 5_000  # a quote that is never closed would take in the whole file
_NUMBER_LIKE = re.compile(r"\s*[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?\s*")


class _Trial(NamedTuple):
    """How well one delimiter explains the first records; the largest wins."""

    consistent: bool
    number_share: float
    width: int
    header: tuple[str, ...]


def find_dialect(
    data: bytes, source: str, encoding: str = "utf-8", decimal: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the first record; a text that no delimiter divides is one column."""
    trials = {mark: _trial(data, mark, source, encoding) for mark in DELIMITERS}
    dividing = {mark: trial for mark, trial in trials.items() if trial.width > 1}
    # A stated decimal mark separates columns only if nothing else does.
    dividing = {mark: dividing[mark] for mark in dividing if mark != decimal} or dividing
    if dividing:
        delimiter = max(dividing, key=lambda mark: dividing[mark][:3])
        return delimiter, dividing[delimiter].header
    return DELIMITERS[0], _first_record(data, DELIMITERS[0], source, encoding)


def stated_dialect(data: bytes, source: str, delimiter: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter that was stated and the first record, unless another one divides the text."""
    first = _first_record(data, delimiter, source, "utf-8")
    if len(first) > 1:
        return delimiter, first
    other, seen = find_dialect(data, source)
    if len(seen) > 1:
        raise DataError(
            f"{source}: the stated delimiter {shown(delimiter)} is not on the first line, "
            f"{shown(first[0])} — {shown(other)} seems to separate the columns: state that, or "
            "leave it open"
        )
    return delimiter, first


def _trial(data: bytes, delimiter: str, source: str, encoding: str) -> _Trial:
    found, whole = _sample(data, delimiter, source, encoding)
    if not found:
        return _Trial(False, 0.0, 0, ())
    header, body = found[0], found[1:]
    consistent = whole and all(len(values) == len(header) for values in body)
    cells = [cell for values in body for cell in values]
    numbers = sum(_NUMBER_LIKE.fullmatch(cell) is not None for cell in cells)
    return _Trial(consistent, numbers / max(1, len(cells)), len(header), tuple(header))


def _sample(
    data: bytes, delimiter: str, source: str, encoding: str
) -> tuple[list[list[str]], bool]:
    """The first records and whether they could be taken apart with this delimiter."""
    found: list[list[str]] = []
    try:
        lines = islice(lines_of(data, encoding), _SAMPLE_LINES)
        found.extend(islice(_filled(lines, delimiter, source), _SAMPLE))
    except DataError:
        return found, False
    return found, True


def _first_record(data: bytes, delimiter: str, source: str, encoding: str) -> tuple[str, ...]:
    first = tuple(next(_filled(lines_of(data, encoding), delimiter, source), ()))
    if not first:
        raise DataError(f"{source} contains no data, only blank lines — export it again")
    return first


def _filled(lines: Iterable[str], delimiter: str, source: str) -> Iterator[list[str]]:
    return (record.values for record in records(lines, delimiter, source) if record.values)
