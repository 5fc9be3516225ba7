"""Arrays that can be computed again, kept in a file that is whole, or counts as absent."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eap_core.store.blobs import whole_file
from eap_core.store.failures import told_of_disk

Arrays = Mapping[str, npt.NDArray[Any]]
_DIGEST = "sha256"


def keep(path: Path, arrays: Arrays) -> None:
    """Write the arrays, with a digest of them all, in place of what was there."""
    stream = io.BytesIO()
    digest = np.frombuffer(_digest(arrays), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **{**arrays, _DIGEST: digest})
    with told_of_disk(), whole_file(path, durable=False) as file:
        file.write(stream.getbuffer())


def kept(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """The arrays, read-only; None where there are none or they are damaged."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = dict(found)
        digest = arrays.pop(_DIGEST).tobytes()
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    if digest != _digest(arrays):
        return None
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def _digest(arrays: Arrays) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
