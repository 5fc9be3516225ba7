"""Every project with its counts, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import Connection, Subquery, case, func, select

from eap_core.review import DECIDED
from eap_core.store.projects import Project
from eap_core.store.schema import decisions, items, projects
from eap_core.store.store import Store


@dataclass(frozen=True)
class Overview:
    """A project and how far its review is; skipped and undone candidates are not reviewed."""

    project: Project
    items: Mapping[str, int]
    reviewed: int
    accepted: int
    last_decision: datetime | None

    @property
    def candidates(self) -> int:
        return self.items.get("candidate", 0)


def overviews(store: Store) -> list[Overview]:
    """The projects outside the bin, newest first."""
    newest = select(projects).where(projects.c.binned_at.is_(None))
    with store.reading() as connection:
        rows = connection.execute(newest.order_by(projects.c.created.desc(), projects.c.id))
        found = [Project(**row) for row in rows.mappings()]
        per_role = _items_per_role(connection)
        decided = _decided(connection)
        last = _last_decisions(connection)
    return [
        Overview(
            project,
            MappingProxyType(per_role.get(project.id, {})),
            *decided.get(project.id, (0, 0)),
            last.get(project.id),
        )
        for project in found
    ]


def _items_per_role(connection: Connection) -> dict[str, dict[str, int]]:
    counted = select(items.c.project, items.c.role, func.count()).where(
        items.c.removed_at.is_(None)
    )
    found: dict[str, dict[str, int]] = {}
    for project, role, count in connection.execute(counted.group_by(items.c.project, items.c.role)):
        found.setdefault(project, {})[role] = count
    return found


def _last_decisions(connection: Connection) -> dict[str, datetime]:
    latest = select(decisions.c.project, func.max(decisions.c.at)).group_by(decisions.c.project)
    return dict(connection.execute(latest).all())


def _decided(connection: Connection) -> dict[str, tuple[int, int]]:
    """Reviewed and accepted candidates: the last decision on each that is not undone."""
    final = _final()
    counted = (
        select(final.c.project, func.count(), func.sum(final.c.last % 2))
        .join(items, items.c.id == final.c.item)
        .where(items.c.removed_at.is_(None), items.c.role == "candidate")
        .group_by(final.c.project)
    )
    return {project: (n, int(accepted)) for project, n, accepted in connection.execute(counted)}


def _final() -> Subquery:
    """For each item twice the seq of its last standing decision, plus one if that accepts it.

    A decision stands when the chain of undos above it has an even length. Verdict and seq in one
    number let a plain maximum find the last verdict, with no second look at the log.
    """
    undone = (
        select(decisions.c.project, decisions.c.root)
        .where(decisions.c.root.is_not(None))
        .group_by(decisions.c.project, decisions.c.root)
        .having(func.count() % 2 == 1)
        .subquery()
    )
    same = (undone.c.project == decisions.c.project) & (undone.c.root == decisions.c.uuid)
    accepts = case((decisions.c.verdict == "accept", 1), else_=0)
    return (
        select(
            decisions.c.project,
            decisions.c.item,
            func.max(2 * decisions.c.seq + accepts).label("last"),
        )
        .select_from(decisions.outerjoin(undone, same))
        .where(decisions.c.verdict.in_(DECIDED), undone.c.root.is_(None))
        .group_by(decisions.c.project, decisions.c.item)
        .subquery()
    )
