"""Undos of undos form a chain; its root is the decision the chain is about.

A row can be undone once, so a chain never branches and its root holds exactly when the number of
undos above it is even. The log keeps each undo's root, which lets SQL count decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, bindparam, select

from eap_core.errors import DataError, shown
from eap_core.review import Decision
from eap_core.store.schema import decisions

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


def roots(connection: Connection, project: str, new: Sequence[Decision]) -> dict[str, str]:
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


def parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Few enough at once for one statement."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _targets(connection: Connection, project: str, named: Sequence[str]) -> dict[str, _Target]:
    found = {}
    for part in parts(named):
        rows = connection.execute(_TARGETS, {"project": project, "named": part})
        found.update({uuid: _Target(item, root) for uuid, item, root in rows})
    return found


def _undone_by(connection: Connection, project: str, named: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in parts(named):
        rows = connection.execute(_UNDONE_BY, {"project": project, "named": part})
        found.update(rows.all())
    return found


def _refuse(row: Decision, undone: str, target: _Target | None, undone_by: dict[str, str]) -> None:
    if target is None or target.item != row.item:
        raise DataError(
            f"there is no decision {shown(undone)} on this item to undo — reload the page"
        )
    if undone in undone_by:
        raise DataError(
            f"the decision was already undone by {shown(undone_by[undone])} — reload the page"
        )
