"""Score tables as files: CSV that a spreadsheet cannot be tricked with, and Parquet."""

from __future__ import annotations

import csv
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from eap_core.errors import DataError, shown

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet runs text that starts like this; one quote in front makes it text again. Cells that
# already carry such quotes get one more, so that reading can always take exactly one away.
_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")


def neutral(text: str) -> str:
    """The text, with a quote in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def original(text: str) -> str:
    """The text before it was made neutral."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def csv_text(frame: pd.DataFrame) -> str:
    """CSV with full-precision numbers and neutral text, the same on every system."""
    safe = frame.copy()
    odd = any("\r" in str(name) for name in safe.columns)
    for name in safe.columns[[not _numeric(frame[c]) for c in frame.columns]]:
        safe[name] = [neutral(str(value)) for value in safe[name]]
        odd = odd or any("\r" in text for text in safe[name])
    safe.columns = [neutral(str(name)) for name in safe.columns]
    # A carriage return alone ends a row for readers, and is only quoted where all text is.
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    return str(safe.to_csv(index=False, lineterminator="\n", quoting=quoting))  # type: ignore[call-overload]


def check_target(
    path: Path, *inputs: Path | None, endings: tuple[str, str] = (".csv", ".parquet")
) -> None:
    """Refuse, before any work, a file that could not be written or would overwrite an input."""
    if path.suffix.lower() not in endings:
        raise DataError(
            f"{shown(path.name)} cannot be written — the output must end in {' or '.join(endings)}"
        )
    if not path.parent.is_dir() or path.is_dir():
        raise unwritable(path, OSError(0, "no such folder, or a folder itself"))
    if any(given and path.resolve() == given.resolve() for given in inputs):
        raise DataError(f"{shown(path.name)} is one of the inputs — write to another file")


def unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{shown(path.name)} cannot be written ({error.strerror}) — check that the folder exists, "
        "may be written to and has room"
    )


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet by the file's ending, whole or not at all."""
    check_target(path)
    partial: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            partial = Path(file.name)
            if path.suffix.lower() == ".csv":
                file.write(csv_text(frame).encode())
            else:
                frame.to_parquet(file, index=False)
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o644)
        partial.replace(path)
    except OSError as error:
        if partial:
            partial.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _numeric(column: pd.Series) -> bool:
    return column.dtype.kind in "iufb"
