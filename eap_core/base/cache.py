"""What took long to compute and can be computed again, kept with a digest of its content.

A file is written beside its place and moved there, so that another process sees all of it or
nothing; whatever does not match its digest counts as absent and is computed and written anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, quote
from eap_core.base.files import whole_file

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
