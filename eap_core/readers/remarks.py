"""What a person should know about how a file was read."""

from __future__ import annotations

from dataclasses import dataclass, field


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
