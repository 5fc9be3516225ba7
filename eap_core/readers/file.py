"""A file and what the person calls it: an upload is stored under another name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from eap_core.errors import shown


@dataclass(frozen=True)
class File:
    """Where the bytes are, and the name that messages, made ids and the ending come from."""

    path: Path
    name: str

    @property
    def source(self) -> str:
        """The name as messages show it: without folders, escaped and cut."""
        return shown(self._last.name or self.name)[1:-1]

    @property
    def stem(self) -> str:
        """The name without its ending, as ids may hold it."""
        stem = self._last.stem
        return stem if stem.isprintable() else shown(stem)[1:-1]

    @property
    def ending(self) -> str:
        return self._last.suffix.lower()

    @property
    def _last(self) -> PurePosixPath:
        return PurePosixPath(self.name)
