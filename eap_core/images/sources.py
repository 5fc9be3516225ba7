"""Whatever people bring — an image, a ZIP, a folder, many of them — as one list of files."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipInfo

from eap_core.base.archive import (
    STARTS,
    ExcessError,
    LongDirectoryError,
    OverlapError,
    PackedMember,
    ZipDirectory,
    ZipLimits,
    find_fault,
    is_encrypted,
    place_members,
    read_directory,
    unpack_pieces,
)
from eap_core.base.errors import (
    DataError,
    FileError,
    escape_controls,
    list_names,
    name_source,
    quote,
)
from eap_core.images.decode import (
    ACCEPTED,
    ENDINGS,
    MAX_DEPTH,
    MAX_DIRECTORY_BYTES,
    MAX_IMAGE_BYTES,
    MAX_MEMBERS,
    MAX_NAME,
    MAX_TABLE_BYTES,
    MAX_TOTAL_BYTES,
    RATIO_COUNTS_FROM,
)
from eap_core.readers.files import MAX_RATIO, guess_kind

# One member of a ZIP archive, told with the sentences that an image's name comes before.


def unpack(path: Path, entry: PackedMember) -> bytes:
    """The bytes of a member, exactly as many as declared and with the right checksum."""
    try:
        with path.open("rb") as file:
            held = io.BytesIO()
            for piece in unpack_pieces(file, entry):
                held.write(piece)
            return held.getvalue()
    except ExcessError:
        raise DataError(f"unpacks to more than the {entry.size:,} bytes it declares") from None
    except BadZipFile:
        raise DataError("is damaged in the archive", advice="zip or upload it again") from None
    except OSError as error:
        raise DataError(f"cannot be read — {error.strerror or error}") from None


# Files found in an upload, an archive or a folder: what can be read, what is passed over and why.
#
# Names are for people. They are never used as a path for writing.

NO_IMAGE = "is no image by its ending"
_TABLES = ("metadata.csv", "metadata.tsv")
_ARCHIVES = frozenset((".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst"))
_CLUTTER = frozenset(("__macosx", "thumbs.db", "desktop.ini", "ehthumbs.db", "$recycle.bin"))


@dataclass(frozen=True)
class ImageMember:
    """A file: its name with folders as people know it, its size, and how to read it all."""

    name: str
    size: int
    load: Callable[[], bytes]

    def read(self) -> bytes:
        """All bytes; what goes wrong is told with the name."""
        try:
            return self.load()
        except DataError as error:
            raise FileError(
                error.what, where=name_source(self.name), advice=error.advice, code=error.code
            ) from None


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not used, and why: ``name`` ``reason`` is a sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class GatheredFiles:
    """Images and metadata tables that can be read, and what else was there."""

    members: tuple[ImageMember, ...]
    skipped: tuple[SkippedFile, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[ImageMember, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the images."""
        return [member.name for member in self.members]


@dataclass
class MemberSorter:
    """Sorts the files of one source into images, tables, clutter and the rest."""

    members: list[ImageMember] = field(default_factory=list)
    tables: list[ImageMember] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    clutter: int = 0

    def skip(self, name: str, reason: str) -> None:
        """List a file as not used."""
        self.skipped.append(SkippedFile(escape_controls(name), reason))

    def add(self, name: str, size: int, load: Callable[[], bytes]) -> None:
        """Put a file where it belongs by its name and size."""
        if is_clutter(name):
            self.clutter += 1
        elif (reason := _refuse_unwanted(name, size)) is not None:
            self.skip(name, reason)
        else:
            kind = self.tables if is_table(name) else self.members
            kind.append(ImageMember(escape_controls(name), size, load))

    def gathered(self, source: str) -> GatheredFiles:
        """All that was found; nothing usable at all is an error."""
        if not self.members:
            raise _nothing(source, self.skipped)
        notes = []
        if self.clutter:
            notes.append(f"{source}: {self.clutter:,} hidden or system files are left out")
        members, renamed = with_unique_names(self.members)
        if renamed:
            notes.append(f"{source}: names that occur twice got a number — {list_names(renamed)}")
        return GatheredFiles(members, tuple(self.skipped), tuple(notes), tuple(self.tables))


def with_unique_names(members: Iterable[ImageMember]) -> tuple[tuple[ImageMember, ...], list[str]]:
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


def is_clutter(name: str) -> bool:
    """Whether a computer, not a person, put the file there."""
    return any(part.startswith(".") or part.casefold() in _CLUTTER for part in name.split("/"))


def is_table(name: str) -> bool:
    """Whether the file says something about the images beside it."""
    return PurePosixPath(name).name.casefold() in _TABLES


def _refuse_unwanted(name: str, size: int) -> str | None:
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


