"""Tables from files, with errors that name file, line and column."""

from __future__ import annotations

from pathlib import Path

from eap_core.errors import DataError
from eap_core.readers.remarks import Asked, source_name
from eap_core.readers.signature import accepted_kind
from eap_core.table import Table

__all__ = ["read_table"]


def read_table(
    path: Path,
    *,
    label: str | None = None,
    id_column: str | None = None,
    array: str | None = None,
    exclude: tuple[str, ...] = (),
) -> Table:
    """The rows of a CSV, Parquet, NPZ or NPY file.

    ``label`` and ``id_column`` name those columns where their usual names would not be found or
    not be right; ``array`` names the table among several in an NPZ file and is of no meaning for
    other files; ``exclude`` names columns that, where they
    exist, are no features and travel along as text.
    """
    asked = Asked(label=label, id_column=id_column, array=array, exclude=tuple(exclude))
    kind = accepted_kind(path)
    try:
        return _read(path, kind, asked)
    except OSError as error:
        raise DataError(
            f"{source_name(path)} cannot be read — {error.strerror or error} — check the file"
        ) from None
    except MemoryError:
        raise DataError(
            f"{source_name(path)} needs more memory than there is — split the file"
        ) from None


def _read(path: Path, kind: str, asked: Asked) -> Table:
    # Imported when needed: pyarrow takes longer to import than most tables to read.
    if kind in (".npz", ".npy"):
        from eap_core.readers.numpy_file import read_numpy

        return read_numpy(path, asked)
    if kind == ".parquet":
        from eap_core.readers.parquet import read_parquet

        return read_parquet(path, asked)
    from eap_core.readers.csv_text import read_text

    return read_text(path, asked)
