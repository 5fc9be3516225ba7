"""Tables from files, with errors that name file, line and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eap_core.base.errors import FileError
from eap_core.base.table import Table
from eap_core.readers.files import Reading, TableFile, check_kind

__all__ = ["Reading", "read_table"]
AS_FOUND = Reading()


def read_table(path: str | Path, reading: Reading = AS_FOUND, *, name: str | None = None) -> Table:
    """The rows of a CSV, Parquet, NPZ or NPY file.

    ``name`` is what the person calls the file where it is stored under another name: its ending
    says what is accepted, and messages and made ids use it.

    >>> import tempfile, eap_core as eap
    >>> path = Path(tempfile.mkdtemp()) / "parts.csv"
    >>> _ = path.write_text("id,length,width,label\\na,1.5,2,0\\nb,1.25,3,0\\nc,9.75,4,1\\n")
    >>> table = eap.read_table(path)
    >>> table.columns, table.labels.tolist()
    (('length', 'width'), [0, 0, 1])
    """
    path = Path(path)
    file = TableFile(path, name or path.name)
    kind = check_kind(file)
    try:
        table = _read(file, kind, reading)
    except OSError as error:
        raise FileError(
            f"cannot be read — {error.strerror or error}",
            where=file.source,
            advice="check the file",
        ) from None
    except MemoryError:
        raise FileError(
            "needs more memory than there is",
            where=file.source,
            advice="split the file",
        ) from None
    unused = reading.without_meaning(kind)
    if not unused:
        return table
    note = f"{file.source}: {', '.join(unused)} was stated and has no meaning for {kind} files"
    return replace(table, notes=(*table.notes, note))


def _read(file: TableFile, kind: str, reading: Reading) -> Table:
    # Imported when needed: pyarrow takes longer to import than most tables to read.
    if kind in (".npz", ".npy"):
        from eap_core.readers.binary import read_numpy

        return read_numpy(file, reading)
    if kind == ".parquet":
        from eap_core.readers.binary import read_parquet

        return read_parquet(file, reading)
    from eap_core.readers.csv import read_text

    return read_text(file, reading)