def _nothing(source: str, skipped: list[SkippedFile]) -> FileError:
    if not skipped:
        return FileError("holds no files", where=source, advice="add images and try again")
    first = f"{list_names([skipped[0].name])} {skipped[0].reason}"
    more = f", and {len(skipped) - 1:,} more files are not used" if len(skipped) > 1 else ""
    return FileError(f"holds no image that can be used: {first}{more}", where=source)


# The members of a ZIP archive, judged by its directory alone; none is extracted by its name.

_LIMITS = ZipLimits(ratio=MAX_RATIO, ratio_from=RATIO_COUNTS_FROM)
_ESCAPES = re.compile(r"^/|^[A-Za-z]:|\\|\x00|(^|/)\.\.(/|$)")


def gather_archive(path: Path, source: str) -> GatheredFiles:
    """The images of a ZIP file that people call ``source``."""
    directory = _directory(path, source)
    entries = directory.entries
    if not entries:
        raise FileError("holds no files", where=source, advice="zip the images again")
    if len(entries) > MAX_MEMBERS:
        raise FileError(
            f"holds {len(entries):,} files; limit is {MAX_MEMBERS:,}",
            where=source,
            advice="split it",
        )
    if all(is_encrypted(entry) for entry in entries):
        raise FileError("is password-protected: zip it again without", where=source)
    sorting = MemberSorter()
    for entry, member in zip(entries, _place(directory, source), strict=True):
        _sort_entries(path, entry, member, sorting)
    gathered = sorting.gathered(source)
    total = sum(member.size for member in gathered.members)
    if total > MAX_TOTAL_BYTES:
        raise FileError(
            f"unpacks to {total:,} bytes; limit is {MAX_TOTAL_BYTES:,}",
            where=source,
            advice="split it",
        )
    return gathered


def _directory(path: Path, source: str) -> ZipDirectory:
    try:
        with path.open("rb") as file:
            head = file.read(4_096)
            if not head.startswith(STARTS):
                raise _not_a_zip(head, source)
            return read_directory(file, MAX_DIRECTORY_BYTES)
    except LongDirectoryError:
        raise FileError(
            f"holds too many files; limit is {MAX_MEMBERS:,}",
            where=source,
            advice="split it",
        ) from None
    except OSError as error:
        raise FileError(
            f"cannot be read — {error.strerror or error}",
            where=source,
            advice="check it",
        ) from None
    except BadZipFile:
        raise FileError("is incomplete or damaged: upload again", where=source) from None


def _not_a_zip(head: bytes, source: str) -> FileError:
    if not head:
        return FileError("is empty (0 bytes)", where=source, advice="upload it again")
    kind = guess_kind(head, b"")
    if kind is None:
        return FileError("is no ZIP archive", where=source, advice="zip the images again")
    if "archive" in kind:
        return FileError(f"is a {kind}: make a ZIP", where=source)
    return FileError(f"is a {kind}, no ZIP archive", where=source, advice="name it as what it is")


def _place(directory: ZipDirectory, source: str) -> list[PackedMember]:
    try:
        return place_members(directory)
    except OverlapError as error:
        one, other = error.names
        raise DataError(
            f"the members {quote(one)} and {quote(other)} overlap",
            where=source,
            advice="zip the images again",
        ) from None


def _sort_entries(path: Path, entry: ZipInfo, member: PackedMember, sorting: MemberSorter) -> None:
    name = entry.orig_filename  # as written: zipfile cuts at a NUL
    if name.endswith("/") and not _ESCAPES.search(name):
        return
    reason = None if is_clutter(name) and not _ESCAPES.search(name) else _refuse_member(entry, name)
    if reason is not None:
        sorting.skip(name, reason)
        return
    sorting.add(name, entry.file_size, partial(unpack, path, member))


