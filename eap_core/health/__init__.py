"""What a person should know about the data before trusting a score, and after.

Here: findings, gravest first, and those that images and tables share: copies, amounts, neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from eap_core.base.errors import escape_controls
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats, Ints, Role
from eap_core.scoring.distances import SquaredDistances

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
        shown = "; ".join(_cut(escape_controls(place)) for place in self.where[:_TOLD])
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


def sort_by_gravity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In order of severity, and as found within one."""
    return tuple(sorted(findings, key=lambda finding: _GRAVEST_FIRST.index(finding.severity)))


def count_things(number: int, one: str, many: str | None = None) -> str:
    """Such as "1 file" or "3 files"."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def share(part: int, whole: int, what: str) -> str:
    """Such as "3 of 40 candidates" or "all 40 candidates"."""
    return f"all {whole:,} {what}" if part == whole else f"{part:,} of {whole:,} {what}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# The same thing twice: within a role, and, worse, between roles.
#
# Two entries are the same when their keys are: the digest of an image's pixels, or a row's numbers.

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


def find_copies(entries: Sequence[Entry]) -> Iterator[Finding]:
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


# Whether there is enough of each role to score at all, and to trust the score.

FEWEST_NORMALS = 3
_COMFORTABLE_NORMALS = 50
_COMFORTABLE_ANOMALIES = 5


def find_amounts(count: Mapping[Role, int]) -> Iterator[Finding]:
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


# The nearest other row of each row: where near-duplicates are looked for.


def find_nearest(
    rows: Floats, others: Floats, progress: Progress = silent, own: Ints | None = None
) -> tuple[Ints, Floats]:
    """Position and distance of each row's nearest among ``others``.

    ``own`` are the rows' own positions there, for a row is not its own neighbour.
    """
    distances = SquaredDistances(rows, others, visited_again=False)

    def look(block: slice, squared: Floats) -> tuple[Ints, Floats]:
        each = np.arange(len(squared))
        if own is not None:
            squared[each, own[block]] = np.inf
        where = np.argmin(squared, axis=1)
        return where, squared[each, where]

    found = list(distances.map(look, progress, "comparing"))
    return (
        np.concatenate([where for where, _ in found]),
        np.sqrt(np.concatenate([squared for _, squared in found])),
    )
