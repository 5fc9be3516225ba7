"""Arrays that took long to compute, kept in a folder: sha256(contents) + contents, by their key.

A file is written beside its place and moved there, so that another process sees all of it or
nothing; whatever does not match its checksum counts as absent and is computed and written anew.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eap_core.errors import DataError, shown

Arrays = tuple[npt.NDArray[Any], ...]
_DIGEST = 32


def key_of(*parts: str) -> str:
    """One key for all that a result depends on; the parts cannot run into each other."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


@dataclass(frozen=True)
class Cache:
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
        contents = data[_DIGEST:]
        if hashlib.sha256(contents).digest() != data[:_DIGEST]:
            return None
        return _unpacked(contents)

    def store(self, key: str, arrays: Arrays) -> None:
        """Keep the arrays under a key, in place of what was there."""
        contents = _packed(arrays)
        self._write(self._path(key), hashlib.sha256(contents).digest() + contents)

    def adopt(self, archive: Path) -> None:
        """Take over what was computed elsewhere: the files of such a folder, zipped."""
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                self._write(self.folder / name, packed.read(name))

    def _write(self, path: Path, data: bytes) -> None:
        partial: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
                partial = Path(file.name)
                file.write(data)
            partial.replace(path)
        except OSError as error:
            if partial is not None:
                with suppress(OSError):
                    partial.unlink()
            raise DataError(
                f"image features cannot be kept in {shown(self.folder.name)} ({error.strerror}) — "
                "check that the folder may be written to and has room"
            ) from error

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.bin"


def _packed(arrays: Arrays) -> bytes:
    stream = io.BytesIO()
    for array in arrays:
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _unpacked(contents: bytes) -> Arrays:
    stream, found = io.BytesIO(contents), []
    while stream.tell() < len(contents):
        found.append(np.load(stream, allow_pickle=False))
    return tuple(found)
