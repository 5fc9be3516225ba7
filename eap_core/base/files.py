"""Files written whole or not at all: tables, and what took long to compute.

CSV cannot trick a spreadsheet. What can be computed again is kept with a digest of its content:
whatever does not match it counts as absent and is computed and written anew.
"""

from __future__ import annotations

import csv
import errno
import gc
import hashlib
import io
import json
import os
import re
import secrets
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, FileError, quote

if TYPE_CHECKING:
    import pandas as pd


# A spreadsheet runs text that starts like this; one quote in front makes it text again. Cells that
# already carry such quotes get one more, so that reading can always take exactly one away.
_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")


def neutralise(text: str) -> str:
    """The text, with a quote in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def restore_text(text: str) -> str:
    """The text before it was made neutral."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def csv_text(frame: pd.DataFrame) -> str:
    """CSV with full-precision numbers and neutral text, the same on every system."""
    safe = frame.copy()
    odd = any("\r" in str(name) for name in safe.columns)
    for name in safe.columns[[not _numeric(frame[c]) for c in frame.columns]]:
        safe[name] = [neutralise(str(value)) for value in safe[name]]
        odd = odd or any("\r" in text for text in safe[name])
    safe.columns = [neutralise(str(name)) for name in safe.columns]
    # A carriage return alone ends a row for readers, and is only quoted where all text is.
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    return str(safe.to_csv(index=False, lineterminator="\n", quoting=quoting))  # type: ignore[call-overload]


def check_target(
    path: Path, *inputs: Path | None, endings: tuple[str, str] = (".csv", ".parquet")
) -> None:
    """Refuse, before any work, a file that could not be written or would overwrite an input."""
    if path.suffix.lower() not in endings:
        raise FileError(
            "cannot be written",
            where=quote(path.name),
            advice=f"the output must end in {' or '.join(endings)}",
        )
    if not path.parent.is_dir() or path.is_dir():
        raise explain_unwritable(path, OSError(0, "no such folder, or a folder itself"))
    if any(given and path.resolve() == given.resolve() for given in inputs):
        raise FileError(
            "is one of the inputs",
            where=quote(path.name),
            advice="write to another file",
        )


def explain_unwritable(path: Path, error: OSError) -> DataError:
    return FileError(
        f"cannot be written ({error.strerror})",
        where=quote(path.name),
        advice="check that the folder exists, may be written to and has room",
    )


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet by the file's ending, whole or not at all."""
    check_target(path)
    try:
        with whole_file(path) as file:
            if path.suffix.lower() == ".csv":
                file.write(csv_text(frame).encode())
            else:
                frame.to_parquet(file, index=False)
    except OSError as error:
        raise explain_unwritable(path, error) from error


def _numeric(column: pd.Series) -> bool:
    return column.dtype.kind in "iufb"


# Files that are there whole or not at all, whenever the program or the computer stops.

PARTIAL = ".partial-"  # how the name of what is being written begins


@contextmanager
def whole_file(target: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file that appears under its name only when everything was written."""
    if target.is_dir():  # said before the work, not after
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = make_partial(target.parent)
    try:
        with partial.open("w+b") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        partial.replace(target)
        if durable:
            sync_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_partial(folder: Path) -> Path:
    """Made by open, not by mkstemp, so that it gets the rights that the user's umask leaves."""
    path = folder / f"{PARTIAL}{secrets.token_hex(8)}"
    path.touch(exist_ok=False)
    return path


# Python's search for garbage, paused while a great many objects are made that all stay.
#
# It would look at all of them again and again and find nothing, which doubles the time.

_lock = threading.Lock()
_pausing = 0


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause it, also from several threads at once; the last one to leave lets it go on."""
    global _pausing
    with _lock:
        _pausing += 1
        was_on = gc.isenabled() or _pausing > 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing and was_on:
                gc.enable()


NamedArrays = Mapping[str, npt.NDArray[Any]]
_DIGEST_NAME = "sha256"
_JSON_NAME = "json"


@dataclass(frozen=True)
class CheckedFile:
    """Arrays by name, or JSON, in one file."""

    path: Path

    def keep(self, arrays: NamedArrays) -> None:
        """Write the arrays, with a digest of them all, in place of what was there."""
        stream = io.BytesIO()
        digest = np.frombuffer(_digest(arrays), dtype=np.uint8)
        np.savez(stream, allow_pickle=False, **{**arrays, _DIGEST_NAME: digest})
        with whole_file(self.path, durable=False) as file:
            file.write(stream.getbuffer())

    def load(self) -> dict[str, npt.NDArray[Any]] | None:
        """The arrays, read-only; None where there are none or they are damaged."""
        try:
            # Read first: numpy leaves a damaged file open.
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as found:
                arrays = dict(found)
            digest = arrays.pop(_DIGEST_NAME).tobytes()
        except Exception:  # whatever the readers make of damage: a huge shape, an unknown packing
            return None
        if digest != _digest(arrays):
            return None
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    def keep_json(self, value: object) -> None:
        """Write what JSON can hold, with a digest of it."""
        self.keep({_JSON_NAME: np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)})

    def load_json(self) -> Any:
        """What was kept; None where there is nothing or it is damaged."""
        arrays = self.load()
        if arrays is None or _JSON_NAME not in arrays:
            return None
        return json.loads(arrays[_JSON_NAME].tobytes())


def _digest(arrays: NamedArrays) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


# Many small entries by their key, as those of images: sha256(contents) + contents.

Arrays = tuple[npt.NDArray[Any], ...]
_DIGEST_BYTES = 32


def key_of(*parts: str) -> str:
    """One key for all that a result depends on; the parts cannot run into each other."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


@dataclass(frozen=True)
class FeatureCache:
    """A folder that several processes may share."""

    folder: Path

    def load(self, key: str) -> Arrays | None:
        """The arrays kept under a key, or None where there are none or they are damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):
            os.utime(path)  # what is not used for long is forgotten
        contents = data[_DIGEST_BYTES:]
        if hashlib.sha256(contents).digest() != data[:_DIGEST_BYTES]:
            return None
        return _unpack(contents)

    def store(self, key: str, arrays: Arrays) -> None:
        """Keep the arrays under a key, in place of what was there."""
        contents = _pack(arrays)
        self._write(self._path(key), hashlib.sha256(contents).digest() + contents)

    def adopt(self, archive: Path) -> None:
        """Take over what was computed elsewhere: the files of such a folder, zipped."""
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                self._write(self.folder / name, packed.read(name))

    def _write(self, path: Path, data: bytes) -> None:
        try:
            with whole_file(path, durable=False) as file:
                file.write(data)
        except OSError as error:
            raise DataError(
                f"image features cannot be kept in {quote(self.folder.name)} ({error.strerror})",
                advice="check that the folder may be written to and has room",
            ) from error

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.bin"


def _pack(arrays: Arrays) -> bytes:
    stream = io.BytesIO()
    for array in arrays:
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _unpack(contents: bytes) -> Arrays:
    stream, found = io.BytesIO(contents), []
    while stream.tell() < len(contents):
        found.append(np.load(stream, allow_pickle=False))
    return tuple(found)
