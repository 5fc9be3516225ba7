"""Tables in Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eap_core.base.errors import DataError, quote
from eap_core.base.table import Table
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
    MAX_TEXT,
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
_DAMAGED = (pa.ArrowException, OSError, ValueError, OverflowError)


def read_parquet(file: TableFile, reading: Reading) -> Table:
    """Check what the footer says, then read the columns that can be used."""
    remarks = ReadNotes(file.source)
    try:
        columns = _columns(file.path, reading, remarks)
    except DataError:
        raise
    except _DAMAGED:
        raise DataError(
            f"{remarks.source} is a damaged or incomplete Parquet file",
            advice="export it again",
        ) from None
    return table_from(RawColumns(file.stem, columns, row_places, remarks), reading, convert_typed)


def _columns(path: Path, reading: Reading, remarks: ReadNotes) -> dict[str, pa.ChunkedArray]:
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
        raise DataError(
            f"{remarks.source} has no rows",
            advice="export it again with its rows",
        )
    if too_much := explain_excess(footer.num_rows, width):
        raise DataError(f"{remarks.source} has {too_much}", advice="split the file")


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
