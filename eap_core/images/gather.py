"""Whatever people bring — an image, a ZIP, a folder, many of them — as one list of files."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from eap_core.errors import DataError, printable
from eap_core.images.archive import gather_archive
from eap_core.images.folder import gather_folder, read_limited
from eap_core.images.members import (
    Gathered,
    Member,
    Skipped,
    Sorting,
    as_named,
    reason_of,
    with_unique_names,
)


def gather(source: Path, *, name: str | None = None) -> Gathered:
    """The files of an image file, a ZIP file or a folder; ``name`` is what people call it."""
    called = source.name if name is None else PurePosixPath(name.replace("\\", "/")).name
    shown_name = as_named(called)
    try:
        found = source.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{shown_name} cannot be opened — {reason} — check its name") from None
    if stat.S_ISDIR(found.st_mode):
        return gather_folder(source, shown_name)
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{shown_name} is no regular file — name an image, a ZIP or a folder")
    if PurePosixPath(called).suffix.casefold() == ".zip":
        return gather_archive(source, shown_name)
    return _one(source, called, found.st_size)


def gather_many(sources: Sequence[tuple[Path, str]]) -> Gathered:
    """The files of several sources; one that cannot be used is listed with its reason.

    Where there are several, what comes out of a ZIP or folder is put under the name of that.
    """
    parts: list[Gathered] = []
    for path, name in sources:
        try:
            found = gather(path, name=name)
        except DataError as error:
            reason = reason_of(error, PurePosixPath(name).name)
            parts.append(Gathered((), (Skipped(printable(name), reason),)))
            continue
        parts.append(found if len(sources) == 1 else _under(path, name, found))
    members, renamed = with_unique_names(member for part in parts for member in part.members)
    note = (f"{len(renamed):,} files of a name that was there before got a number",)
    return Gathered(
        members,
        tuple(skipped for part in parts for skipped in part.skipped),
        tuple(text for part in parts for text in part.notes) + note * bool(renamed),
        tuple(table for part in parts for table in part.tables),
    )


def _one(path: Path, name: str, size: int) -> Gathered:
    sorting = Sorting()
    sorting.add(name, size, partial(read_limited, path))
    if sorting.members:
        return Gathered(tuple(sorting.members))
    reason = sorting.skipped[0].reason if sorting.skipped else "is no image"
    raise DataError(f"{as_named(name)} {reason}")


def _under(path: Path, name: str, found: Gathered) -> Gathered:
    ending = PurePosixPath(name).suffix.casefold()
    if not path.is_dir() and ending != ".zip":
        return found
    folder = printable(PurePosixPath(name).stem if ending == ".zip" else PurePosixPath(name).name)
    return Gathered(
        tuple(_moved(member, folder) for member in found.members),
        tuple(replace(skipped, name=f"{folder}/{skipped.name}") for skipped in found.skipped),
        found.notes,
        tuple(_moved(member, folder) for member in found.tables),
    )


def _moved(member: Member, folder: str) -> Member:
    return replace(member, name=f"{folder}/{member.name}")