def _refuse_member(entry: ZipInfo, name: str) -> str | None:
    """Why a member is not touched, if so."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if _ESCAPES.search(name):
        return (
            "has a name that could lead out of the archive ('..', a drive, a backslash, a NUL or a "
            "slash in front) — zip the folder again with plain names"
        )
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, no file — zip the file itself"
    match find_fault(entry, _LIMITS):
        case "encrypted":
            return "is password-protected: zip it again without"
        case "method":
            return "is packed in a way that is not read — zip it with the usual method (Deflate)"
        case "ratio":
            return (
                f"unpacks from {entry.compress_size:,} to {entry.file_size:,} bytes; limit is "
                f"{MAX_RATIO}:1 — zip it without compression"
            )
    return None


# The files of a folder and the folders in it; links that lead out of it are not followed.


def gather_folder(folder: Path, source: str) -> GatheredFiles:
    """The images of a folder that people call ``source``, ordered by name."""
    root, sorting = folder.resolve(), MemberSorter()
    files = _files(root, source, sorting)
    for name in sorted(files, key=lambda name: name.split("/")):
        _sort(root, name, sorting)
    gathered = sorting.gathered(source)
    total = sum(member.size for member in gathered.members)
    if total > MAX_TOTAL_BYTES:
        raise FileError(
            f"holds {total:,} bytes of images; limit is {MAX_TOTAL_BYTES:,}",
            where=source,
            advice="split it",
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
        raise DataError(f"cannot be read — {error.strerror or error}", advice="check it") from None


def _files(root: Path, source: str, sorting: MemberSorter) -> list[str]:
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
            raise FileError(
                f"holds more than {MAX_MEMBERS:,} files, the limit",
                where=source,
                advice="split it",
            )
    return found


def _entries(folder: Path, prefix: str, sorting: MemberSorter) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        sorting.skip(prefix or ".", f"cannot be opened — {error.strerror or error}")
        return []


def _sort(root: Path, name: str, sorting: MemberSorter) -> None:
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
        raise DataError(
            "is a link that leads out of the folder",
            advice="copy the file itself",
        )
    return read_limited(path)


def _inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)


def gather(source: Path, *, name: str | None = None) -> GatheredFiles:
    """The files of an image file, a ZIP file or a folder; ``name`` is what people call it."""
    called = source.name if name is None else PurePosixPath(name.replace("\\", "/")).name
    shown_name = name_source(called)
    try:
        found = source.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"cannot be opened — {reason}",
            where=shown_name,
            advice="check its name",
        ) from None
    if stat.S_ISDIR(found.st_mode):
        return gather_folder(source, shown_name)
    if not stat.S_ISREG(found.st_mode):
        raise FileError(
            "is no regular file",
            where=shown_name,
            advice="name an image, a ZIP or a folder",
        )
    if PurePosixPath(called).suffix.casefold() == ".zip":
        return gather_archive(source, shown_name)
    return _one(source, called, found.st_size)


def gather_many(sources: Sequence[tuple[Path, str]]) -> GatheredFiles:
    """The files of several sources; one that cannot be used is listed with its reason.

    Where there are several, what comes out of a ZIP or folder is put under the name of that.
    """
    parts: list[GatheredFiles] = []
    for path, name in sources:
        try:
            found = gather(path, name=name)
        except DataError as error:
            parts.append(GatheredFiles((), (SkippedFile(escape_controls(name), error.reason),)))
            continue
        parts.append(found if len(sources) == 1 else _under(path, name, found))
    members, renamed = with_unique_names(member for part in parts for member in part.members)
    note = (f"{len(renamed):,} files of a name that was there before got a number",)
    return GatheredFiles(
        members,
        tuple(skipped for part in parts for skipped in part.skipped),
        tuple(text for part in parts for text in part.notes) + note * bool(renamed),
        tuple(table for part in parts for table in part.tables),
    )


def _one(path: Path, name: str, size: int) -> GatheredFiles:
    sorting = MemberSorter()
    sorting.add(name, size, partial(read_limited, path))
    if sorting.members:
        return GatheredFiles(tuple(sorting.members))
    reason = sorting.skipped[0].reason if sorting.skipped else "is no image"
    raise FileError(reason, where=name_source(name))


def _under(path: Path, name: str, found: GatheredFiles) -> GatheredFiles:
    ending = PurePosixPath(name).suffix.casefold()
    if not path.is_dir() and ending != ".zip":
        return found
    folder = escape_controls(
        PurePosixPath(name).stem if ending == ".zip" else PurePosixPath(name).name
    )
    return GatheredFiles(
        tuple(_move_member(member, folder) for member in found.members),
        tuple(replace(skipped, name=f"{folder}/{skipped.name}") for skipped in found.skipped),
        found.notes,
        tuple(_move_member(member, folder) for member in found.tables),
    )


def _move_member(member: ImageMember, folder: str) -> ImageMember:
    return replace(member, name=f"{folder}/{member.name}")


# Folders of the server that may be imported from: those below a configured root, no others.

VARIABLE = "EAP_ROOTS"


def configured_roots(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders named by EAP_ROOTS, separated like the folders of PATH."""
    named = environment.get(VARIABLE, "").split(os.pathsep)
    return tuple(Path(name) for name in named if name.strip())


def below_root(path: Path, roots: Iterable[Path]) -> Path:
    """The same place with all links resolved, if it is a root or lies below one."""
    allowed = list(roots)
    if not allowed:
        raise DataError(
            "folders cannot be imported: none is opened for it",
            advice=f"set {VARIABLE} to the folders that may be",
        )
    try:
        place = path.expanduser().resolve()
        # Before anything else is said of the place: what exists elsewhere is nobody's business.
        inside = any(place.is_relative_to(root.expanduser().resolve()) for root in allowed)
    except (OSError, RuntimeError, ValueError):  # links in a circle, no home, a NUL
        inside = False
    if not inside:
        names = ", ".join(quote(str(root)) for root in allowed)
        raise DataError(
            f"{quote(str(path))} is not below a folder opened for import",
            advice=f"give a whole path below {names}",
        )
    if not place.exists():
        raise DataError(f"{quote(str(path))} does not exist", advice="check its name")
    return place
