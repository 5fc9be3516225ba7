"""A backup read as what it is, a file from anywhere: names are never paths, sizes are counted."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from eap_core.errors import DataError, shown
from eap_core.store.archive_form import (
    FORMAT,
    LONGEST_LINE,
    MANIFEST,
    MEMBER,
    MOST_BYTES,
    MOST_IN_ENTRY,
    MOST_IN_PROJECT,
    MOST_IN_THUMBNAIL,
    MOST_MEMBERS,
    MOST_RATIO,
    PROJECT,
    RATIO_FROM,
    ROWS,
)
from eap_core.store.failures import told_of_disk
from eap_core.store.schema import VERSION

_CHUNK = 2**20
_ENCRYPTED = 0x1


@dataclass(frozen=True)
class Member:
    sha256: str
    size: int


@dataclass(frozen=True)
class Archive:
    """An open backup whose list of contents was checked, but not yet the contents."""

    zip: ZipFile
    members: Mapping[str, Member]
    about: Mapping[str, Any]

    @property
    def originals(self) -> list[str]:
        return [name[-64:] for name in self.members if name.startswith("originals/")]

    @property
    def thumbnails(self) -> list[str]:
        return [name[-64:] for name in self.members if name.startswith("thumbnails/")]

    def verify_rows(self) -> None:
        """Read every member that holds rows to its end, which compares its hash."""
        for name in ROWS:
            for _ in self.parts(name):
                pass

    def parts(self, name: str) -> Iterator[bytes]:
        """A member in pieces; an error, at the end at the latest, if it is not as stated."""
        return _checked_parts(self.zip, name, self.members[name])

    def lines(self, name: str) -> Iterator[bytes]:
        """A member line by line."""
        rest = bytearray()
        for part in self.parts(name):
            rest += part
            if len(rest) > LONGEST_LINE:
                raise _damaged("a line is too long")
            if b"\n" in part:
                *whole, rest = rest.split(b"\n")
                yield from map(bytes, whole)
        if rest:
            raise _damaged("the last line is cut off")


@contextmanager
def opened_archive(file: Path) -> Iterator[Archive]:
    """A backup whose members are those its manifest states."""
    try:
        with told_of_disk("not restored"), ZipFile(file) as archive:
            yield _archive(archive, file.stat().st_size)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise _damaged("it is no whole ZIP file") from error


def _archive(archive: ZipFile, packed: int) -> Archive:
    infos = archive.infolist()
    names = {info.filename for info in infos}
    if len(names) != len(infos) or len(infos) > MOST_MEMBERS:
        raise _damaged("its list of members is not plausible")
    for info in infos:
        _check_member(info)
    members = _manifest(archive, MOST_IN_ENTRY * len(infos))
    _check_sizes(members, packed)
    if names != {*members, MANIFEST} or not {PROJECT, *ROWS} <= names:
        raise _damaged("members are missing or too many")
    about = _object(b"".join(_checked_parts(archive, PROJECT, members[PROJECT])), PROJECT)
    _check_about(about)
    return Archive(archive, members, about)


def _check_member(info: ZipInfo) -> None:
    if not MEMBER.fullmatch(info.filename):
        raise _damaged(f"{shown(info.filename)} does not belong into it")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise _damaged(f"{shown(info.filename)} is packed in an unknown way")


def _check_sizes(members: Mapping[str, Member], packed: int) -> None:
    """Refuse what would fill disk or memory; no member can become larger than stated."""
    for name, member in members.items():
        most = MOST_IN_THUMBNAIL if name.startswith("thumbnails/") else MOST_BYTES
        if member.size > (MOST_IN_PROJECT if name == PROJECT else most):
            raise _damaged(f"{shown(name)} is too large")
    total = sum(member.size for member in members.values())
    if total > min(MOST_BYTES, max(RATIO_FROM, MOST_RATIO * packed)):
        raise _damaged("it claims to be larger than any project")


def _manifest(archive: ZipFile, most: int) -> dict[str, Member]:
    if MANIFEST not in archive.namelist():
        raise _damaged("it has no manifest")
    stated = _object(b"".join(_limited(archive, MANIFEST, most)), MANIFEST)
    return {name: _member(entry) for name, entry in stated.items()}


def _member(entry: object) -> Member:
    match entry:
        case {"sha256": str(sha256), "size": int(size)} if size >= 0:
            return Member(sha256, size)
    raise _damaged(f"the manifest holds {shown(entry)}")


def _check_about(about: Mapping[str, Any]) -> None:
    if about.get("format") != FORMAT:
        raise _damaged("it is of another kind")
    version = about.get("schema_version")
    if version != VERSION:
        raise DataError(
            f"the backup has the format {shown(version)}, known is {VERSION} — use the version of "
            "this program that made it, or a newer one"
        )


def _checked_parts(archive: ZipFile, name: str, member: Member) -> Iterator[bytes]:
    digest, size = hashlib.sha256(), 0
    for part in _limited(archive, name, member.size):
        digest.update(part)
        size += len(part)
        yield part
    if size != member.size or digest.hexdigest() != member.sha256:
        raise _damaged(f"{shown(name)} was altered")


def _limited(archive: ZipFile, name: str, most: int) -> Iterator[bytes]:
    """What a member inflates to, given up as soon as it is more than stated."""
    size = 0
    with archive.open(name) as file:
        while part := file.read(_CHUNK):
            size += len(part)
            if size > most:
                raise _damaged(f"{shown(name)} is larger than stated")
            yield part


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _damaged(f"{name} cannot be read")
    return found


def _damaged(why: str) -> DataError:
    return DataError(f"not restored: the file is no sound backup ({why}) — use another copy")
