"""Tables in binary files: Parquet, NPZ and NPY."""

from __future__ import annotations

import math
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol
from zipfile import BadZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib import format as npy

from eap_core.base.archive import (
    LongDirectoryError,
    MemberStream,
    PackedMember,
    ZipDirectory,
    ZipLimits,
    find_fault,
    place_members,
    read_directory,
)
from eap_core.base.errors import DataError, FileError, list_names, quote
from eap_core.base.table import Floats, Table
from eap_core.readers.columns import (
    check_names,
    check_text,
    convert_typed,
    is_metadata,
    is_numeric,
    is_text,
    table_from,
)
from eap_core.readers.files import (
    MAX_BYTES,
    MAX_DIRECTORY,
    MAX_MEMBERS,
    MAX_RATIO,
    MAX_TEXT,
    RATIO_COUNTS_FROM,
    RawColumns,
    Reading,
    ReadNotes,
    TableFile,
    explain_excess,
    row_places,
)
from eap_core.readers.numbers import first_true

_SHOWN = 5
# Everything pyarrow raises for a damaged file; a name that is no UTF-8 is a ValueError.
_DAMAGED_PARQUET = (pa.ArrowException, OSError, ValueError, OverflowError)


def read_parquet(file: TableFile, reading: Reading) -> Table:
    """Check what the footer says, then read the columns that can be used."""
    remarks = ReadNotes(file.source)
    try:
        columns = _stored_columns(file.path, reading, remarks)
    except DataError:
        raise
    except _DAMAGED_PARQUET:
        raise FileError(
            "is a damaged or incomplete Parquet file",
            where=remarks.source,
            advice="export it again",
        ) from None
    return table_from(RawColumns(file.stem, columns, row_places, remarks), reading, convert_typed)


def _stored_columns(path: Path, reading: Reading, remarks: ReadNotes) -> dict[str, pa.ChunkedArray]:
    with pq.ParquetFile(path) as file:
        schema, footer = file.schema_arrow, file.metadata
    _check_size(footer, len(schema), remarks)
    check_names(schema.names, remarks)
    odd = [field for field in schema if not _is_accepted(field, reading)]
    wanted = [field.name for field in schema if field not in odd]
    texts = [name for name in wanted if is_text(_value_type(schema.field(name).type))]
    # As dictionaries, because a text written once can stand in a million rows.
    with pq.ParquetFile(path, metadata=footer, read_dictionary=texts) as file:
        table = _read(file, wanted, footer.num_rows)
    if odd:
        raise _refusal(odd, table, reading, remarks)
    return {name: _usable(name, table.column(name), remarks) for name in wanted}


def _check_size(footer: pq.FileMetaData, width: int, remarks: ReadNotes) -> None:
    if not footer.num_rows:
        raise FileError(
            "has no rows",
            where=remarks.source,
            advice="export it again with its rows",
        )
    if too_much := explain_excess(footer.num_rows, width):
        raise FileError(f"has {too_much}", where=remarks.source, advice="split the file")


def _is_accepted(field: pa.Field, reading: Reading) -> bool:
    kind = _value_type(field.type)
    travels = field.name in reading.exclude or is_metadata(field.name, reading)
    return bool(is_numeric(kind) or is_text(kind) or (travels and pa.types.is_temporal(kind)))


def _refusal(
    odd: list[pa.Field], table: pa.Table, reading: Reading, remarks: ReadNotes
) -> DataError:
    """One error for all columns of other types and for what is missing beside them."""
    found = [f"column {quote(field.name)} is of the type {quote(str(field.type))}" for field in odd]
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and name not in reading.exclude:
            [place] = row_places([first_true(pc.is_null(column)) or 0])
            found.append(f"column {quote(name)} has a missing value in {place}")
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return DataError(
        f"{'; '.join(found[:_SHOWN])}{more}",
        where=remarks.source,
        advice="numbers, true/false and text are accepted: convert or remove these columns (times "
        "can also be excluded)",
    )


