"""Whether there is enough of each role to score at all, and to trust the score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eap_core.health.finding import Finding
from eap_core.roles import Role

FEWEST_NORMALS = 3
_COMFORTABLE_NORMALS = 50
_COMFORTABLE_ANOMALIES = 5


def amounts(count: Mapping[Role, int]) -> Iterator[Finding]:
    """What is missing, and what is thin."""
    normals, anomalies = count.get("normal", 0), count.get("anomaly", 0)
    if not count.get("candidate"):
        yield Finding(
            "no-candidates", "stop", "there are no candidates", "add what is to be judged"
        )
    if normals < FEWEST_NORMALS:
        yield Finding(
            "too-few-normals",
            "stop",
            f"there are {normals} normals" if normals else "there are no normals",
            f"at least {FEWEST_NORMALS} are needed, and {_COMFORTABLE_NORMALS} or more "
            "for scores that mean something",
        )
    elif normals < _COMFORTABLE_NORMALS:
        yield Finding(
            "few-normals",
            "warning",
            f"{normals} normals show little of what normal can look like",
            f"add some: scores settle from about {_COMFORTABLE_NORMALS} on",
        )
    if anomalies and 2 * anomalies >= normals + anomalies:
        yield Finding(
            "too-many-anomalies",
            "warning",
            f"{anomalies:,} real anomalies stand against {normals:,} normals",
            "the ranking guarantee needs anomalies to be rare, so only some of them are used; "
            "add normals, or keep anomalies for the test",
        )
    if not anomalies:
        yield Finding(
            "no-anomalies",
            "warning",
            "there are no real anomalies, so how far realistic ones lie from the normals cannot be "
            "learned",
            "add a few if you can; otherwise state the share of anomalies you expect",
        )
    elif anomalies < _COMFORTABLE_ANOMALIES:
        few = "one real anomaly is" if anomalies == 1 else f"{anomalies} real anomalies are"
        yield Finding("few-anomalies", "note", f"{few} little to learn from", "add more if you can")
