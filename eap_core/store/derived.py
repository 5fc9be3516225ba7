"""Arrays that can be computed again, kept in a file that is whole, or counts as absent."""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eap_core.store.blobs import whole_file
from eap_core.store.failures import told_of_disk
from eap_core.store.ids import is_id

Arrays = Mapping[str, npt.NDArray[Any]]
_DIGEST = "sha256"
FEATURES_SECONDS = 90 * 24 * 3600.0
FEATURES_BYTES = 2 * 1024**3  # of some 170,000 images
_PLAIN = re.compile(r"[0-9a-zA-Z-]{1,80}")


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
        # Read first: numpy leaves a damaged file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as found:
            arrays = dict(found)
        digest = arrays.pop(_DIGEST).tobytes()
    except Exception:  # whatever the readers make of damage: a huge shape, an unknown packing
        return None
    if digest != _digest(arrays):
        return None
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def insight_file(home: Path, run: str) -> Path:
    """Where what is said of a run's candidates is kept."""
    return home / "cache" / "runs" / f"{_safe(run)}.npz"


def map_file(home: Path, fingerprint: str, made_by: str) -> Path:
    """Where a map of the problem with this fingerprint is kept; runs of one problem share it."""
    return home / "cache" / "maps" / f"{_safe(fingerprint)}-{made_by}.npz"


def prompts_file(home: Path, project: str) -> Path:
    """Where what a model sees in a project's images, in the light of prompts, is kept."""
    return home / "cache" / "prompts" / f"{_safe(project)}.npz"


def files_of_run(home: Path, run: str, fingerprint: str) -> list[Path]:
    """All that was derived from a run, as far as it is there."""
    maps = map_file(home, fingerprint, "*")
    return [insight_file(home, run), *maps.parent.glob(maps.name)]


def exports_folder(home: Path, project: str) -> Path | None:
    """Where a project's bundles lie; None for what is no id, which could lead anywhere."""
    return home / "exports" / project if is_id(project) else None


def exports_of(home: Path, project: str) -> list[Path]:
    """The files in that folder itself: what a link leads to is nobody's to delete."""
    folder = exports_folder(home, project)
    if folder is None or folder.is_symlink() or folder.parent.is_symlink():
        return []
    return [path for path in folder.glob("*") if path.is_file() and not path.is_symlink()]


def forget_features(home: Path) -> None:
    """Delete image features that were not used for long, and of too many those used least lately.

    Whoever needs one of them after all computes it again: a running job loses nothing but time.
    """
    found = []
    for path in (home / "cache" / "features").rglob("*.bin"):  # no *.part, which is being written
        with suppress(FileNotFoundError):  # another process forgets, too
            facts = path.stat()
            found.append((facts.st_mtime, facts.st_size, path))
    total = 0
    for used, size, path in sorted(found, reverse=True):
        total += size
        if total > FEATURES_BYTES or time.time() - used > FEATURES_SECONDS:
            path.unlink(missing_ok=True)


def _safe(name: str) -> str:
    """A name for a file, whatever a backup made of the id."""
    return name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode()).hexdigest()


def _digest(arrays: Arrays) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
