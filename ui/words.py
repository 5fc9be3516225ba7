"""Names and values are data: shown as they are, whatever signs they hold."""

from __future__ import annotations

import re

from eap_core.errors import printable
from eap_core.health.finding import Severity
from eap_core.roles import Role

ROLE_WORDS: dict[Role, str] = {
    "normal": "Normals",
    "anomaly": "Real anomalies",
    "candidate": "Candidates",
    "test_normal": "Test normals",
    "test_anomaly": "Test anomalies",
}
SEVERITY_WORDS: dict[Severity, str] = {
    "stop": "Must be mended before scoring",
    "warning": "Worth a look",
    "note": "Good to know",
}
_INVISIBLE = "\u2060"  # between the signs that would turn an address into a link
_LINKS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)")
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$:&])")


def plain(text: str) -> str:
    """Text for a place that understands Markdown, with every mark taken literally."""
    return _MARKS.sub(r"\\\1", _LINKS.sub(_INVISIBLE, printable(text)))


def duration(seconds: float) -> str:
    """A time to wait, as a person would say it."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.1f} hours"
