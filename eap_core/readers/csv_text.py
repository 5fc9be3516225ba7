"""Tables in text files: CSV and its relatives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.assemble import table_from
from eap_core.readers.contents import Contents, Features
from eap_core.readers.csv_dialect import find_dialect
from eap_core.readers.csv_encoding import to_utf8
from eap_core.readers.csv_numbers import convert
from eap_core.readers.csv_records import Layout, row_lines
from eap_core.readers.csv_split import split
from eap_core.readers.limits import LONG_CELL
from eap_core.readers.names import check_names
from eap_core.readers.number_text import is_number
from eap_core.readers.remarks import Asked, Remarks, source_name
from eap_core.table import Table

_COUNTED_NAMES = 3  # 0,1,2 is what pandas writes for nameless columns; 0,1 may well be data


def read_text(path: Path, asked: Asked) -> Table:
    """Read text, check it, and convert it column by column."""
    remarks = Remarks(source_name(path))
    data = to_utf8(path.read_bytes(), remarks)
    layout = Layout(remarks.source, *find_dialect(data, remarks.source))
    _check_header(layout, remarks)
    contents = Contents(path, split(data, layout, remarks), partial(_places, data, layout), remarks)
    _mention_long_cells(contents)
    return table_from(contents, asked, partial(_convert, layout.delimiter))


def _convert(delimiter: str, contents: Contents, names: list[str]) -> Features:
    features, notation = convert(contents, names)
    if delimiter != "," or notation.mark != ".":
        contents.remarks.note(
            f"read with {shown(delimiter)} between columns and '{notation.mark}' as decimal mark"
        )
    return features


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
                "a header is needed: put the names of the columns on the first line"
            )
        remarks.warn("the first line, 0, 1, 2, …, is read as column names")
    elif 2 * numbers >= len(layout.header):
        remarks.warn("half of the names on the first line are numbers — is the header missing?")
    check_names(layout.header, remarks)


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
