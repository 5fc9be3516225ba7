"""The files of a folder and the folders in it; links that lead out of it are not followed."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path

from eap_core.errors import DataError
from eap_core.images.limits import MAX_DEPTH, MAX_IMAGE_BYTES, MAX_MEMBERS, MAX_TOTAL_BYTES
from eap_core.images.members import Gathered, Sorting, is_clutter


def gather_folder(folder: Path, source: str) -> Gathered:
    """The images of a folder that people call ``source``, ordered by name."""
    root, sorting = folder.resolve(), Sorting()
    files = _files(root, source, sorting)
    for name in sorted(files, key=lambda name: name.split("/")):
        _sort(root, name, sorting)
    gathered = sorting.gathered(source)
    total = sum(member.size for member in gathered.members)
    if total > MAX_TOTAL_BYTES:
        raise DataError(
            f"{source} holds {total:,} bytes of images; limit is {MAX_TOTAL_BYTES:,} — split it"
        )
    return gathered


def read_limited(path: Path) -> bytes:
    """The bytes of a regular file, no more than an image may have and one."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError("is no regular file")
            return file.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot be read — {error.strerror or error} — check it") from None


def _files(root: Path, source: str, sorting: Sorting) -> list[str]:
    """The names of all files below the root, with folders, as far down as is allowed."""
    found: list[str] = []
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for entry in _entries(root / prefix, prefix, sorting):
            name = f"{prefix}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                found.append(name)
            elif is_clutter(entry.name):
                sorting.clutter += 1
            elif name.count("/") + 1 >= MAX_DEPTH:
                sorting.skip(name, f"lies too deep; limit is {MAX_DEPTH} folders — move it up")
            else:
                waiting.append(f"{name}/")
        if len(found) + len(waiting) > MAX_MEMBERS:
            raise DataError(f"{source} holds more than {MAX_MEMBERS:,} files, the limit — split it")
    return found


def _entries(folder: Path, prefix: str, sorting: Sorting) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        sorting.skip(prefix or ".", f"cannot be opened — {error.strerror or error}")
        return []


def _sort(root: Path, name: str, sorting: Sorting) -> None:
    path = root / name
    try:
        if path.is_symlink() and not _inside(path, root):
            sorting.skip(name, "is a link that leads out of the folder — copy the file itself")
            return
        found = path.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        sorting.skip(name, f"cannot be opened — {getattr(error, 'strerror', None) or error}")
        return
    if stat.S_ISDIR(found.st_mode):
        sorting.skip(name, "is a link to a folder, which is not followed — copy the folder")
    elif not stat.S_ISREG(found.st_mode):
        sorting.skip(name, "is no regular file")
    else:
        sorting.add(name, found.st_size, partial(_read, path, root))


def _read(path: Path, root: Path) -> bytes:
    # Looked at again: somebody may have put a link in its place since.
    if not _inside(path, root):
        raise DataError("is a link that leads out of the folder — copy the file itself")
    return read_limited(path)


def _inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)
