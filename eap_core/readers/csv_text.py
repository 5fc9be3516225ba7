"""Tables in text files: CSV and its relatives."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.assemble import table_from
from eap_core.readers.contents import Contents, Features
from eap_core.readers.csv_dialect import find_dialect, stated_dialect
from eap_core.readers.csv_encoding import to_utf8
from eap_core.readers.csv_neutral import is_neutral, neutral_columns
from eap_core.readers.csv_numbers import convert
from eap_core.readers.csv_records import Layout, row_lines
from eap_core.readers.csv_split import split
from eap_core.readers.file import File
from eap_core.readers.limits import LONG_CELL
from eap_core.readers.names import check_names
from eap_core.readers.number_text import is_number
from eap_core.readers.reading import Reading
from eap_core.readers.remarks import Remarks
from eap_core.table import Table
from eap_core.writers import original

_COUNTED_NAMES = 3  # 0,1,2 is what pandas writes for nameless columns; 0,1 may well be data


def read_text(file: File, reading: Reading) -> Table:
    """Read text, check it, and convert it column by column."""
    remarks = Remarks(file.source)
    data = to_utf8(file.path.read_bytes(), remarks, reading.encoding)
    layout = _layout(data, reading, remarks)
    names = _names(layout, reading, remarks)
    columns = dict(zip(names, split(data, layout, remarks), strict=True))
    places = partial(_places, data, layout)
    contents = Contents(file.stem, columns, places, remarks, neutral_columns(columns))
    _mention_long_cells(contents)
    return table_from(contents, reading, partial(_convert, layout.delimiter, reading))


def _convert(delimiter: str, reading: Reading, contents: Contents, names: list[str]) -> Features:
    features, notation = convert(contents, names, reading.decimal)
    if delimiter == notation.mark:
        contents.remarks.warn(
            f"'{delimiter}' separates the columns and is the decimal mark of numbers in quotes — "
            "check the numbers"
        )
    elif delimiter != "," or notation.mark != ".":
        contents.remarks.note(
            f"read with {shown(delimiter)} between columns and '{notation.mark}' as decimal mark"
        )
    return features


def _layout(data: bytes, reading: Reading, remarks: Remarks) -> Layout:
    source = remarks.source
    if reading.delimiter is None:
        delimiter, first = find_dialect(data, source, decimal=reading.decimal)
    else:
        delimiter, first = stated_dialect(data, source, reading.delimiter)
    return Layout(source, delimiter, first, named=reading.header is not False)


def _names(layout: Layout, reading: Reading, remarks: Remarks) -> tuple[str, ...]:
    """The columns' names; without a header they are called as in a file of arrays."""
    if not layout.named:
        remarks.note("there is no header, as stated: the columns are called f0, f1, …")
        names = tuple(f"f{j}" for j in range(len(layout.header)))
    else:
        if reading.header is None:
            _check_header(layout, remarks)
        names = layout.header
        if is_neutral(names):
            names = tuple(original(name) for name in names)
            remarks.note("quotes that an export puts before formulas are taken off column names")
    check_names(names, remarks)
    return names


def _places(data: bytes, layout: Layout, rows: list[int]) -> list[str]:
    return [f"line {line:,}" for line in row_lines(data, layout, rows)]


def _check_header(layout: Layout, remarks: Remarks) -> None:
    """Without names the first row would be lost and two files could not be matched."""
    numbers = sum(is_number(name) for name in layout.header)
    counted = [str(j) for j in range(len(layout.header))]
    if numbers == len(layout.header):
        if len(counted) < _COUNTED_NAMES or list(layout.header) != counted:
            raise DataError(
                f"{layout.source} starts with numbers, {listed(list(layout.header), 3)} — "
                "a header is needed: put the names of the columns on the first line, or state "
                "that there is none"
            )
        remarks.warn("the first line, 0, 1, 2, …, is read as column names")
    elif 2 * numbers >= len(layout.header):
        remarks.warn("half of the names on the first line are numbers — is the header missing?")


def _mention_long_cells(contents: Contents) -> None:
    for name, cells in contents.columns.items():
        # Bytes first: that is at hand, and there are never more characters than bytes.
        if pc.max(pc.binary_length(cells)).as_py() <= LONG_CELL:
            continue
        longest = pc.max(pc.utf8_length(cells)).as_py()
        if longest > LONG_CELL:
            contents.remarks.warn(
                f"column {shown(name)} holds a value of {longest:,} characters — kept whole"
            )
