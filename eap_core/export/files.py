"""A bundle's files: their names, their hashes, and a ZIP or folder that is whole or not there."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from types import MappingProxyType
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from eap_core.base.errors import DataError
from eap_core.base.files import PARTIAL, sync_folder, whole_file
from eap_core.base.progress import Progress, part_of, silent
from eap_core.images.decode import format_of
from eap_core.store.blobs import Blobs, pieces
from eap_core.store.errors import explain_disk_errors

# The files of a bundle: what each holds is known, with its hash, before the first is written.

_HEAD_BYTES = 16


@dataclass(frozen=True)
class BundleMember:
    """A file by its path in the bundle: bytes made here, or an original of the store."""

    path: str
    size: int
    sha256: str
    data: bytes | None = None
    source: Path | None = None

    @classmethod
    def made(cls, path: str, data: bytes) -> BundleMember:
        return cls(path, len(data), hashlib.sha256(data).hexdigest(), data)

    @property
    def record(self) -> dict[str, str | int]:
        return {"sha256": self.sha256, "size": self.size}

    def parts(self) -> Iterator[bytes]:
        """The content in pieces; refused at the end if it is not what was stored."""
        if self.source is None:
            yield self.data or b""
            return
        digest = hashlib.sha256()
        with self.source.open("rb") as file:
            for part in pieces(file):
                digest.update(part)
                yield part
        if digest.hexdigest() != self.sha256:
            raise DataError(
                f"the stored file {self.sha256[:12]}… was altered on the disk",
                advice="restore a backup or upload it again",
            )


@dataclass(frozen=True)
class OriginalFile:
    """A file of the store before it has a place: its size and how it begins."""

    sha256: str
    source: Path
    size: int
    head: bytes

    def at(self, path: str) -> BundleMember:
        return BundleMember(path, self.size, self.sha256, source=self.source)


def read_original(blobs: Blobs, sha256: str) -> OriginalFile:
    """An original, or the sentence that it is missing."""
    path = blobs.path(sha256)
    try:
        with path.open("rb") as file:
            return OriginalFile(sha256, path, path.stat().st_size, file.read(_HEAD_BYTES))
    except FileNotFoundError:
        blobs.verified(sha256)  # says so
        raise


_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same bundle has the same bytes, whenever it is made
_PACKED = (".csv", ".json", ".md", ".bmp")  # the others are packed already
_UNIX, _RIGHTS = 3, 0o100644 << 16


@contextmanager
def write_zip(
    members: Sequence[BundleMember], target: Path, progress: Progress = silent
) -> Iterator[str]:
    """Write a ZIP and give its SHA-256; it gets its name when the block ends without an error."""
    with explain_disk_errors(), whole_file(target) as file:
        with ZipFile(file, "w", allowZip64=True) as archive:
            for member in _report_members(members, part_of(progress, 0.0, 0.9)):
                _write(archive, member)
        yield _sha256(file, part_of(progress, 0.9, 1.0))


def write_folder(
    members: Sequence[BundleMember], target: Path, progress: Progress = silent
) -> None:
    """Write a new folder, all of it on the disk before it gets its name."""
    with explain_disk_errors():
        partial = Path(mkdtemp(prefix=PARTIAL, dir=target.parent))
        try:
            for member in _report_members(members, progress):
                path = partial / member.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    for part in member.parts():
                        file.write(part)
                    file.flush()
                    os.fsync(file.fileno())
            for folder in (partial, *(path for path in partial.rglob("*") if path.is_dir())):
                sync_folder(folder)
            partial.chmod(0o755)
            partial.rename(target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write_files(files: Sequence[tuple[Path, BundleMember]]) -> None:
    """Write single files, each whole; the last tells of the others, so that it is only there when
    they are: its old one goes before any is replaced, the new one comes when all have been."""
    with explain_disk_errors(), ExitStack() as stack:
        for path, member in reversed(files):  # they get their names in the opposite order
            file = stack.enter_context(whole_file(path))
            for part in member.parts():
                file.write(part)
            file.flush()  # a full disk is told before anything is replaced
        files[-1][0].unlink(missing_ok=True)
        sync_folder(files[-1][0].parent)


def _report_members(members: Sequence[BundleMember], progress: Progress) -> Iterator[BundleMember]:
    """The members in turn, with the share of bytes before each reported."""
    total = sum(member.size for member in members) or 1
    done = 0
    for member in members:
        progress(done / total, "writing the bundle")
        yield member
        done += member.size
    progress(1.0, "writing the bundle")


def _write(archive: ZipFile, member: BundleMember) -> None:
    info = ZipInfo(member.path, _NO_TIME)
    info.compress_type = ZIP_DEFLATED if member.path.endswith(_PACKED) else ZIP_STORED
    info.create_system, info.external_attr = _UNIX, _RIGHTS
    info.file_size = member.size  # tells whether the large form of a member is needed
    with archive.open(info, "w") as file:
        for part in member.parts():
            file.write(part)


def _sha256(file: BinaryIO, progress: Progress) -> str:
    digest, total = hashlib.sha256(), file.tell() or 1
    file.seek(0)
    for part in pieces(file):
        progress(min(1.0, file.tell() / total), "checking the bundle")
        digest.update(part)
    return digest.hexdigest()


# Names inside a bundle: safe on every system, never a name that somebody else chose as it is.

_LONGEST = 60
_ENDINGS = MappingProxyType(
    {"PNG": ".png", "JPEG": ".jpg", "BMP": ".bmp", "TIFF": ".tif", "WebP": ".webp"}
)
_HEAD = 16  # bytes that tell a format
# Readers take "good" for normal, and a real kind must not look like a synthetic one.
_TAKEN = re.compile(r"good|synthetic.*")
# Windows makes no file or folder of such a name.
_DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


@dataclass(frozen=True)
class Names:
    """What the candidates' table and its papers are called."""

    table: str
    card: str
    manifest: str

    @classmethod
    def inside(cls, ending: str) -> Names:
        """In a ZIP or folder of their own."""
        return cls(f"candidates.{ending}", "README.md", "manifest.json")

    @classmethod
    def beside(cls, table: str) -> Names:
        """Among other files, where each table has papers of its own."""
        return cls(table, f"{table}.README.md", f"{table}.manifest.json")


def slug(text: str, otherwise: str) -> str:
    """ASCII letters, digits, dash and underscore in lower case, of a moderate length."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:_LONGEST].rstrip("_") or otherwise
    return f"{name}_{otherwise}" if _DEVICES.fullmatch(name) else name


def stem_of(name: str) -> str:
    """What is kept of a file's own name, behind the number that makes it unique."""
    return slug(PurePosixPath(name.replace("\\", "/")).stem, "image")


def kind_folders(kinds: Iterable[str]) -> dict[str, str]:
    """A folder for each kind of defect; two kinds never share one."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for kind in sorted(set(kinds)):
        name = slug(kind, "defect")
        name = f"kind_{name}" if _TAKEN.fullmatch(name) else name
        free, number = name, 1
        while free in used:
            number += 1
            free = f"{name}_{number}"
        used.add(free)
        found[kind] = free
    return found


def ending_of(head: bytes) -> str:
    """The ending that the content asks for, whatever the file was called."""
    return _ENDINGS.get(format_of(head[:_HEAD]) or "", ".bin")
