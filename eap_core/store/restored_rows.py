"""Rows of a backup made fit for this store: own ids, references only to one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from eap_core.errors import DataError, shown
from eap_core.review import Decision
from eap_core.roles import ROLES
from eap_core.store.decision_checks import check
from eap_core.store.ids import is_id, new_ids, state_digest
from eap_core.store.restored_json import item_lacks, run_lacks, upload_lacks
from eap_core.store.runs import portable

Row = dict[str, Any]


@dataclass(frozen=True)
class Restoring:
    """What is known while the rows of one backup come in: which ids, files and chains of undos."""

    project: str
    renew: bool
    files: frozenset[str]
    new_id: dict[tuple[str, str], str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # of uploads
    present: list[tuple[datetime, str, str]] = field(default_factory=list)  # uploads: old, new id
    lengths: dict[str, int] = field(default_factory=dict)  # of a run's scores
    decided: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # uuid: item, root

    def take(self, table: str, old: str) -> str:
        """The id that a row of the backup gets here."""
        new = new_ids(1)[0] if self.renew else checked_id(old)
        if self.new_id.setdefault((table, old), new) != new:
            raise _damaged(f"the id {shown(old)} is there twice")
        return new

    def named(self, table: str, old: str) -> str:
        """The id of a row that came earlier."""
        try:
            return self.new_id[table, old]
        except (KeyError, TypeError):
            raise _damaged(f"{shown(old)} is named, but not in {table}") from None

    @cached_property
    def states(self) -> tuple[str, str]:
        """What the project held as its digest there and here; when all uploads have come in."""
        old = sorted((added, old) for added, old, _ in self.present)
        new = sorted((added, new) for added, _, new in self.present)
        return state_digest(each for _, each in old), state_digest(each for _, each in new)

    def file(self, sha256: str | None) -> str | None:
        if sha256 is not None and sha256 not in self.files:
            raise _damaged(f"the file {shown(sha256)} is not in it")
        return sha256


def _upload(row: Row, known: Restoring) -> Row:
    _refuse(upload_lacks(row))
    upload = known.take("uploads", row["id"])
    known.kinds[upload] = row["kind"]
    if row["removed_at"] is None:
        known.present.append((row["added"], row["id"], upload))
    return row | {"id": upload, "sha256": known.file(row["sha256"])}


def _item(row: Row, known: Restoring) -> Row:
    if row["role"] not in ROLES:
        raise _damaged(f"{shown(row['role'])} is no role")
    known.file(row["sha256"]), known.file(row["mask"])
    upload = known.named("uploads", row["upload"])
    _refuse(item_lacks(row, known.kinds[upload]))
    return row | {"id": known.take("items", row["id"]), "upload": upload}


def _run(row: Row, known: Restoring) -> Row:
    if row["status"] not in ("running", "finished", "failed", "cancelled"):
        raise _damaged(f"{shown(row['status'])} is no state of a run")
    _refuse(run_lacks(row))
    run = known.take("runs", row["id"])
    candidates = [known.named("items", item) for item in row["candidates"]]
    known.lengths[run] = len(candidates)
    there, here = known.states
    settings = portable(row["settings"])
    if settings.get("state") == there:  # or a copy would say that its data changed
        settings = {**settings, "state": here}
    return row | {"id": run, "job": None, "candidates": candidates, "settings": settings}


def _scores(row: Row, known: Restoring) -> Row:
    run = known.named("runs", row["run"])
    if len(row["values"]) != 8 * known.lengths[run]:
        raise _damaged(f"the scores {shown(row['name'])} are cut off")
    return row | {"run": run}


def _decision(row: Row, known: Restoring) -> Row:
    item = known.named("items", row["item"])
    drafted = {name: row[name] for name in ("uuid", "verdict", "reviewer", "reason", "note")}
    check(Decision(**drafted, item=item, batch=row["batch"], undo_of=row["undo_of"]))
    root = None
    if row["undo_of"] is not None:
        undone, above = known.decided.get(row["undo_of"], (None, None))
        if undone != item:
            raise _damaged(f"{shown(row['uuid'])} undoes what is not there")
        root = above or row["undo_of"]
    known.decided[row["uuid"]] = item, root
    return row | {"item": item, "root": root}


FIT: Mapping[str, Callable[[Row, Restoring], Row]] = MappingProxyType(
    {"uploads": _upload, "items": _item, "runs": _run, "scores": _scores, "decisions": _decision}
)


def fit(table: str, row: Row, known: Restoring) -> Row:
    """The row as it is inserted."""
    ready = FIT[table](row, known)
    return ready | {"project": known.project} if "project" in row else ready


def checked_id(old: str) -> str:
    """The id, unless it is none of this program's: it becomes the name of files and folders."""
    if not is_id(old):
        raise _damaged(f"{shown(old)} is no id")
    return old


def _refuse(lacking: str | None) -> None:
    if lacking is not None:
        raise _damaged(f"{shown(lacking)} is not what this program writes")


def _damaged(why: str) -> DataError:
    return DataError(f"not restored: the file is no sound backup ({why}) — use another copy")
