"""Which kind of file this is: by an allow-list of names and by its first bytes."""

from __future__ import annotations

import stat
from pathlib import Path

from eap_core.errors import DataError, shown
from eap_core.readers.file import File
from eap_core.readers.limits import MAX_BYTES

_HEAD, _TAIL = 4_096, 65_536
_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "Parquet file",
    ".npz": "ZIP archive",
    ".npy": "NumPy array",
}
_ACCEPTED = "use .csv, .tsv, .txt, .parquet, .npz or .npy"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel workbook"),
    (b"PAR1", "Parquet file"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n", "HDF5 file"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x1f\x8b\x08", "gzip archive"),
    (b"\x7fELF", "program"),
)
_WORKBOOK = b"xl/workbook"
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")
_ADVICE = {
    "Excel workbook": "save it as CSV",
    "gzip archive": "unpack it first",
    "Parquet file": "rename it to .parquet",
    "NumPy array": "rename it to .npy",
}


def accepted_kind(file: File) -> str:
    """The allowed ending of a file whose first bytes do not contradict it."""
    source, suffix = file.source, file.ending
    size = _size(file.path, source)
    kind = looks_like(*_ends(file.path, source, size)) if size else None
    if suffix not in _KINDS:
        hint = f" and looks like {_article(kind)}" if kind else ""
        advice = "save it as CSV" if kind == "Excel workbook" else _ACCEPTED
        raise DataError(f"{source}: the type {shown(suffix)} is not accepted{hint} — {advice}")
    if not size:
        raise DataError(f"{source} is empty (0 bytes) — export it again")
    expected = _KINDS[suffix]
    if (kind or "text") != expected:
        found = f"looks like {_article(kind)}" if kind else f"is not {_article(expected)}"
        raise DataError(f"{source} {found} — {_ADVICE.get(kind or '', _ACCEPTED)}")
    return suffix


def looks_like(head: bytes, tail: bytes) -> str | None:
    """The kind of file that starts with ``head`` and ends with ``tail``; None may be text."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        # Of three bytes alone, as in "xl/", packed numbers hold every combination.
        return "Excel workbook" if _WORKBOOK in head + tail else "ZIP archive"
    # MZ is also what a spectrometer calls its first column, so the NUL of a program decides.
    if head.startswith(b"MZ") and b"\x00" in head[:64]:
        return "program"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        return "HTML page"
    return None


def _article(kind: str | None) -> str:
    return f"{'an' if kind in ('Excel workbook', 'HTML page', 'HDF5 file') else 'a'} {kind}"


def _size(path: Path, source: str) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{source} cannot be opened — {_reason(error)} — check its name") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise DataError(f"{source} is {kind} — name a file: {_ACCEPTED}")
    if found.st_size > MAX_BYTES:
        raise DataError(
            f"{source} has {found.st_size:,} bytes; limit is {MAX_BYTES:,} — "
            "split it or keep only the columns that are needed"
        )
    return found.st_size


def _ends(path: Path, source: str, size: int) -> tuple[bytes, bytes]:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(0, size - _TAIL))
            return head, file.read(_TAIL)
    except OSError as error:
        raise DataError(
            f"{source} cannot be read — {_reason(error)} — check its permissions"
        ) from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