def _read(file: pq.ParquetFile, wanted: list[str], rows: int) -> pa.Table:
    """All rows the footer promises; a damaged file may hold fewer, or millions more.

    The footer's word on single columns is not asked: pyarrow ends the whole process when it is
    damaged there.
    """
    batches, left = [], rows
    for batch in file.iter_batches(columns=wanted):
        left -= batch.num_rows
        if left < 0:
            break
        batches.append(batch)
    if left:
        raise ValueError("the rows do not add up to what the footer says")
    return pa.Table.from_batches(batches)


def _usable(name: str, column: pa.ChunkedArray, remarks: ReadNotes) -> pa.ChunkedArray:
    """Text and numbers without dictionaries, times as text."""
    kind = _value_type(column.type)
    if is_text(kind) and _bytes_of(column) > MAX_TEXT:
        raise DataError(
            f"the text in column {quote(name)} has more than {MAX_TEXT:,} bytes",
            where=remarks.source,
            advice="remove the column",
        )
    if is_text(kind) or pa.types.is_temporal(kind):
        column = pc.cast(column, pa.string())
        column.validate(full=True)  # text from a file may be no UTF-8
        check_text(name, column, remarks)
        return column
    return pc.cast(column, kind)


def _bytes_of(column: pa.ChunkedArray) -> int:
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
        else:
            lengths = pc.binary_length(chunk)
        total += pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
    return total


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# What an array in an NPY file claims to be, checked before any of it is read.

# numpy evaluates a header as a literal, which a hostile one can break in any of these ways.
_BROKEN_HEADER = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
    OverflowError,
    EOFError,
    Warning,
)
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class ByteStream(Protocol):
    """What is read from start to end: a file, or a member of an archive."""

    def read(self, size: int = ..., /) -> bytes: ...

    def tell(self) -> int: ...


@dataclass(frozen=True)
class ArrayHeader:
    """Name, shape and type of an array, and where in its file the values start."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    fortran_order: bool
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def size(self) -> str:
        """The shape as people write it."""
        return "×".join(f"{n}" for n in self.shape) or "a single value"

    def __str__(self) -> str:
        return f"array {quote(self.name)} of shape {self.shape} and type {self.dtype}"


def read_header(stream: ByteStream, name: str, size: int, source: str) -> ArrayHeader:
    """The header of an array that takes ``size`` bytes in all, if its claims fit that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy mends headers of Python 2 with a warning
            version = npy.read_magic(stream)
            shape, fortran_order, dtype = _READERS[version](stream)
    except _BROKEN_HEADER:
        raise DataError(
            f"array {quote(name)} has a damaged or unknown header",
            where=source,
            advice="save it again with numpy.save or numpy.savez",
        ) from None
    header = ArrayHeader(name, shape, dtype, fortran_order, stream.tell())
    if dtype.hasobject:
        raise DataError(
            f"array {quote(name)} holds Python objects, which are never loaded",
            where=source,
            advice="save it as numbers or text",
        )
    if min(shape, default=0) < 0 or header.start + header.nbytes != size:
        raise DataError(
            f"{header} claims {header.nbytes:,} bytes but has {max(0, size - header.start):,}",
            where=source,
            advice="the file is damaged: save it again",
        )
    return header


# Arrays of an NPZ archive: all sizes and claims are checked before anything is inflated.

_CHUNK = 1024**2
_LIMITS = ZipLimits(MAX_BYTES, MAX_RATIO, RATIO_COUNTS_FROM)


class NpzMember(Protocol):
    """Arrays that can be looked at before one is loaded."""

    @property
    def headers(self) -> dict[str, ArrayHeader]: ...

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]: ...


@dataclass(frozen=True)
class _Archive:
    file: IO[bytes]
    places: Mapping[str, PackedMember]
    headers: dict[str, ArrayHeader]

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]:
        """The array, read in pieces so that a lying size costs no memory."""
        return read_array(MemberStream(self.file, self.places[header.name]), header)


@contextmanager
def open_archive(path: Path, remarks: ReadNotes) -> Iterator[NpzMember]:
    """The arrays of an NPZ file."""
    with path.open("rb") as file:
        directory = _directory(file, remarks.source)
        _check_members(directory.entries, path.stat().st_size, remarks)
        places, headers = {}, {}
        for entry, place in zip(directory.entries, place_members(directory), strict=True):
            if entry.filename.endswith(".npy"):
                name = entry.filename.removesuffix(".npy")
                stream = MemberStream(file, place)
                headers[name] = read_header(stream, name, place.size, remarks.source)
                places[name] = place
        yield _Archive(file, places, headers)


