"""Which pair of prompts tells anomalies best, chosen with the help of selected candidates.

Here: pairs of prompt templates, the paper's own 27, and those that people bring. What stands in a
template or in an object's name is data: the two signs ``{}`` are replaced as they stand, and no
other brace, quote or percent sign means anything.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from eap_core.base.errors import DataError, FileError, SettingsError, escape_controls, quote
from eap_core.base.files import neutralise, restore_text

PLACE: Final = "{}"
MOST_PAIRS, LONGEST_TEXT, LONGEST_NAME = 500, 200, 80
MOST_BYTES = 1_000_000
_COLUMNS = ("normal", "anomalous")
_MOST_FAULTS = 5
_SIGNS = ("<start_of_text>", "<end_of_text>", "<|startoftext|>", "<|endoftext|>", "<pad>", "</s>")
_OF_MODELS = "a sign by which models begin or end what they read: leave it out"


class Template(NamedTuple):
    """What is said of a normal object and of an anomalous one."""

    normal: str
    anomalous: str

    def filled(self, name: str) -> tuple[str, str]:
        """Both texts about the object of this name."""
        return self.normal.replace(PLACE, name), self.anomalous.replace(PLACE, name)


def check_object_name(text: str) -> str:
    """The name on one line, whatever signs it holds."""
    name = " ".join(text.split())
    if not name:
        raise SettingsError(
            "the object has no name",
            advice="say what the images show, such as bottle",
        )
    if len(name) > LONGEST_NAME:
        raise SettingsError(
            f"the object's name {quote(name)} has {len(name):,} characters",
            advice=f"{LONGEST_NAME} are allowed",
        )
    if _sign_in(name):
        raise SettingsError(
            f"the object's name {quote(name)} holds {_sign_in(name)}",
            advice=_OF_MODELS,
        )
    if escape_controls(name) != name:
        raise SettingsError(
            f"the object's name {quote(name)} holds invisible signs",
            advice="remove them",
        )
    return name


def read_templates(data: bytes, source: str) -> tuple[Template, ...]:
    """The pairs of a CSV with the columns normal and anomalous; every bad line is named."""
    if len(data) > MOST_BYTES:
        raise FileError(
            f"has more than {MOST_BYTES:,} bytes",
            where=quote(source),
            advice="leave some out",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(
            "is not in UTF-8", where=quote(source), advice="save it as CSV UTF-8"
        ) from None
    numbers, rows = [], []
    try:
        for number, row in _rows(text, source):
            numbers.append(number)
            rows.append(row)
    except csv.Error as error:
        raise FileError(f"is no CSV that can be read ({error})", where=quote(source)) from None
    return check_templates(rows, f"in {quote(source)}", [f"line {number}" for number in numbers])


def check_templates(
    rows: Iterable[Sequence[str]], where: str = "of the table", places: Sequence[str] | None = None
) -> tuple[Template, ...]:
    """The rows as templates; those that cannot be used are named by their places, and why."""
    given = [tuple(" ".join(cell.split()) for cell in row) for row in rows]
    named = places or [f"row {i + 1}" for i in range(len(given))]
    if not given:
        raise DataError(f"there is no pair {where}", advice="at least one is needed")
    if len(given) > MOST_PAIRS:
        raise DataError(
            f"there are {len(given):,} pairs {where}",
            advice=f"{MOST_PAIRS} are allowed",
        )
    first: dict[tuple[str, ...], str] = {}
    faults = []
    for row, place in zip(given, named, strict=True):
        fault = _fault(row) or (f"is the same as {first[row]}" if row in first else None)
        first.setdefault(row, place)
        if fault:
            faults.append(f"{place} {fault}")
    if faults:
        more = len(faults) - _MOST_FAULTS
        told = "; ".join(faults[:_MOST_FAULTS]) + (f"; and {more:,} more" if more > 0 else "")
        raise DataError(
            f"pairs {where} cannot be used: {told}",
            advice="mend or remove them",
        )
    return tuple(Template(normal, anomalous) for normal, anomalous in given)


def templates_csv(templates: Iterable[Template]) -> str:
    """The same as a file, which a spreadsheet cannot be tricked with."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([neutralise(text) for text in template] for template in templates)
    return stream.getvalue()


def _rows(text: str, source: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The line and the two texts of each row that is not empty, in the order of the columns."""
    header = re.split("[\r\n]", text, maxsplit=1)[0]
    delimiter = next((sign for sign in ";\t" if sign in header), ",")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names = [name.strip().casefold() for name in next(lines, [])]
    if not any(names):
        raise FileError(
            "is empty, or its first line is",
            where=quote(source),
            advice="it must name the two columns normal,anomalous",
        )
    if sorted(names) != sorted(_COLUMNS):
        raise DataError(
            f"the first line of {quote(source)} is {quote(header.strip())}",
            advice="it must name the two columns normal,anomalous",
        )
    order = [names.index(name) for name in _COLUMNS]
    for cells in lines:
        if any(cell.strip() for cell in cells):
            wide = len(cells) != len(names)
            yield (
                lines.line_num,
                tuple(cells) if wide else tuple(restore_text(cells[i]) for i in order),
            )


def _fault(row: Sequence[str]) -> str | None:
    """What is wrong with a pair, if anything is."""
    if len(row) != len(_COLUMNS):
        return f"has {len(row)} cells instead of 2 (a text with a comma needs quotes)"
    each = [_text_fault(column, text) for column, text in zip(_COLUMNS, row, strict=True)]
    if any(each):
        return each[0] or each[1]
    if row[0] == row[1]:
        return f"has the same text twice: {quote(row[0])}"
    if not any(PLACE in text for text in row):
        return f"has no {PLACE} where the object's name goes: {quote(row[0])}"
    return None


def _sign_in(text: str) -> str | None:
    """What models take for the end of a text, or for its beginning, wherever it stands."""
    return next((sign for sign in _SIGNS if sign in text), None)


def _text_fault(column: str, text: str) -> str | None:
    if not text:
        return f"has no {column} text"
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters in {column}, {LONGEST_TEXT} are allowed"
    if escape_controls(text) != text:
        return f"has invisible signs in {column}: {quote(text)}"
    if _sign_in(text):
        return f"has {_sign_in(text)} in {column}, {_OF_MODELS}"
    if text.count(PLACE) > 1:
        return f"has {PLACE} more than once in {column}: {quote(text)}"
    return None


SHIPPED: Final = read_templates(
    (Path(__file__).parent / "templates.csv").read_bytes(), "templates.csv"
)
