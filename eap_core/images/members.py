"""Files found in an upload, an archive or a folder: what can be read, what is passed over and why.

Names are for people. They are never used as a path for writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from eap_core.errors import DataError, listed, printable, shown
from eap_core.images.formats import ACCEPTED, ENDINGS
from eap_core.images.limits import MAX_DEPTH, MAX_IMAGE_BYTES, MAX_NAME, MAX_TABLE_BYTES

NO_IMAGE = "is no image by its ending"
_TABLES = ("metadata.csv", "metadata.tsv")
_ARCHIVES = frozenset((".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst"))
_CLUTTER = frozenset(("__macosx", "thumbs.db", "desktop.ini", "ehthumbs.db", "$recycle.bin"))


@dataclass(frozen=True)
class Member:
    """A file: its name with folders as people know it, its size, and how to read it all."""

    name: str
    size: int
    load: Callable[[], bytes]

    def read(self) -> bytes:
        """All bytes; what goes wrong is told with the name."""
        try:
            return self.load()
        except DataError as error:
            raise DataError(f"{as_named(self.name)} {error}") from None


@dataclass(frozen=True)
class Skipped:
    """A file that is not used, and why: ``name`` ``reason`` is a sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Gathered:
    """Images and metadata tables that can be read, and what else was there."""

    members: tuple[Member, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Member, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the images."""
        return [member.name for member in self.members]


@dataclass
class Sorting:
    """Sorts the files of one source into images, tables, clutter and the rest."""

    members: list[Member] = field(default_factory=list)
    tables: list[Member] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    clutter: int = 0

    def skip(self, name: str, reason: str) -> None:
        """List a file as not used."""
        self.skipped.append(Skipped(printable(name), reason))

    def add(self, name: str, size: int, load: Callable[[], bytes]) -> None:
        """Put a file where it belongs by its name and size."""
        if is_clutter(name):
            self.clutter += 1
        elif (reason := _unwanted(name, size)) is not None:
            self.skip(name, reason)
        else:
            kind = self.tables if is_table(name) else self.members
            kind.append(Member(printable(name), size, load))

    def gathered(self, source: str) -> Gathered:
        """All that was found; nothing usable at all is an error."""
        if not self.members:
            raise DataError(_nothing(source, self.skipped))
        notes = []
        if self.clutter:
            notes.append(f"{source}: {self.clutter:,} hidden or system files are left out")
        members, renamed = with_unique_names(self.members)
        if renamed:
            notes.append(f"{source}: names that occur twice got a number — {listed(renamed)}")
        return Gathered(members, tuple(self.skipped), tuple(notes), tuple(self.tables))


def with_unique_names(members: Iterable[Member]) -> tuple[tuple[Member, ...], list[str]]:
    """The same members with a number behind the name where it was there before."""
    found = list(members)
    taken = {member.name for member in found}
    seen: set[str] = set()
    again: dict[str, int] = {}
    renamed: list[str] = []
    for i, member in enumerate(found):
        name = member.name
        while name in seen or (name != member.name and name in taken):
            again[member.name] = again.get(member.name, 1) + 1
            path = PurePosixPath(member.name)
            name = str(path.with_name(f"{path.stem} ({again[member.name]}){path.suffix}"))
        if name != member.name:
            renamed.append(name)
            found[i] = replace(member, name=name)
        seen.add(name)
    return tuple(found), renamed


def as_named(source: str) -> str:
    """A file's name as messages show it."""
    return shown(source)[1:-1]


def reason_of(error: DataError, source: str) -> str:
    """An error without the name of the file it starts with."""
    return str(error).removeprefix(as_named(source)).lstrip(": ")


def is_clutter(name: str) -> bool:
    """Whether a computer, not a person, put the file there."""
    return any(part.startswith(".") or part.casefold() in _CLUTTER for part in name.split("/"))


def is_table(name: str) -> bool:
    """Whether the file says something about the images beside it."""
    return PurePosixPath(name).name.casefold() in _TABLES


def _unwanted(name: str, size: int) -> str | None:
    """Why a file of this name and size is not used, if so."""
    parts, ending = name.split("/"), PurePosixPath(name).suffix.casefold()
    if len(name) > MAX_NAME:
        return f"has a name of {len(name):,} characters; limit is {MAX_NAME:,} — shorten it"
    if len(parts) > MAX_DEPTH:
        return f"lies {len(parts):,} folders deep; limit is {MAX_DEPTH} — move it up"
    if ending in _ARCHIVES:
        return "is an archive inside — unpack it and take its images by themselves"
    if ending in (".heic", ".heif"):
        return "is a HEIC photo — save or export it as JPEG or PNG"
    if ending not in ENDINGS and not is_table(name):
        return f"{NO_IMAGE} — {ACCEPTED}"
    limit = MAX_TABLE_BYTES if is_table(name) else MAX_IMAGE_BYTES
    return f"has {size:,} bytes; limit is {limit:,} — make it smaller" if size > limit else None


def _nothing(source: str, skipped: list[Skipped]) -> str:
    if not skipped:
        return f"{source} holds no files — add images and try again"
    first = f"{listed([skipped[0].name])} {skipped[0].reason}"
    more = f", and {len(skipped) - 1:,} more files are not used" if len(skipped) > 1 else ""
    return f"{source} holds no image that can be used: {first}{more}"
