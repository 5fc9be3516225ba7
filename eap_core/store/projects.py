"""Projects: made, renamed, listed, and thrown into a bin that keeps everything until emptied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import uuid4

from sqlalchemy import Connection, RowMapping, bindparam, or_, select

from eap_core.errors import DataError, shown
from eap_core.store.schema import now, projects
from eap_core.store.store import Store
from eap_core.store.texts import checked_text

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
        raise DataError(f"{shown(kind)} is no kind of project — choose images or table")
    project = Project(str(uuid4()), _checked(name), kind, now(), None, None)
    with store.writing() as connection:
        _refuse_taken(connection, project.name)
        connection.execute(projects.insert().values(**vars(project)))
    return project


def rename(store: Store, project: str, name: str) -> Project:
    """The project under another name."""
    name = _checked(name)
    with store.writing() as connection:
        held = hold(connection, project)
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
        raise _unknown(name_or_id)
    return _project(found[0])


def by_id(store: Store, project: str) -> Project:
    """The project with this id, in the bin or not."""
    found = known(store, project)
    if found is None:
        raise _unknown(project)
    return found


def known(store: Store, project: str) -> Project | None:
    """The same, or None where there is no such project."""
    with store.reading() as connection:
        row = connection.execute(select(projects).filter_by(id=project)).mappings().first()
    return None if row is None else _project(row)


def in_bin(store: Store) -> list[Project]:
    """What can still be taken back, latest first."""
    query = select(projects).where(projects.c.binned_at.is_not(None))
    with store.reading() as connection:
        rows = connection.execute(query.order_by(projects.c.binned_at.desc(), projects.c.id))
        return [_project(row) for row in rows.mappings()]


def to_bin(store: Store, project: str) -> None:
    """Take a project out of the list; nothing of it is deleted."""
    with store.writing() as connection:
        hold(connection, project)
        connection.execute(projects.update().filter_by(id=project).values(binned_at=now()))


def from_bin(store: Store, project: str, name: str | None = None) -> Project:
    """Take a project back, under another name where its own was given away meanwhile."""
    with store.writing() as connection:
        held = hold(connection, project, binned=True)
        name = held.name if name is None else _checked(name)
        _refuse_taken(connection, name)
        back = projects.update().filter_by(id=project).values(binned_at=None, name=name)
        connection.execute(back)
    return by_id(store, project)


def hold(connection: Connection, project: str, *, binned: bool = False) -> Project:
    """Lock a project until the transaction ends: what is written about it is written in turn."""
    row = connection.execute(_HELD, {"id": project}).mappings().first()
    if row is None:
        raise _unknown(project)
    found = _project(row)
    if binned and found.binned_at is None:
        raise DataError(f"the project {shown(found.name)} is not in the bin — nothing to do")
    if not binned and found.binned_at is not None:
        raise DataError(f"the project {shown(found.name)} is in the bin — take it back first")
    return found


def free_name(connection: Connection, wanted: str) -> str:
    """The wanted name, or with the first number that makes it new."""
    taken = set(
        connection.execute(select(projects.c.name).where(projects.c.binned_at.is_(None))).scalars()
    )
    wanted, number, name = _checked(wanted), 1, _checked(wanted)
    while name in taken:
        number += 1
        ending = f" ({number})"
        name = wanted[: _LONGEST_NAME - len(ending)] + ending
    return name


def _project(row: RowMapping) -> Project:
    return Project(**row)


def _checked(name: str) -> str:
    return checked_text(name.strip(), "the name of a project", most=_LONGEST_NAME, least=1)


def _unknown(name: str) -> DataError:
    return DataError(f"there is no project {shown(name)} — choose one from the list")


def _refuse_taken(connection: Connection, name: str) -> None:
    taken = (projects.c.name == name) & projects.c.binned_at.is_(None)
    if connection.execute(select(projects.c.id).where(taken)).first():
        raise DataError(f"there is a project {shown(name)} already — choose another name")
