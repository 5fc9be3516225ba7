"""Records to columns of text: with pyarrow where it is sure to be right, else record by record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from eap_core.errors import DataError
from eap_core.readers.csv_records import Layout, Record, rows
from eap_core.readers.limits import excess
from eap_core.readers.remarks import Remarks

_BLOCK = 4 * 1024**2
_BATCH_CELLS = 500_000
_LOOK_EVERY = 10_000


def split(data: bytes, layout: Layout, remarks: Remarks) -> list[pa.ChunkedArray]:
    """One column of text per value of the first record."""
    columns = split_fast(data, layout)
    if columns is None:
        columns = split_exact(data, layout, remarks)
    if not len(columns[0]):
        raise DataError(f"{layout.source} has a header but no rows — export it again with its rows")
    return columns


def split_fast(data: bytes, layout: Layout) -> list[pa.ChunkedArray] | None:
    """The columns, or None where pyarrow might see other records than :func:`rows` does."""
    quotes, end = b'"' in data, _end_of_text(data)
    if not _surely_alike(data, end, layout, quotes):
        return None
    numbers = [str(j) for j in range(len(layout.header))]
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(data).slice(0, end)),
            read_options=pa.csv.ReadOptions(column_names=numbers, block_size=_BLOCK),
            parse_options=pa.csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if quotes else False,
                newlines_in_values=quotes,
                ignore_empty_lines=False,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types={number: pa.string() for number in numbers},
                strings_can_be_null=False,
                null_values=[],
                check_utf8=False,  # the bytes are known to be UTF-8
            ),
        )
    except pa.ArrowInvalid:
        return None  # ragged, or a line longer than a block: the exact way decides
    if layout.named and tuple(column[0].as_py() for column in table.columns) != layout.header:
        return None
    columns = table.slice(int(layout.named)).columns
    return None if _has_blank_row(columns) else columns


def split_exact(data: bytes, layout: Layout, remarks: Remarks) -> list[pa.ChunkedArray]:
    """The columns by the definition, in batches so that memory stays near the text's size."""
    skipped: list[int] = []
    found = _limited(rows(data, layout, skipped), layout)
    chunks: list[list[pa.Array]] = [[] for _ in layout.header]
    length = max(1, _BATCH_CELLS // len(layout.header))
    while batch := [record.values for record in islice(found, length)]:
        for chunk, values in zip(chunks, zip(*batch, strict=True), strict=True):
            chunk.append(pa.array(values, pa.string()))
    if skipped:
        remarks.note(f"{len(skipped):,} blank lines passed over, the first is line {skipped[0]:,}")
    return [pa.chunked_array(chunk, pa.string()) for chunk in chunks]


def _limited(found: Iterator[Record], layout: Layout) -> Iterator[Record]:
    width = len(layout.header)
    for count, record in enumerate(found, 1):
        if count % _LOOK_EVERY == 0 and (too_much := excess(count, width)):
            raise DataError(f"{layout.source} has at least {too_much} — split the file")
        yield record


def _surely_alike(data: bytes, end: int, layout: Layout, quotes: bool) -> bool:
    """Whether the text is of the regular kind and within limits."""
    feeds, returns = data.count(b"\n", 0, end), data.count(b"\r", 0, end)
    # pyarrow ends a line at every CR, also at one that stands in a value.
    ends_alike = not feeds or not returns or returns == data.count(b"\r\n", 0, end)
    within = excess(max(feeds, returns), len(layout.header)) is None
    return ends_alike and within and (not quotes or _quotes_are_regular(data, layout.delimiter))


def _quotes_are_regular(data: bytes, delimiter: str) -> bool:
    """Whether every quote opens, closes or is doubled inside a value that is quoted as a whole."""
    edge = re.escape(delimiter.encode())
    quoted = re.compile(
        rb'(?:(?<=[\r\n%b])|\A)"[^"]*+(?:""[^"]*+)*+"(?=[\r\n%b]|\Z)' % (edge, edge)
    )
    return b'"' not in quoted.sub(b"", data)


def _has_blank_row(columns: list[pa.ChunkedArray]) -> bool:
    """Whether some row is all blank, which is also how pyarrow shows a blank line."""
    blank = None
    for column in columns:
        here = pc.equal(pc.binary_length(pc.ascii_trim_whitespace(column)), 0)
        blank = here if blank is None else pc.and_(blank, here)
        if not pc.any(blank).as_py():
            return False
    return True


def _end_of_text(data: bytes) -> int:
    """Where the line ends at the end begin, found without copying the text."""
    end = len(data)
    while end and data[end - 1] in b"\r\n":
        end -= 1
    return end
