"""Files by the SHA-256 of their content: whole or absent, checked when read, stored once."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from eap_core.base.errors import DataError, quote
from eap_core.base.files import PARTIAL, make_partial, sync_folder, whole_file
from eap_core.store.errors import explain_disk_errors

_HASH = re.compile(r"[0-9a-f]{64}")
_CHUNK = 2**20
_DAY = 86_400


@dataclass(frozen=True)
class Blobs:
    """The originals and thumbnails below one folder."""

    folder: Path

    def put(self, data: bytes) -> str:
        """Store an original; it is on the disk when this returns."""
        return self._put((data,))

    def put_file(self, path: Path) -> str:
        """Store a copy of a file, read in pieces."""
        with explain_disk_errors(), path.open("rb") as file:
            return self._put(pieces(file))

    def put_pieces(self, parts: Iterable[bytes], expected: str) -> None:
        """Store an original that must have the expected hash; nothing is kept if it has not."""
        self._put(parts, expected)

    def put_thumbnail(self, sha256: str, data: bytes) -> None:
        """Store the thumbnail of an original; not forced to the disk, since it can be remade."""
        with explain_disk_errors(), whole_file(self.thumbnail_path(sha256), durable=False) as file:
            file.write(data)

    def path(self, sha256: str) -> Path:
        return self._place("originals", sha256)

    def thumbnail_path(self, sha256: str) -> Path:
        return self._place("thumbnails", sha256)

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def read(self, sha256: str) -> bytes:
        """The content of an original, refused when it is not what was stored."""
        with self._opened(sha256) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise self._altered(sha256)
        return data

    def verified(self, sha256: str) -> Path:
        """The path of an original whose content was just checked."""
        with self._opened(sha256) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise self._altered(sha256)
        return self.path(sha256)

    def remove(self, sha256: str) -> None:
        """Delete an original and its thumbnail; whoever calls knows that nobody uses it."""
        with explain_disk_errors("not removed"):
            self.path(sha256).unlink(missing_ok=True)
            self.thumbnail_path(sha256).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what uploads that broke off left more than a day ago."""
        for partial in (self.folder / "incoming").glob(f"{PARTIAL}*"):
            with suppress(OSError):  # another process may be faster, and nobody needs it
                if time.time() - partial.stat().st_mtime > _DAY:
                    partial.unlink()

    def _put(self, parts: Iterable[bytes], expected: str | None = None) -> str:
        incoming = self.folder / "incoming"
        with explain_disk_errors():
            incoming.mkdir(parents=True, exist_ok=True)
            partial = make_partial(incoming)
            try:
                with partial.open("wb") as file:
                    digest = _write_parts(file, parts)
                if expected is not None and digest != expected:
                    raise DataError(
                        f"a file's content does not match its hash {expected[:12]}…",
                        advice="it was altered after it was stored",
                    )
                _move(partial, self.path(digest))
            finally:
                partial.unlink(missing_ok=True)
        return digest

    def _place(self, kind: str, sha256: str) -> Path:
        if not is_hash(sha256):
            raise DataError(
                f"{quote(sha256)} is no SHA-256",
                advice="64 hexadecimal digits are needed",
            )
        return self.folder / kind / sha256[:2] / sha256

    @contextmanager
    def _opened(self, sha256: str) -> Iterator[BufferedReader]:
        try:
            file = self.path(sha256).open("rb")
        except FileNotFoundError:
            raise DataError(
                f"the stored file {sha256[:12]}… is missing",
                advice="restore a backup or upload it again",
            ) from None
        with file:
            yield file

    def _altered(self, sha256: str) -> DataError:
        return DataError(
            f"the stored file {sha256[:12]}… was altered on the disk",
            advice="restore a backup or upload it again",
        )


def is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """A file's content in pieces of one megabyte."""
    while part := file.read(_CHUNK):
        yield part


def _write_parts(file: BinaryIO, parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        file.write(part)
    file.flush()
    os.fsync(file.fileno())
    return digest.hexdigest()


def _move(partial: Path, target: Path) -> None:
    """Rename even over an existing file: what lies there may have rotted, this copy is right."""
    new_folder = not target.parent.exists()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(target)
    sync_folder(target.parent)
    if new_folder:
        sync_folder(target.parent.parent)
