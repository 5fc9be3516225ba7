"""Tables in NPZ and NPY files."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eap_core.errors import DataError, listed, shown
from eap_core.readers.assemble import table_from
from eap_core.readers.columns import is_metadata
from eap_core.readers.contents import Contents, row_places
from eap_core.readers.file import File
from eap_core.readers.limits import excess
from eap_core.readers.names import check_names
from eap_core.readers.npy_header import ArrayHeader, read_header
from eap_core.readers.npz_archive import Store, open_archive, read_array
from eap_core.readers.reading import Reading
from eap_core.readers.remarks import Remarks
from eap_core.readers.typed import check_text, convert_typed
from eap_core.table import Floats, Table

# Everything zipfile, its codecs and numpy raise for a damaged file.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    pa.ArrowException,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)
_TABLE, _LABELS, _IDS, _COLUMNS = "X", "y", "ids", "columns"
_WANTED = "a 2-d array of real numbers, one row per item, is wanted"


def read_numpy(file: File, reading: Reading) -> Table:
    """Find the table among the arrays, and the labels, ids and column names beside it."""
    remarks = Remarks(file.source)
    opened = _open_array(file) if file.ending == ".npy" else open_archive(file.path, remarks)
    try:
        with opened as store:
            columns = _columns(store, reading, remarks)
    except DataError:
        raise
    except _DAMAGED:
        raise DataError(
            f"{remarks.source} is a damaged or incomplete NumPy file — save it again"
        ) from None
    return table_from(Contents(file.stem, columns, row_places, remarks), reading, convert_typed)


@dataclass(frozen=True)
class _Single:
    path: Path
    headers: dict[str, ArrayHeader]

    def load(self, header: ArrayHeader) -> npt.NDArray[np.generic]:
        with self.path.open("rb") as stream:
            return read_array(stream, header)


@contextmanager
def _open_array(file: File) -> Iterator[Store]:
    with file.path.open("rb") as stream:
        header = read_header(stream, file.stem, file.path.stat().st_size, file.source)
    yield _Single(file.path, {file.stem: header})


def _columns(store: Store, reading: Reading, remarks: Remarks) -> dict[str, pa.ChunkedArray]:
    table = _choose(store.headers, reading.array, remarks.source)
    _check_table(table, remarks.source)
    beside = _beside(store, table, reading, remarks.source)
    names = _names(store, table, remarks.source)
    check_names([*names, *beside], remarks)
    unused = [n for n in store.headers if n not in (table.name, _COLUMNS, *beside)]
    if unused:
        remarks.note(f"array {listed(unused)} is not used")
    if table.dtype.kind == "b":
        remarks.note(f"array {shown(table.name)} is read as true = 1 and false = 0")
    values = _floats(store, table, names, remarks.source)
    columns = {name: pa.chunked_array([pa.array(values[:, j])]) for j, name in enumerate(names)}
    for name, header in beside.items():
        columns[name] = _column(store, header, remarks)
    return columns


def _choose(headers: dict[str, ArrayHeader], asked: str | None, source: str) -> ArrayHeader:
    """The array that was asked for, is called X, or is the only one that can be the table."""
    seen = ", ".join(f"{shown(h.name)} ({h.size})" for h in list(headers.values())[:5])
    if not headers:
        raise DataError(f"{source} holds no arrays — {_WANTED}")
    if asked is not None and len(headers) > 1 and asked not in headers:
        raise DataError(f"{source} has no array {shown(asked)} — it has {seen}")
    name = asked if asked in headers else _TABLE
    if name in headers:
        return headers[name]
    if len(headers) == 1:
        return next(iter(headers.values()))
    tables = [header for header in headers.values() if len(header.shape) == 2]
    if len(tables) != 1:
        raise DataError(f"{source} holds several arrays and none called 'X' — {seen} — say which")
    return tables[0]


def _check_table(header: ArrayHeader, source: str) -> None:
    fits = len(header.shape) == 2 and header.dtype.kind in "biuf" and all(header.shape)
    if not fits:
        raise DataError(f"{source}: {header} is no table — {_WANTED}")
    if too_much := excess(*header.shape):
        raise DataError(f"{source}: {header} has {too_much} — split it")


def _beside(
    store: Store, table: ArrayHeader, reading: Reading, source: str
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
                f"{source}: {header} does not fit the table — a 1-d array with a number or text "
                f"for each of the {table.shape[0]:,} rows is wanted"
            )
        found[name] = header
    return found


def _names(store: Store, table: ArrayHeader, source: str) -> list[str]:
    header = store.headers.get(_COLUMNS)
    width = table.shape[1]
    if header is None or header is table:
        return [f"f{j}" for j in range(width)]
    if header.shape != (width,) or header.dtype.kind not in "US":
        raise DataError(
            f"{source}: {header} does not fit the table — a 1-d array with {width:,} names is "
            "wanted"
        )
    return _texts(store.load(header))


def _column(store: Store, header: ArrayHeader, remarks: Remarks) -> pa.ChunkedArray:
    values = store.load(header)
    if header.dtype.kind in "US":
        column = pa.chunked_array([pa.array(_texts(values), pa.string())])
        check_text(header.name, column, remarks)
        return column
    wide = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.bool_}
    return pa.chunked_array([pa.array(values.astype(wide[header.dtype.kind]))])


def _texts(values: npt.NDArray[np.generic]) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist()]


def _floats(store: Store, table: ArrayHeader, names: list[str], source: str) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
        values = np.asfortranarray(store.load(table), dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        row, j = (int(n) for n in np.argwhere(infinite)[0])
        raise DataError(
            f"{source}: {table} holds {shown(values[row, j].item())} — row {row + 1:,}, "
            f"column {shown(names[j])} — finite numbers are wanted: correct or remove these rows"
        )
    return values
