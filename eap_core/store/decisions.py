"""The log of decisions: appended to, never changed, and on the disk before it is acknowledged."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from sqlalchemy import Connection, bindparam, func, select, union

from eap_core.base.errors import DataError, list_names, quote
from eap_core.base.files import pause_gc
from eap_core.review import REASONS, VERDICTS, Decision, ItemState, fold
from eap_core.store import check_text
from eap_core.store.projects import lock_project
from eap_core.store.store import Store, decisions, items, now

# What may not enter the log, each with the sentence that says so.

LONGEST_NOTE = 2_000
_LONGEST_REVIEWER = 100
_LONGEST_ID = 64
# A retry may know more of the log than the first try did, so ``seen`` is no part of the content.
_content = attrgetter("uuid", "item", "verdict", "reviewer", "reason", "note", "batch", "undo_of")


def check_decisions(decision: Decision) -> None:
    """Refuse a decision that is not one, whatever the log holds."""
    _refuse_unknown(decision.verdict, VERDICTS, "verdict")
    if decision.reason is not None:
        _refuse_unknown(decision.reason, tuple(REASONS), "reason")
    if (decision.verdict == "undo") != (decision.undo_of is not None):
        raise DataError("an undo must name the decision it takes back, and only an undo may")
    check_text(decision.reviewer.strip(), "the reviewer's name", most=_LONGEST_REVIEWER, least=1)
    check_text(decision.note, "the note", most=LONGEST_NOTE)
    for text in (decision.uuid, decision.item, decision.batch, decision.undo_of):
        if text is not None:
            check_text(text, "an id", most=_LONGEST_ID, least=1)


def skip_known(new: Sequence[Decision], known: Mapping[str, Decision]) -> list[Decision]:
    """What is not saved yet, each once; a uuid with another content is refused."""
    found = dict(known)
    for decision in new:
        before = found.setdefault(decision.uuid, decision)
        if _content(before) != _content(decision):
            raise DataError(
                f"the decision {quote(decision.uuid)} is saved with another content",
                advice="a new decision needs a new uuid",
            )
    return [decision for uuid, decision in found.items() if uuid not in known]


def _refuse_unknown(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise DataError(
            f"{quote(value)} is no {what}",
            advice=f"choose one of {', '.join(allowed)}",
        )


# Undos of undos form a chain; its root is the decision the chain is about.
#
# A row can be undone once, so a chain never branches and its root holds exactly when the number of
# undos above it is even. The log keeps each undo's root, which lets SQL count decisions.

T = TypeVar("T")
_AT_ONCE = 5_000
_TARGETS = select(decisions.c.uuid, decisions.c.item, decisions.c.root).where(
    decisions.c.project == bindparam("project"),
    decisions.c.uuid.in_(bindparam("named", expanding=True)),
)
_UNDONE_BY = select(decisions.c.undo_of, decisions.c.reviewer).where(
    decisions.c.project == bindparam("project"),
    decisions.c.undo_of.in_(bindparam("named", expanding=True)),
)


@dataclass(frozen=True)
class _Target:
    item: str
    root: str | None


def find_roots(connection: Connection, project: str, new: Sequence[Decision]) -> dict[str, str]:
    """The root of each undo among new rows, which may undo earlier rows or one another."""
    named = [row.undo_of for row in new if row.undo_of is not None]
    if not named:
        return {}
    targets = _targets(connection, project, named)
    undone_by = _undone_by(connection, project, named)
    found: dict[str, str] = {}
    for row in new:
        root = None
        if row.undo_of is not None:
            target = targets.get(row.undo_of)
            _refuse(row, row.undo_of, target, undone_by)
            undone_by[row.undo_of] = row.reviewer
            root = found[row.uuid] = (target and target.root) or row.undo_of
        targets[row.uuid] = _Target(row.item, root)
    return found


def split_chains(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Few enough at once for one statement."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _targets(connection: Connection, project: str, named: Sequence[str]) -> dict[str, _Target]:
    found = {}
    for part in split_chains(named):
        rows = connection.execute(_TARGETS, {"project": project, "named": part})
        found.update({uuid: _Target(item, root) for uuid, item, root in rows})
    return found


def _undone_by(connection: Connection, project: str, named: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in split_chains(named):
        rows = connection.execute(_UNDONE_BY, {"project": project, "named": part})
        found.update(rows.all())
    return found


def _refuse(row: Decision, undone: str, target: _Target | None, undone_by: dict[str, str]) -> None:
    if target is None or target.item != row.item:
        raise DataError(
            f"there is no decision {quote(undone)} on this item to undo",
            advice="look again",
            code="stale",
        )
    if undone in undone_by:
        raise DataError(
            f"the decision was already undone by {quote(undone_by[undone])}",
            advice="look again",
            code="stale",
        )


_FIELDS = Decision._fields
# Statements are built once: for a single decision building them would cost more than running them.
_of_project = decisions.c.project == bindparam("project")
_ROWS = select(*(decisions.c[name] for name in _FIELDS)).where(_of_project)
_SINCE = _ROWS.where(decisions.c.seq > bindparam("since")).order_by(decisions.c.seq)
# A union, since SQLite would answer an OR by reading the whole log.
_TOUCHING = union(
    _ROWS.where(decisions.c.uuid.in_(bindparam("uuids", expanding=True))),
    _ROWS.where(decisions.c.item.in_(bindparam("items", expanding=True))),
)
_LAST_SEQ = select(func.coalesce(func.max(decisions.c.seq), 0)).where(_of_project)
_KNOWN_ITEMS = select(items.c.id).where(
    items.c.project == bindparam("project"), items.c.id.in_(bindparam("items", expanding=True))
)
_INSERT = decisions.insert()


@dataclass(frozen=True)
class Acknowledgement:
    """A decision is on the disk: ``repeated`` if it was before, ``conflict`` is what somebody else
    decided about the item without this reviewer having seen it."""

    uuid: str
    seq: int
    at: datetime
    repeated: bool
    conflict: Decision | None


def append(store: Store, project: str, new: Sequence[Decision]) -> list[Acknowledgement]:
    """Save decisions, all or none. Sent again, they change nothing and are acknowledged alike."""
    for decision in new:
        check_decisions(decision)
    if not new:
        return []
    with store.writing() as connection:
        lock_project(connection, project)  # in turn: nobody can see a row before one of a lower seq
        touching = _touching(connection, project, new)
        sent = {d.uuid for d in new}
        before = {row.uuid: row for row in touching if row.uuid in sent}
        added = _insert(connection, project, skip_known(new, before))
    rows = before | {row.uuid: row for row in added}
    overlooked = _find_overlooked([*touching, *added], max(row.seq for row in rows.values()))
    return [
        Acknowledgement(
            d.uuid, rows[d.uuid].seq, _at(rows[d.uuid]), d.uuid in before, overlooked.get(d.uuid)
        )
        for d in new
    ]


def read_log(store: Store, project: str, since: int = 0) -> list[Decision]:
    """The rows after ``since``, in order; rows that come later have a higher seq."""
    with store.reading() as connection, pause_gc():
        rows = connection.execute(_SINCE, {"project": project, "since": since})
        return [Decision._make(row) for row in rows]


def _insert(connection: Connection, project: str, new: Sequence[Decision]) -> list[Decision]:
    if not new:
        return []
    _refuse_unknown_items(connection, project, new)
    root_of = find_roots(connection, project, new)
    start, at = connection.execute(_LAST_SEQ, {"project": project}).scalar_one(), now()
    saved = [d._replace(seq=start + i, at=at) for i, d in enumerate(new, 1)]
    connection.execute(
        _INSERT,
        [
            {"project": project, "root": root_of.get(d.uuid)}
            | {name: getattr(d, name) for name in _FIELDS}
            for d in saved
        ],
    )
    return saved


def _touching(connection: Connection, project: str, new: Sequence[Decision]) -> list[Decision]:
    """What the log holds of the same uuids or about the same items, in order."""
    found: dict[str, Decision] = {}
    for part in split_chains(new):
        named = {
            "project": project,
            "uuids": [d.uuid for d in part],
            "items": list({d.item for d in part}),
        }
        found.update(
            {row.uuid: Decision(*row) for row in connection.execute(_TOUCHING, named).all()}
        )
    return sorted(found.values(), key=lambda row: row.seq)


def _find_overlooked(log: Sequence[Decision], until: int) -> dict[str, Decision]:
    """By uuid, what each row did not know of, as the log stood at ``until``."""
    return {
        conflict.later.uuid: conflict.earlier
        for state in fold([row for row in log if row.seq <= until]).values()
        for conflict in state.conflicts
    }


def _refuse_unknown_items(connection: Connection, project: str, new: Sequence[Decision]) -> None:
    wanted = list(dict.fromkeys(d.item for d in new))
    found: set[str] = set()
    for part in split_chains(wanted):
        rows = connection.execute(_KNOWN_ITEMS, {"project": project, "items": part})
        found.update(rows.scalars())
    unknown = [item for item in wanted if item not in found]
    if unknown:
        raise DataError(
            f"the project has no item {list_names(unknown)}",
            advice="look again",
            code="stale",
        )


def _at(row: Decision) -> datetime:
    assert row.at is not None  # set by _insert, and never null in the log
    return row.at


# The log of one project, kept folded: a new row costs as much as its own item's rows.


@dataclass(frozen=True, eq=False)
class ReviewState:
    """How a project stands after the row ``seq``; the log may grow behind it, its states do not."""

    seq: int
    log: Sequence[Decision]
    states: Mapping[str, ItemState]

    @property
    def last_saved(self) -> datetime | None:
        return self.log[-1].at if self.log else None

    def counts(self, candidates: Sequence[str]) -> tuple[int, int]:
        """How many of these are decided on, and how many of those accepted."""
        found = [self.states[item].verdict for item in candidates if item in self.states]
        accepted = found.count("accept")
        return accepted + found.count("reject"), accepted


class Ledger:
    """Shared by all visitors of a server: reads only what is new, and folds only what it is about.

    An undo names the item of the row it takes back, so an item's own rows decide its state.
    """

    def __init__(self, store: Store, project: str) -> None:
        self._store, self._project = store, project
        self._lock = threading.Lock()
        self._by_item: defaultdict[str, list[Decision]] = defaultdict(list)
        self._now = ReviewState(0, [], {})

    def now(self) -> ReviewState:
        """The project as the store has it at this moment."""
        with self._lock:
            # The last known row comes along: after a restored backup it may be another one.
            rows = read_log(self._store, self._project, self._now.seq - 1)
            last = self._now.log[-1].uuid if self._now.log else None
            if last is not None and (not rows or rows[0].uuid != last):
                self._by_item.clear()
                self._now, last = ReviewState(0, [], {}), None
                rows = read_log(self._store, self._project)
            new = rows[1:] if last else rows
            if new:
                self._now = self._with(new)
            return self._now

    def _with(self, new: Sequence[Decision]) -> ReviewState:
        for row in new:
            self._by_item[row.item].append(row)
        rows = [row for item in {row.item for row in new} for row in self._by_item[item]]
        states = {**self._now.states, **fold(rows)}
        return ReviewState(new[-1].seq, [*self._now.log, *new], states)
