"""The files of a bundle: what each holds is known, with its hash, before the first is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eap_core.errors import DataError
from eap_core.store.blobs import Blobs, pieces

_HEAD = 16


@dataclass(frozen=True)
class Member:
    """A file by its path in the bundle: bytes made here, or an original of the store."""

    path: str
    size: int
    sha256: str
    data: bytes | None = None
    source: Path | None = None

    @classmethod
    def made(cls, path: str, data: bytes) -> Member:
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
                f"the stored file {self.sha256[:12]}… was altered on the disk — restore a backup "
                "or upload it again"
            )


@dataclass(frozen=True)
class Original:
    """A file of the store before it has a place: its size and how it begins."""

    sha256: str
    source: Path
    size: int
    head: bytes

    def at(self, path: str) -> Member:
        return Member(path, self.size, self.sha256, source=self.source)


def original(blobs: Blobs, sha256: str) -> Original:
    """An original, or the sentence that it is missing."""
    path = blobs.path(sha256)
    try:
        with path.open("rb") as file:
            return Original(sha256, path, path.stat().st_size, file.read(_HEAD))
    except FileNotFoundError:
        blobs.verified(sha256)  # says so
        raise
