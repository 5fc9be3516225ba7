"""One thing worth knowing about the data: how grave, what, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from eap_core.errors import printable

Severity = Literal["stop", "warning", "note"]
_TOLD, _LONGEST = 3, 120
_GRAVEST_FIRST: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Finding:
    """``stop`` means it cannot be scored like this; ``code`` is the finding's name for machines.

    ``where`` names the items concerned, all of them.
    """

    code: str
    severity: Severity
    what: str
    todo: str = ""
    where: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        shown = "; ".join(_cut(printable(place)) for place in self.where[:_TOLD])
        more = f" and {len(self.where) - _TOLD:,} more" if len(self.where) > _TOLD else ""
        places = f": {shown}{more}" if self.where else ""
        advice = f" — {self.todo}" if self.todo else ""
        return f"{self.what}{places}{advice}"

    @property
    def record(self) -> dict[str, Any]:
        """The finding as plain data, for a manifest."""
        return {
            "code": self.code,
            "severity": self.severity,
            "what": self.what,
            "todo": self.todo,
            "where": list(self.where),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Finding:
        return cls(**{**record, "where": tuple(record["where"])})


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In order of severity, and as found within one."""
    return tuple(sorted(findings, key=lambda finding: _GRAVEST_FIRST.index(finding.severity)))


def counted(number: int, one: str, many: str | None = None) -> str:
    """Such as "1 file" or "3 files"."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def share(part: int, whole: int, what: str) -> str:
    """Such as "3 of 40 candidates" or "all 40 candidates"."""
    return f"all {whole:,} {what}" if part == whole else f"{part:,} of {whole:,} {what}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
