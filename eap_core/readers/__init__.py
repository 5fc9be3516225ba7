"""Tables from files, with errors that name file, line and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eap_core.errors import DataError
from eap_core.readers.file import File
from eap_core.readers.reading import Reading
from eap_core.readers.signature import accepted_kind
from eap_core.table import Table

__all__ = ["Reading", "read_table"]
AS_FOUND = Reading()


def read_table(path: Path, reading: Reading = AS_FOUND, *, name: str | None = None) -> Table:
    """The rows of a CSV, Parquet, NPZ or NPY file.

    ``name`` is what the person calls the file where it is stored under another name: its ending
    says what is accepted, and messages and made ids use it.
    """
    file = File(path, name or path.name)
    kind = accepted_kind(file)
    try:
        table = _read(file, kind, reading)
    except OSError as error:
        raise DataError(
            f"{file.source} cannot be read — {error.strerror or error} — check the file"
        ) from None
    except MemoryError:
        raise DataError(f"{file.source} needs more memory than there is — split the file") from None
    unused = reading.without_meaning(kind)
    if not unused:
        return table
    note = f"{file.source}: {', '.join(unused)} was stated and has no meaning for {kind} files"
    return replace(table, notes=(*table.notes, note))


def _read(file: File, kind: str, reading: Reading) -> Table:
    # Imported when needed: pyarrow takes longer to import than most tables to read.
    if kind in (".npz", ".npy"):
        from eap_core.readers.numpy_file import read_numpy

        return read_numpy(file, reading)
    if kind == ".parquet":
        from eap_core.readers.parquet import read_parquet

        return read_parquet(file, reading)
    from eap_core.readers.csv_text import read_text

    return read_text(file, reading)
