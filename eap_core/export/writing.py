"""A bundle on the disk: a ZIP or a folder that is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from eap_core.export.members import Member
from eap_core.progress import Progress, part_of, silent
from eap_core.store.blobs import pieces, sync_folder, whole_file
from eap_core.store.failures import told_of_disk

PARTIAL = ".partial-"
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same bundle has the same bytes, whenever it is made
_PACKED = (".csv", ".json", ".md", ".bmp")  # the others are packed already
_UNIX, _RIGHTS = 3, 0o100644 << 16


@contextmanager
def written_zip(
    members: Sequence[Member], target: Path, progress: Progress = silent
) -> Iterator[str]:
    """Write a ZIP and give its SHA-256; it gets its name when the block ends without an error."""
    with told_of_disk(), whole_file(target) as file:
        with ZipFile(file, "w", allowZip64=True) as archive:
            for member in _counted(members, part_of(progress, 0.0, 0.9)):
                _write(archive, member)
        yield _sha256(file, part_of(progress, 0.9, 1.0))


def write_folder(members: Sequence[Member], target: Path, progress: Progress = silent) -> None:
    """Write a new folder, all of it on the disk before it gets its name."""
    with told_of_disk():
        partial = Path(mkdtemp(prefix=PARTIAL, dir=target.parent))
        try:
            for member in _counted(members, progress):
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


def write_files(files: Sequence[tuple[Path, Member]]) -> None:
    """Write single files, each whole; the last tells of the others, so that it is only there when
    they are: its old one goes before any is replaced, the new one comes when all have been."""
    with told_of_disk(), ExitStack() as stack:
        for path, member in reversed(files):  # they get their names in the opposite order
            file = stack.enter_context(whole_file(path))
            for part in member.parts():
                file.write(part)
            file.flush()  # a full disk is told before anything is replaced
        files[-1][0].unlink(missing_ok=True)
        sync_folder(files[-1][0].parent)


def _counted(members: Sequence[Member], progress: Progress) -> Iterator[Member]:
    """The members in turn, with the share of bytes before each reported."""
    total = sum(member.size for member in members) or 1
    done = 0
    for member in members:
        progress(done / total, "writing the bundle")
        yield member
        done += member.size
    progress(1.0, "writing the bundle")


def _write(archive: ZipFile, member: Member) -> None:
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
