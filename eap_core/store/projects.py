"""Projects: made, renamed, listed, and thrown into a bin that keeps everything until emptied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args
from uuid import uuid4

from sqlalchemy import Connection, RowMapping, Subquery, bindparam, case, func, or_, select

from eap_core.base.errors import DataError, quote
from eap_core.review import DECIDED
from eap_core.store import check_text
from eap_core.store.store import Store, decisions, items, now, projects

Kind = Literal["images", "table"]
_LONGEST_NAME = 120
_HELD = select(projects).where(projects.c.id == bindparam("id")).with_for_update(key_share=True)


@dataclass(frozen=True)
class Project:
    id: str
    name: str
    kind: Kind
    created: datetime
    binned_at: datetime | None
    current_run: str | None


def create(store: Store, name: str, kind: Kind) -> Project:
    """A new, empty project."""
    if kind not in get_args(Kind):
        raise DataError(
            f"{quote(kind)} is no kind of project",
            advice="choose images or table",
        )
    project = Project(str(uuid4()), _check_name(name), kind, now(), None, None)
    with store.writing() as connection:
        _refuse_taken(connection, project.name)
        connection.execute(projects.insert().values(**vars(project)))
    return project


def rename(store: Store, project: str, name: str) -> Project:
    """The project under another name."""
    name = _check_name(name)
    with store.writing() as connection:
        held = lock_project(connection, project)
        if held.name != name:
            _refuse_taken(connection, name)
        connection.execute(projects.update().filter_by(id=project).values(name=name))
    return by_id(store, project)


def find(store: Store, name_or_id: str) -> Project:
    """The project with this id, or of this name outside the bin."""
    wanted = or_(
        projects.c.id == name_or_id,
        (projects.c.name == name_or_id) & projects.c.binned_at.is_(None),
    )
    with store.reading() as connection:
        # an id cannot be mistaken for a name: should a name look like an id, the id wins
        rows = connection.execute(select(projects).where(wanted)).mappings().all()
    found = sorted(rows, key=lambda row: row["id"] != name_or_id)
    if not found:
        raise _unknown_project(name_or_id)
    return _project(found[0])


def by_id(store: Store, project: str) -> Project:
    """The project with this id, in the bin or not."""
    found = find_known(store, project)
    if found is None:
        raise _unknown_project(project)
    return found


def find_known(store: Store, project: str) -> Project | None:
    """The same, or None where there is no such project."""
    with store.reading() as connection:
        row = connection.execute(select(projects).filter_by(id=project)).mappings().first()
    return None if row is None else _project(row)


def list_bin(store: Store) -> list[Project]:
    """What can still be taken back, latest first."""
    query = select(projects).where(projects.c.binned_at.is_not(None))
    with store.reading() as connection:
        rows = connection.execute(query.order_by(projects.c.binned_at.desc(), projects.c.id))
        return [_project(row) for row in rows.mappings()]


def to_bin(store: Store, project: str) -> None:
    """Take a project out of the list; nothing of it is deleted."""
    with store.writing() as connection:
        lock_project(connection, project)
        connection.execute(projects.update().filter_by(id=project).values(binned_at=now()))


def from_bin(store: Store, project: str, name: str | None = None) -> Project:
    """Take a project back, under another name where its own was given away meanwhile."""
    with store.writing() as connection:
        held = lock_project(connection, project, binned=True)
        name = held.name if name is None else _check_name(name)
        _refuse_taken(connection, name)
        back = projects.update().filter_by(id=project).values(binned_at=None, name=name)
        connection.execute(back)
    return by_id(store, project)


def lock_project(connection: Connection, project: str, *, binned: bool = False) -> Project:
    """Lock a project until the transaction ends: what is written about it is written in turn."""
    row = connection.execute(_HELD, {"id": project}).mappings().first()
    if row is None:
        raise _unknown_project(project)
    found = _project(row)
    if binned and found.binned_at is None:
        raise DataError(
            f"the project {quote(found.name)} is not in the bin",
            advice="nothing to do",
        )
    if not binned and found.binned_at is not None:
        raise DataError(
            f"the project {quote(found.name)} is in the bin",
            advice="take it back first",
        )
    return found


def free_name(connection: Connection, wanted: str) -> str:
    """The wanted name, or with the first number that makes it new."""
    taken = set(
        connection.execute(select(projects.c.name).where(projects.c.binned_at.is_(None))).scalars()
    )
    wanted, number, name = _check_name(wanted), 1, _check_name(wanted)
    while name in taken:
        number += 1
        ending = f" ({number})"
        name = wanted[: _LONGEST_NAME - len(ending)] + ending
    return name


def _project(row: RowMapping) -> Project:
    return Project(**row)


def _check_name(name: str) -> str:
    return check_text(name.strip(), "the name of a project", most=_LONGEST_NAME, least=1)


def _unknown_project(name: str) -> DataError:
    return DataError(
        f"there is no project {quote(name)}",
        advice="choose one from the list",
    )


def _refuse_taken(connection: Connection, name: str) -> None:
    taken = (projects.c.name == name) & projects.c.binned_at.is_(None)
    if connection.execute(select(projects.c.id).where(taken)).first():
        raise DataError(
            f"there is a project {quote(name)} already",
            advice="choose another name",
        )


# Every project with its counts, in a fixed number of queries.


@dataclass(frozen=True)
class Overview:
    """A project and how far its review is; skipped and undone candidates are not reviewed."""

    project: Project
    items: Mapping[str, int]
    reviewed: int
    accepted: int

    @property
    def candidates(self) -> int:
        return self.items.get("candidate", 0)


def list_overviews(store: Store) -> list[Overview]:
    """The projects outside the bin, newest first."""
    newest = select(projects).where(projects.c.binned_at.is_(None))
    with store.reading() as connection:
        rows = connection.execute(newest.order_by(projects.c.created.desc(), projects.c.id))
        found = [Project(**row) for row in rows.mappings()]
        per_role = _items_per_role(connection)
        decided = _count_decided(connection)
    return [
        Overview(
            project,
            MappingProxyType(per_role.get(project.id, {})),
            *decided.get(project.id, (0, 0)),
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


def _count_decided(connection: Connection) -> dict[str, tuple[int, int]]:
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
