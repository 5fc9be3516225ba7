"""Tables in text files: CSV and its relatives."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import dropwhile, islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from eap_core.base.errors import DataError, FileError, list_names, quote
from eap_core.base.files import restore_text
from eap_core.base.table import Table
from eap_core.readers.columns import check_names, table_from
from eap_core.readers.files import (
    LONG_CELL,
    MAX_COLUMNS,
    MAX_NAME,
    Features,
    RawColumns,
    Reading,
    ReadNotes,
    TableFile,
    codec_name,
    explain_excess,
    is_neutral,
    marked_encoding,
    neutral_columns,
)
from eap_core.readers.numbers import convert, is_number

# Text to records, exactly and with line numbers; the definition the fast splitter must meet.

_UP_TO_QUOTE = re.compile(r'[^"]*+(?:""[^"]*+)*+')
_MOST_VALUES = 10 * MAX_COLUMNS  # above the limit, so that its message can give the number
_RAGGED_SHOWN, _RAGGED_LOOKED_AT = 3, 1_000


class Record(NamedTuple):
    """The values of one record and the line, from 1, on which it starts; no values: blank line."""

    line: int
    values: list[str]


class CsvLayout(NamedTuple):
    """What is needed to take a text apart; ``named``: its first record holds the names."""

    source: str
    delimiter: str
    header: tuple[str, ...]
    named: bool = True


def lines_of(data: bytes, encoding: str = "utf-8") -> Iterable[str]:
    """Physical lines with their ends: LF or CRLF, or CR in a file that has no LF at all."""
    end = "\n" if b"\n" in data else "\r"
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline=end)


def read_records(lines: Iterable[str], delimiter: str, source: str) -> Iterator[Record]:
    """Every record and every blank line."""
    blank = " \t\r\n".replace(delimiter, "")
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if not line.strip(blank):
            yield Record(number, [])
        elif '"' in line:
            yield Record(number, _read_quoted(line, number, numbered, delimiter, source))
        else:
            if line.count(delimiter) > _MOST_VALUES:
                raise _too_wide(number, source)
            yield Record(number, line.rstrip("\r\n").split(delimiter))


def read_rows(data: bytes, layout: CsvLayout, skipped: list[int] | None = None) -> Iterator[Record]:
    """The records below the header, if there is one, each with one value per column.

    Blank lines between rows are no rows and are reported in ``skipped``, except between the
    values of a one-column table: there they are missing values.
    """
    width = len(layout.header)
    found = read_records(lines_of(data), layout.delimiter, layout.source)
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
            raise _explain_ragged(record, found, layout)
        yield record


def number_lines(data: bytes, layout: CsvLayout, wanted: list[int]) -> list[int]:
    """The lines on which the given rows start."""
    last = max(wanted)
    lines = {
        row: record.line
        for row, record in enumerate(islice(read_rows(data, layout), last + 1))
        if row == last or row in wanted
    }
    return [lines[row] for row in wanted]


def _read_quoted(
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
                rest = quote(line[end : min(stop, end + MAX_NAME)])
                raise DataError(
                    f"text follows a closing quote — line {number:,}, {rest}",
                    where=source,
                    advice='write a quote inside a quoted value twice ("")',
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
        f"line {number:,} has more than {_MOST_VALUES:,} values; limit is {MAX_COLUMNS:,} columns",
        where=source,
        advice="keep only the columns that are needed",
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
                f"a quote is opened and never closed — line {opened:,}",
                where=source,
                advice="close or remove it",
            )
        (number, line), position = following, 0


def _explain_ragged(first: Record, more: Iterator[Record], layout: CsvLayout) -> DataError:
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
    return FileError(
        f"has lines that do not fit its header — {where}{more_text}",
        where=layout.source,
        advice="give every line one value per column and remove comments and totals",
    )


# Which character separates the columns of a text.

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
            f"the stated delimiter {quote(delimiter)} is not on the first line, {quote(first[0])}",
            where=source,
            advice=f"{quote(other)} seems to separate the columns: state that, or leave it open",
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
        found.extend(islice(_read_filled(lines, delimiter, source), _SAMPLE))
    except DataError:
        return found, False
    return found, True


def _first_record(data: bytes, delimiter: str, source: str, encoding: str) -> tuple[str, ...]:
    first = tuple(next(_read_filled(lines_of(data, encoding), delimiter, source), ()))
    if not first:
        raise FileError(
            "contains no data, only blank lines",
            where=source,
            advice="export it again",
        )
    return first


def _read_filled(lines: Iterable[str], delimiter: str, source: str) -> Iterator[list[str]]:
    return (record.values for record in read_records(lines, delimiter, source) if record.values)


# Bytes of any usual encoding to checked UTF-8.

_LETTERS = rb"A-Za-z\x8a\x8c\x8e\x9a\x9c\x9e\x9f\xc0-\xd6\xd8-\xf6\xf8-\xff"
_SIGNS = rb"\x80\x83\x86-\x89\x98\x99\xa2-\xa9\xac-\xaf\xb4\xb6\xb8"
# What no Windows-1252 text holds: undefined bytes, marks of UTF-16, a sign inside a word.
_IMPLAUSIBLE = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|\xff\xfe|\xfe\xff|(?<=[%b])[%b]+(?=[%b])"
    % (_LETTERS, _SIGNS, _LETTERS)
)
_UTF8_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)


def to_utf8(data: bytes, remarks: ReadNotes, stated: str | None = None) -> bytes:
    """The same text as UTF-8 without a byte order mark and without NUL."""
    if stated is not None:
        data = _decode_as_stated(data, codec_name(stated), remarks)
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = _decode_utf16(data, remarks)
    data = data.removeprefix(codecs.BOM_UTF8)
    if stated is None and not data.isascii():
        data = _decode_utf8_or_cp1252(data, remarks)
    if b"\x00" in data:
        where = _whereabouts(data, data.index(b"\x00"), remarks.source)
        raise FileError(
            f"holds a NUL byte — {where}",
            where=remarks.source,
            advice="save it as UTF-8 text",
        )
    return data


def _decode_as_stated(data: bytes, codec: str, remarks: ReadNotes) -> bytes:
    marked = marked_encoding(data)
    if marked is not None and not codec.startswith(marked):
        raise FileError(
            f"starts with the mark of {marked.upper()}, which is not the stated {codec}",
            where=remarks.source,
            advice=f"state {marked}, or leave the encoding open",
        )
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        if codec.startswith("utf-8"):
            raise _explain_broken(data, error.start, remarks.source) from None
        line = data[: error.start].decode(codec, "replace").count("\n") + 1
        raise FileError(
            f"is not written in the stated {codec}: {quote(str(error.reason))} — line {line:,}",
            where=remarks.source,
            advice="state another encoding, or leave it open",
        ) from None
    if not codec.startswith("utf") and not data.isascii() and _is_utf8(data):
        remarks.warn(f"read as {codec} as stated, but its bytes are also valid UTF-8 — check it")
    else:
        remarks.note(f"read as {codec}, as stated")
    return text.encode()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_utf16(data: bytes, remarks: ReadNotes) -> bytes:
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError as error:
        line = data[: error.start // 2 * 2].decode("utf-16", "replace").count("\n") + 1
        raise FileError(
            f"is broken UTF-16 — line {line:,}",
            where=remarks.source,
            advice="save it as UTF-8 text",
        ) from None
    remarks.note("read as UTF-16")
    return text.encode()


def _decode_utf8_or_cp1252(data: bytes, remarks: ReadNotes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if _UTF8_LETTER.search(data):  # it is UTF-8, but for this byte
            raise _explain_broken(data, error.start, remarks.source) from None
        if implausible := _IMPLAUSIBLE.search(data):
            raise _explain_broken(data, implausible.start(), remarks.source) from None
        remarks.note("read as Windows-1252, because it is not UTF-8")
        return data.decode("cp1252").encode()
    return data


def _explain_broken(data: bytes, offset: int, source: str) -> DataError:
    where = _whereabouts(data, offset, source)
    value = repr(data[offset : offset + 4])[2:-1]
    return FileError(
        f"holds bytes that are no text, {quote(value)} — {where}",
        where=source,
        advice="save it as UTF-8 text",
    )


def _whereabouts(data: bytes, offset: int, source: str) -> str:
    """The line of a byte, and its column where the line alone tells it."""
    number, line, start = 0, "", 0
    for line in lines_of(data, "latin-1"):
        number += 1
        if start + len(line) > offset:
            break
        start += len(line)
    place = f"line {number:,}"
    delimiter, header = find_dialect(data, source, "latin-1")
    try:
        whole = next(read_records([line], delimiter, source)).values
        until = next(read_records([line[: offset - start + 1]], delimiter, source)).values
    except DataError:  # the byte is inside quotes
        return place
    if number == 1 or len(whole) != len(header) or not until:
        return place
    name = header[len(until) - 1].encode("latin-1").decode("utf-8", "replace")
    return f"{place}, column {quote(name)}"


# Records to columns of text: with pyarrow where it is sure to be right, else record by record.

_BLOCK = 4 * 1024**2
_BATCH_CELLS = 500_000
_LOOK_EVERY = 10_000


def split(data: bytes, layout: CsvLayout, remarks: ReadNotes) -> list[pa.ChunkedArray]:
    """One column of text per value of the first record."""
    columns = split_fast(data, layout)
    if columns is None:
        columns = split_exact(data, layout, remarks)
    if not len(columns[0]):
        raise FileError(
            "has a header but no rows",
            where=layout.source,
            advice="export it again with its rows",
        )
    return columns


def split_fast(data: bytes, layout: CsvLayout) -> list[pa.ChunkedArray] | None:
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


def split_exact(data: bytes, layout: CsvLayout, remarks: ReadNotes) -> list[pa.ChunkedArray]:
    """The columns by the definition, in batches so that memory stays near the text's size."""
    skipped: list[int] = []
    found = _limit_records(read_rows(data, layout, skipped), layout)
    chunks: list[list[pa.Array]] = [[] for _ in layout.header]
    length = max(1, _BATCH_CELLS // len(layout.header))
    while batch := [record.values for record in islice(found, length)]:
        for chunk, values in zip(chunks, zip(*batch, strict=True), strict=True):
            chunk.append(pa.array(values, pa.string()))
    if skipped:
        remarks.note(f"{len(skipped):,} blank lines passed over, the first is line {skipped[0]:,}")
    return [pa.chunked_array(chunk, pa.string()) for chunk in chunks]


def _limit_records(found: Iterator[Record], layout: CsvLayout) -> Iterator[Record]:
    width = len(layout.header)
    for count, record in enumerate(found, 1):
        if count % _LOOK_EVERY == 0 and (too_much := explain_excess(count, width)):
            raise FileError(
                f"has at least {too_much}",
                where=layout.source,
                advice="split the file",
            )
        yield record


def _surely_alike(data: bytes, end: int, layout: CsvLayout, quotes: bool) -> bool:
    """Whether the text is of the regular kind and within limits."""
    feeds, returns = data.count(b"\n", 0, end), data.count(b"\r", 0, end)
    # pyarrow ends a line at every CR, also at one that stands in a value.
    ends_alike = not feeds or not returns or returns == data.count(b"\r\n", 0, end)
    within = explain_excess(max(feeds, returns), len(layout.header)) is None
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


_COUNTED_NAMES = 3  # 0,1,2 is what pandas writes for nameless columns; 0,1 may well be data


def read_text(file: TableFile, reading: Reading) -> Table:
    """Read text, check it, and convert it column by column."""
    remarks = ReadNotes(file.source)
    data = to_utf8(file.path.read_bytes(), remarks, reading.encoding)
    layout = _layout(data, reading, remarks)
    names = _names(layout, reading, remarks)
    columns = dict(zip(names, split(data, layout, remarks), strict=True))
    places = partial(_places, data, layout)
    contents = RawColumns(file.stem, columns, places, remarks, neutral_columns(columns))
    _mention_long_cells(contents)
    return table_from(contents, reading, partial(_convert, layout.delimiter, reading))


def _convert(delimiter: str, reading: Reading, contents: RawColumns, names: list[str]) -> Features:
    features, notation = convert(contents, names, reading.decimal)
    if delimiter == notation.mark:
        contents.remarks.warn(
            f"'{delimiter}' separates the columns and is the decimal mark of numbers in quotes — "
            "check the numbers"
        )
    elif delimiter != "," or notation.mark != ".":
        contents.remarks.note(
            f"read with {quote(delimiter)} between columns and '{notation.mark}' as decimal mark"
        )
    return features


def _layout(data: bytes, reading: Reading, remarks: ReadNotes) -> CsvLayout:
    source = remarks.source
    if reading.delimiter is None:
        delimiter, first = find_dialect(data, source, decimal=reading.decimal)
    else:
        delimiter, first = stated_dialect(data, source, reading.delimiter)
    return CsvLayout(source, delimiter, first, named=reading.header is not False)


def _names(layout: CsvLayout, reading: Reading, remarks: ReadNotes) -> tuple[str, ...]:
    """The columns' names; without a header they are called as in a file of arrays."""
    if not layout.named:
        remarks.note("there is no header, as stated: the columns are called f0, f1, …")
        names = tuple(f"f{j}" for j in range(len(layout.header)))
    else:
        if reading.header is None:
            _check_header(layout, remarks)
        names = layout.header
        if is_neutral(names):
            names = tuple(restore_text(name) for name in names)
            remarks.note("quotes that an export puts before formulas are taken off column names")
    check_names(names, remarks)
    return names


def _places(data: bytes, layout: CsvLayout, rows: list[int]) -> list[str]:
    return [f"line {line:,}" for line in number_lines(data, layout, rows)]


def _check_header(layout: CsvLayout, remarks: ReadNotes) -> None:
    """Without names the first row would be lost and two files could not be matched."""
    numbers = sum(is_number(name) for name in layout.header)
    counted = [str(j) for j in range(len(layout.header))]
    if numbers == len(layout.header):
        if len(counted) < _COUNTED_NAMES or list(layout.header) != counted:
            raise FileError(
                f"starts with numbers, {list_names(list(layout.header), 3)}",
                where=layout.source,
                advice="a header is needed: put the names of the columns on the first line, or "
                "state that there is none",
            )
        remarks.warn("the first line, 0, 1, 2, …, is read as column names")
    elif 2 * numbers >= len(layout.header):
        remarks.warn("half of the names on the first line are numbers — is the header missing?")


def _mention_long_cells(contents: RawColumns) -> None:
    for name, cells in contents.columns.items():
        # Bytes first: that is at hand, and there are never more characters than bytes.
        if pc.max(pc.binary_length(cells)).as_py() <= LONG_CELL:
            continue
        longest = pc.max(pc.utf8_length(cells)).as_py()
        if longest > LONG_CELL:
            contents.remarks.warn(
                f"column {quote(name)} holds a value of {longest:,} characters — kept whole"
            )
