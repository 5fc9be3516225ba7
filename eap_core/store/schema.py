"""The tables. Times are UTC text, ids are uuid text, so that both databases hold the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

VERSION = 1
_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # NaN is no JSON


class Instant(TypeDecorator[datetime]):
    """A moment as ISO text of fixed length in UTC: sorts as text, and SQLite keeps its zone."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """JSON as text: the same in both databases, whatever characters it holds."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else _to_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


def now() -> datetime:
    return datetime.now(UTC)


def _index(
    name: str, *columns: Column[Any], where: ColumnElement[bool], unique: bool = False
) -> Index:
    """An index of some rows only."""
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


tables = MetaData()

meta = Table("meta", tables, Column("schema_version", Integer, nullable=False))

projects = Table(
    "projects",
    tables,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("created", Instant, nullable=False),
    Column("binned_at", Instant),
    Column("current_run", Text),  # no foreign key: runs point here, and a circle cannot be created
)
_index("projects_name", projects.c.name, where=projects.c.binned_at.is_(None), unique=True)

uploads = Table(
    "uploads",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False, index=True),
    Column("role", Text),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("sha256", Text, index=True),
    Column("added", Instant, nullable=False),
    Column("removed_at", Instant),
    Column("details", Json, nullable=False),
)

items = Table(
    "items",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False),
    Column("upload", ForeignKey(uploads.c.id), nullable=False, index=True),
    Column("position", BigInteger, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("sha256", Text),
    Column("mask", Text),
    Column("metadata", Json, nullable=False),
    Column("facts", Json, nullable=False),
    Column("removed_at", Instant),
)
_index(
    "items_name",
    *(items.c.project, items.c.role, items.c.name),
    where=items.c.removed_at.is_(None),
    unique=True,
)
_index("items_sha256", items.c.sha256, where=items.c.sha256.is_not(None))
_index("items_mask", items.c.mask, where=items.c.mask.is_not(None))

jobs = Table(
    "jobs",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), index=True),
    Column("kind", Text, nullable=False),
    Column("arguments", Json, nullable=False),
    Column("status", Text, nullable=False, index=True),
    Column("share", Float, nullable=False),
    Column("step", Text, nullable=False),
    Column("error", Text),
    Column("result", Json),
    Column("created", Instant, nullable=False),
    Column("started", Instant),
    Column("heartbeat", Instant),
    Column("finished_at", Instant),
    Column("pid", BigInteger),
    Column("host", Text),
    Column("cancel_requested", Boolean, nullable=False),
    Column("token", Text, unique=True),  # of the worker that has it
)

runs = Table(
    "runs",
    tables,
    Column("id", Text, primary_key=True),
    Column("project", ForeignKey(projects.c.id), nullable=False, index=True),
    Column("job", ForeignKey(jobs.c.id)),
    Column("created", Instant, nullable=False),
    Column("settings", Json, nullable=False),
    Column("versions", Json, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("candidates", Json, nullable=False),  # item ids in the order of the score arrays
    Column("findings", Json, nullable=False),  # what the evidence says about the scores
    Column("status", Text, nullable=False),
    Column("finished_at", Instant),
    Column("error", Text),
)

scores = Table(
    "scores",
    tables,
    Column("run", ForeignKey(runs.c.id), nullable=False),
    Column("name", Text, nullable=False),
    Column("values", LargeBinary, nullable=False),  # little-endian float64
    PrimaryKeyConstraint("run", "name"),
)

# Append-only. seq counts 1, 2, 3, … within a project and is given under the project's lock, so rows
# become visible in the order of seq. root is the decision that a chain of undos started from.
decisions = Table(
    "decisions",
    tables,
    Column("project", ForeignKey(projects.c.id), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("uuid", Text, nullable=False),
    Column("item", ForeignKey(items.c.id), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("reason", Text),
    Column("note", Text, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("batch", Text),
    Column("undo_of", Text),
    Column("root", Text),
    Column("seen", BigInteger, nullable=False),
    PrimaryKeyConstraint("project", "seq"),
    UniqueConstraint("project", "uuid"),
)
Index("decisions_item", decisions.c.project, decisions.c.item)
_index(  # a row is undone only once
    "decisions_undo_of",
    *(decisions.c.project, decisions.c.undo_of),
    where=decisions.c.undo_of.is_not(None),
    unique=True,
)
_index("decisions_root", decisions.c.project, decisions.c.root, where=decisions.c.root.is_not(None))
