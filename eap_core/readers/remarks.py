"""What the caller asked for, and what a person should know about how a file was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eap_core.errors import shown


@dataclass(frozen=True)
class Asked:
    """What the caller said about the roles of columns."""

    label: str | None = None
    id_column: str | None = None
    array: str | None = None
    exclude: tuple[str, ...] = ()


@dataclass
class Remarks:
    """Collects what a person should know about how one file was read."""

    source: str
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Harmless information."""
        self.notes.append(f"{self.source}: {text}")

    def warn(self, text: str) -> None:
        """Something a person should look at."""
        self.warnings.append(f"{self.source}: {text}")


def source_name(path: Path) -> str:
    """The file's name as messages show it: without folders, escaped and cut."""
    return shown(path.name)[1:-1]
