"""The log of decisions: appended to, never changed, and on the disk before it is acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, select, union

from eap_core.collector import paused_collector
from eap_core.errors import DataError, listed
from eap_core.review import Decision, fold
from eap_core.store.decision_checks import check, fresh
from eap_core.store.projects import hold
from eap_core.store.schema import decisions, items, now
from eap_core.store.store import Store
from eap_core.store.undo_chains import parts, roots

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
class Ack:
    """A decision is on the disk: ``repeated`` if it was before, ``conflict`` is what somebody else
    decided about the item without this reviewer having seen it."""

    uuid: str
    seq: int
    at: datetime
    repeated: bool
    conflict: Decision | None


def append(store: Store, project: str, new: Sequence[Decision]) -> list[Ack]:
    """Save decisions, all or none. Sent again, they change nothing and are acknowledged alike."""
    for decision in new:
        check(decision)
    if not new:
        return []
    with store.writing() as connection:
        hold(connection, project)  # in turn: nobody can see a row before one of a lower seq
        touching = _touching(connection, project, new)
        sent = {d.uuid for d in new}
        before = {row.uuid: row for row in touching if row.uuid in sent}
        added = _insert(connection, project, fresh(new, before))
    rows = before | {row.uuid: row for row in added}
    overlooked = _overlooked([*touching, *added], max(row.seq for row in rows.values()))
    return [
        Ack(d.uuid, rows[d.uuid].seq, _at(rows[d.uuid]), d.uuid in before, overlooked.get(d.uuid))
        for d in new
    ]


def log(store: Store, project: str, since: int = 0) -> list[Decision]:
    """The rows after ``since``, in order; rows that come later have a higher seq."""
    with store.reading() as connection, paused_collector():
        rows = connection.execute(_SINCE, {"project": project, "since": since})
        return [Decision._make(row) for row in rows]


def _insert(connection: Connection, project: str, new: Sequence[Decision]) -> list[Decision]:
    if not new:
        return []
    _refuse_unknown_items(connection, project, new)
    root_of = roots(connection, project, new)
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
    for part in parts(new):
        named = {
            "project": project,
            "uuids": [d.uuid for d in part],
            "items": list({d.item for d in part}),
        }
        found.update(
            {row.uuid: Decision(*row) for row in connection.execute(_TOUCHING, named).all()}
        )
    return sorted(found.values(), key=lambda row: row.seq)


def _overlooked(log: Sequence[Decision], until: int) -> dict[str, Decision]:
    """By uuid, what each row did not know of, as the log stood at ``until``."""
    return {
        conflict.later.uuid: conflict.earlier
        for state in fold([row for row in log if row.seq <= until]).values()
        for conflict in state.conflicts
    }


def _refuse_unknown_items(connection: Connection, project: str, new: Sequence[Decision]) -> None:
    wanted = list(dict.fromkeys(d.item for d in new))
    found: set[str] = set()
    for part in parts(wanted):
        rows = connection.execute(_KNOWN_ITEMS, {"project": project, "items": part})
        found.update(rows.scalars())
    unknown = [item for item in wanted if item not in found]
    if unknown:
        raise DataError(f"the project has no item {listed(unknown)} — reload the page")


def _at(row: Decision) -> datetime:
    assert row.at is not None  # set by _insert, and never null in the log
    return row.at
