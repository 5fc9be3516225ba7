"""Names inside a bundle: safe on every system, never a name that somebody else chose as it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from eap_core.images.formats import format_of

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