def read_array(stream: ByteStream, header: ArrayHeader) -> npt.NDArray[np.generic]:
    """The values behind the header, exactly as many bytes as it claims."""
    left = header.start + header.nbytes
    held = bytearray()
    while piece := stream.read(min(_CHUNK, left)):
        held += piece
        left -= len(piece)
    if left or stream.read(1):  # at its end a member is compared with its checksum
        raise EOFError("fewer bytes than claimed, or more")
    values = np.frombuffer(held, dtype=header.dtype, offset=header.start)
    return values.reshape(header.shape, order="F" if header.fortran_order else "C")


def _directory(file: IO[bytes], source: str) -> ZipDirectory:
    try:
        return read_directory(file, MAX_DIRECTORY)
    except LongDirectoryError:
        raise FileError(
            f"holds too many files; limit is {MAX_MEMBERS:,}",
            where=source,
            advice="split it",
        ) from None


def _check_members(members: Sequence[ZipInfo], size: int, remarks: ReadNotes) -> None:
    source = remarks.source
    if len(members) > MAX_MEMBERS:
        raise FileError(
            f"holds {len(members):,} files; limit is {MAX_MEMBERS:,}",
            where=source,
            advice="split it",
        )
    if len({member.filename for member in members}) < len(members):
        raise FileError("holds two arrays of one name", where=source, advice="save it again")
    for member in members:
        _check_member(member, size, source)
    others = [member.filename for member in members if not member.filename.endswith(".npy")]
    if others:
        remarks.note(f"{len(others):,} files that are no arrays are left out")


def _check_member(member: ZipInfo, size: int, source: str) -> None:
    name, packed = quote(member.filename), member.compress_size
    fault = find_fault(member, _LIMITS)
    if fault == "encrypted":
        raise DataError(
            f"{name} is password-protected",
            where=source,
            advice="save it again without",
        )
    if fault == "size":
        raise DataError(
            f"{name} unpacks to {member.file_size:,} bytes; limit is {MAX_BYTES:,}",
            where=source,
            advice="split it",
        )
    if fault == "method" or packed > size:
        raise BadZipFile("packed in another way than NumPy does, or larger than its archive")
    if fault == "ratio":
        raise DataError(
            f"{name} unpacks from {packed:,} to {member.file_size:,} bytes; limit is {MAX_RATIO}:1",
            where=source,
            advice="save it uncompressed with numpy.savez",
        )


# Everything the archive, numpy and Arrow raise for a damaged file.
_DAMAGED_NUMPY = (
    BadZipFile,
    pa.ArrowException,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)
_TABLE, _LABELS, _IDS, _COLUMNS = "X", "y", "ids", "columns"
_WANTED = "a 2-d array of real numbers, one row per item, is wanted"


def read_numpy(file: TableFile, reading: Reading) -> Table:
    """Find the table among the arrays, and the labels, ids and column names beside it."""
    remarks = ReadNotes(file.source)
    opened = _open_array(file) if file.ending == ".npy" else open_archive(file.path, remarks)
    try:
        with opened as store:
            columns = _array_columns(store, reading, remarks)
    except DataError:
        raise
    except _DAMAGED_NUMPY:
        raise FileError(
            "is a damaged or incomplete NumPy file",
            where=remarks.source,
            advice="save it again",
        ) from None
    return table_from(RawColumns(file.stem, columns, row_places, remarks), reading, convert_typed)


@dataclass(frozen=True)
class _Single:
    path: Path
    headers: dict[str, ArrayHeader]

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]:
        with self.path.open("rb") as stream:
            return read_array(stream, header)


@contextmanager
def _open_array(file: TableFile) -> Iterator[NpzMember]:
    with file.path.open("rb") as stream:
        header = read_header(stream, file.stem, file.path.stat().st_size, file.source)
    yield _Single(file.path, {file.stem: header})


