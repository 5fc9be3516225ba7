"""The same thing twice: within a role, and, worse, between roles.

Two entries are the same when their keys are: the digest of an image's pixels, or a row's numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eap_core.health.finding import Finding, share
from eap_core.roles import Role

PLURAL: dict[Role, str] = {
    "normal": "normals",
    "anomaly": "real anomalies",
    "candidate": "candidates",
    "test_normal": "test normals",
    "test_anomaly": "test anomalies",
}


@dataclass(frozen=True)
class Entry:
    """An item by name, its role, and what makes two of them the same."""

    name: str
    role: Role
    key: bytes


@dataclass(frozen=True)
class _Crossing:
    """Items of one role that must not be found again in others."""

    code: str
    role: Role
    others: tuple[Role, ...]
    means: str
    todo: str


_CROSSINGS = (
    _Crossing(
        "candidate-is-normal",
        "candidate",
        ("normal", "test_normal"),
        "exact copies of a normal",
        "the generator changed nothing; reject them",
    ),
    _Crossing(
        "candidate-is-anomaly",
        "candidate",
        ("anomaly",),
        "exact copies of a real anomaly",
        "they add nothing new and look better than they are; reject them",
    ),
    _Crossing(
        "candidate-in-test",
        "candidate",
        ("test_anomaly",),
        "exact copies of a test anomaly",
        "whatever is measured on the test data is too good; remove them",
    ),
    _Crossing(
        "train-in-test",
        "test_normal",
        ("normal",),
        "also among the training normals",
        "whatever is measured on the test data is too good; remove them there",
    ),
    _Crossing(
        "train-in-test",
        "test_anomaly",
        ("anomaly",),
        "also among the real anomalies for training",
        "whatever is measured on the test data is too good; remove them there",
    ),
    _Crossing(
        "contradiction",
        "anomaly",
        ("normal",),
        "also among the normals",
        "one of the two roles is wrong; remove them from it",
    ),
)


def copies(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Duplicates within each role, then copies from one role to another."""
    by_role: dict[Role, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_role[entry.role].append(entry)
    for role, own in by_role.items():
        yield from _within(role, own)
    for crossing in _CROSSINGS:
        yield from _between(crossing, by_role)


def _within(role: Role, entries: Sequence[Entry]) -> Iterator[Finding]:
    first: dict[bytes, str] = {}
    again = [
        f"{entry.name} = {first[entry.key]}"
        for entry in entries
        if first.setdefault(entry.key, entry.name) != entry.name
    ]
    if not again:
        return
    consequence = {
        "candidate": "they get the same score; keep one of each",
        "normal": "they make their place look denser than it is; keep one of each",
    }.get(role, "keep one of each")
    yield Finding(
        f"duplicate-{role}",
        "warning",
        f"{share(len(again), len(entries), PLURAL[role])} are exact duplicates of another",
        consequence,
        tuple(again),
    )


def _between(crossing: _Crossing, by_role: dict[Role, list[Entry]]) -> Iterator[Finding]:
    own = by_role.get(crossing.role, [])
    theirs: dict[bytes, str] = {}
    for other in crossing.others:
        for entry in by_role.get(other, []):
            theirs.setdefault(entry.key, entry.name)
    found = [f"{entry.name} = {theirs[entry.key]}" for entry in own if entry.key in theirs]
    if found:
        what = f"{share(len(found), len(own), PLURAL[crossing.role])} are {crossing.means}"
        yield Finding(crossing.code, "warning", what, crossing.todo, tuple(found))
