"""What can be done with a project in the store: fill it, look at its health, score it.

Here: files as a person gives them: where each lies, and what they call it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from eap_core.base.table import Role

# "train" and "test" hold both classes: a table by its label column, images by their folders.
Target = Role | Literal["train", "test"]
_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".npz", ".npy")


def role_of(target: Target | None) -> Role | None:
    """The one role that everything gets, if it does."""
    if target is None or target == "train" or target == "test":
        return None
    return target


@dataclass(frozen=True)
class InputFile:
    """A file or folder; uploads lie under a hash, so the name is kept beside the path."""

    path: Path
    name: str

    @classmethod
    def at(cls, path: Path) -> InputFile:
        return cls(path, path.name or str(path.resolve().name))

    @property
    def is_table(self) -> bool:
        """Whether it is rows; a table named metadata describes images."""
        return self.ends_as_table and self._called.stem.casefold() != "metadata"

    @property
    def ends_as_table(self) -> bool:
        return self._called.suffix.casefold() in _TABLES

    @property
    def _called(self) -> PurePosixPath:
        return PurePosixPath(self.name.replace("\\", "/"))


@dataclass(frozen=True)
class IntakeReport:
    """What became of the files that were given."""

    counts: dict[Role, int] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()  # name and reason: a sentence together
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        return {
            "counts": dict(self.counts),
            "skipped": [list(pair) for pair in self.skipped],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> IntakeReport:
        return cls(
            dict(record["counts"]),
            tuple((name, reason) for name, reason in record["skipped"]),
            tuple(record["notes"]),
            tuple(record["warnings"]),
        )


def sum_reports(parts: Iterable[IntakeReport]) -> IntakeReport:
    """Several takings as one."""
    found = list(parts)
    counts: Counter[Role] = Counter()
    for part in found:
        counts.update(part.counts)
    return IntakeReport(
        dict(counts),
        tuple(pair for part in found for pair in part.skipped),
        tuple(note for part in found for note in part.notes),
        tuple(warning for part in found for warning in part.warnings),
    )


def one_name(given: Sequence[InputFile]) -> str:
    """What an upload of these files is called in lists."""
    return given[0].name if len(given) == 1 else f"{given[0].name} and {len(given) - 1:,} more"