def _array_columns(
    store: NpzMember, reading: Reading, remarks: ReadNotes
) -> dict[str, pa.ChunkedArray]:
    table = _choose(store.headers, reading.array, remarks.source)
    _check_table(table, remarks.source)
    beside = _beside(store, table, reading, remarks.source)
    names = _names(store, table, remarks.source)
    check_names([*names, *beside], remarks)
    unused = [n for n in store.headers if n not in (table.name, _COLUMNS, *beside)]
    if unused:
        remarks.note(f"array {list_names(unused)} is not used")
    if table.dtype.kind == "b":
        remarks.note(f"array {quote(table.name)} is read as true = 1 and false = 0")
    values = _floats(store, table, names, remarks.source)
    columns = {name: pa.chunked_array([pa.array(values[:, j])]) for j, name in enumerate(names)}
    for name, header in beside.items():
        columns[name] = _column(store, header, remarks)
    return columns


def _choose(headers: dict[str, ArrayHeader], asked: str | None, source: str) -> ArrayHeader:
    """The array that was asked for, is called X, or is the only one that can be the table."""
    seen = ", ".join(f"{quote(h.name)} ({h.size})" for h in list(headers.values())[:5])
    if not headers:
        raise FileError("holds no arrays", where=source, advice=_WANTED)
    if asked is not None and len(headers) > 1 and asked not in headers:
        raise FileError(f"has no array {quote(asked)}", where=source, advice=f"it has {seen}")
    name = asked if asked in headers else _TABLE
    if name in headers:
        return headers[name]
    if len(headers) == 1:
        return next(iter(headers.values()))
    tables = [header for header in headers.values() if len(header.shape) == 2]
    if len(tables) != 1:
        raise FileError(
            f"holds several arrays and none called 'X' — {seen}",
            where=source,
            advice="say which",
        )
    return tables[0]


def _check_table(header: ArrayHeader, source: str) -> None:
    fits = len(header.shape) == 2 and header.dtype.kind in "biuf" and all(header.shape)
    if not fits:
        raise DataError(f"{header} is no table", where=source, advice=_WANTED)
    if too_much := explain_excess(*header.shape):
        raise DataError(f"{header} has {too_much}", where=source, advice="split it")


def _beside(
    store: NpzMember, table: ArrayHeader, reading: Reading, source: str
) -> dict[str, ArrayHeader]:
    """The arrays with one value per row: labels, ids, metadata and what the caller named."""
    wanted = {reading.label or _LABELS, reading.id_column or _IDS, *reading.exclude}
    wanted |= {*reading.metadata, *reading.categorical, *reading.features}
    found = {}
    for name, header in store.headers.items():
        fits = header.shape == table.shape[:1] and header.dtype.kind in "biufUS"
        if name == table.name or not (name in wanted or (fits and is_metadata(name, reading))):
            continue
        if not fits:
            raise DataError(
                f"{header} does not fit the table",
                where=source,
                advice=f"a 1-d array with a number or text for each of the {table.shape[0]:,} "
                "rows is wanted",
            )
        found[name] = header
    return found


def _names(store: NpzMember, table: ArrayHeader, source: str) -> list[str]:
    header = store.headers.get(_COLUMNS)
    width = table.shape[1]
    if header is None or header is table:
        return [f"f{j}" for j in range(width)]
    if header.shape != (width,) or header.dtype.kind not in "US":
        raise DataError(
            f"{header} does not fit the table",
            where=source,
            advice=f"a 1-d array with {width:,} names is wanted",
        )
    return _texts(store.load(header))


def _column(store: NpzMember, header: ArrayHeader, remarks: ReadNotes) -> pa.ChunkedArray:
    values = store.load(header)
    if header.dtype.kind in "US":
        column = pa.chunked_array([pa.array(_texts(values), pa.string())])
        check_text(header.name, column, remarks)
        return column
    wide = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.bool_}
    return pa.chunked_array([pa.array(values.astype(wide[header.dtype.kind]))])


def _texts(values: npt.NDArray[np.generic]) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist()]


def _floats(store: NpzMember, table: ArrayHeader, names: list[str], source: str) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
        values = np.asfortranarray(store.load(table), dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        row, j = (int(n) for n in np.argwhere(infinite)[0])
        raise DataError(
            f"{table} holds {quote(values[row, j].item())} — row {row + 1:,}, column "
            f"{quote(names[j])}",
            where=source,
            advice="finite numbers are wanted: correct or remove these rows",
        )
    return values
