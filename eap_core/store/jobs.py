"""Rows about long work that another process does: who does it, how far it is, how it ended.

Whoever starts a job gets a token that every later change must name, so that a worker which was
taken for dead, and wakes up, can change nothing about the job that another worker has now.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import CursorResult, RowMapping, select

from eap_core.base.errors import DataError, EapError, error_from_text, error_text, quote
from eap_core.store.store import BUSY_SECONDS, Store, jobs, now

Status = Literal["waiting", "running", "finished", "failed", "cancelled"]
DEAD_AFTER = 2 * BUSY_SECONDS  # a beat that waits for another writer is no death
WAITS_AT_MOST = 30.0  # a worker takes seconds to start; one that could not start never will


@dataclass(frozen=True)
class Job:
    id: str
    project: str | None
    kind: str
    arguments: Mapping[str, Any]
    status: Status
    share: float
    step: str
    failure: EapError | None = field(compare=False)
    result: Any
    created: datetime
    started: datetime | None
    heartbeat: datetime | None
    finished_at: datetime | None
    pid: int | None
    host: str | None
    cancel_requested: bool
    token: str | None = None

    @property
    def error(self) -> str | None:
        """What went wrong, in a sentence."""
        return None if self.failure is None else str(self.failure)


def job_of(row: RowMapping) -> Job:
    """A job from its row, whose text of an error holds the fields."""
    values: dict[str, Any] = dict(row)
    text = values.pop("error")
    return Job(**values, failure=None if text is None else error_from_text(text))


def create(
    store: Store, kind: str, arguments: Mapping[str, Any], project: str | None = None
) -> Job:
    """A job that waits for a worker."""
    moment = now()
    job = Job(
        str(uuid4()), project, kind, dict(arguments), "waiting", 0.0, "", None, None, moment,
        None, moment, None, None, None, False,
    )  # fmt: skip
    with store.writing() as connection:
        row = {name: value for name, value in vars(job).items() if name != "failure"}
        connection.execute(jobs.insert().values(**row))
    return job


def by_id(store: Store, job: str) -> Job:
    with store.reading() as connection:
        row = connection.execute(select(jobs).filter_by(id=job)).mappings().first()
    if row is None:
        raise DataError(f"there is no job {quote(job)}", advice="look again", code="stale")
    return job_of(row)


def recent_jobs(store: Store, project: str | None = None, most: int = 50) -> list[Job]:
    """The latest jobs, of one project or of all."""
    query = select(jobs).order_by(jobs.c.created.desc(), jobs.c.id).limit(most)
    if project is not None:
        query = query.where(jobs.c.project == project)
    with store.reading() as connection:
        return [job_of(row) for row in connection.execute(query).mappings()]


def start(store: Store, job: str, pid: int | None = None) -> str | None:
    """Take a waiting job for this process; the token that says so, or None when another took it or
    it was cancelled."""
    moment, token = now(), str(uuid4())
    taken = {
        "status": "running",
        "started": moment,
        "heartbeat": moment,
        "pid": pid or os.getpid(),
        "host": socket.gethostname(),
        "token": token,
    }
    return token if _change(store, {"id": job, "status": "waiting"}, taken) else None


def beat(store: Store, job: str, token: str, share: float, step: str) -> bool:
    """Say how far the work is; True when it should stop. Call it about once a second, not more:
    each beat is a commit."""
    said = {"heartbeat": now(), "share": share, "step": step}
    if not _change(store, _held_by(job, token), said):
        return True  # taken away from this worker
    return by_id(store, job).cancel_requested


def holds(store: Store, job: str, token: str) -> bool:
    """Whether the worker with this token still has the job."""
    with store.reading() as connection:
        found = connection.execute(select(jobs.c.id).filter_by(**_held_by(job, token)))
        return found.first() is not None


def finish(store: Store, job: str, token: str, result: Any = None) -> bool:
    """The work is done; False, and nothing changes, when the job is not this worker's."""
    return _end(store, job, token, {"status": "finished", "share": 1.0, "result": result})


def fail(store: Store, job: str, token: str, error: EapError) -> bool:
    """Keep the fields of the error, from which a page and the command line make their words."""
    return _end(store, job, token, {"status": "failed", "error": error_text(error)})


def end_cancelled(store: Store, job: str, token: str) -> bool:
    """The worker has stopped, as was asked."""
    return _end(store, job, token, {"status": "cancelled"})


def cancel(store: Store, job: str) -> None:
    """Ask the worker to stop; a job that no worker has started is cancelled at once."""
    at_once = {"status": "cancelled", "finished_at": now()}
    if not _change(store, {"id": job, "status": "waiting"}, at_once):
        _change(store, {"id": job, "status": "running"}, {"cancel_requested": True})


def list_dead(store: Store, at: datetime | None = None, after: float = DEAD_AFTER) -> list[Job]:
    """Jobs that nobody works on any more, oldest first."""
    query = select(jobs).where(jobs.c.status.in_(("waiting", "running")))
    query = query.order_by(jobs.c.created, jobs.c.id)
    with store.reading() as connection:
        found = [job_of(row) for row in connection.execute(query).mappings()]
    return [job for job in found if is_dead(job, at or now(), after)]


def is_dead(job: Job, at: datetime, after: float = DEAD_AFTER) -> bool:
    """Whether a running job's worker is silent for ``after`` seconds or gone from this machine, or
    no worker came for a waiting one."""
    if job.status not in ("waiting", "running"):
        return False
    silent = at - (job.heartbeat or job.created)
    if job.status == "waiting":
        return silent > timedelta(seconds=WAITS_AT_MOST)
    gone = job.host == socket.gethostname() and _gone(job.pid)
    return gone or silent > timedelta(seconds=after)


def requeue(store: Store, job: Job) -> bool:
    """Let another worker start a job from the beginning; False when it changed since it was read:
    somebody else requeued it, or its worker showed a sign of life."""
    seen = {name: getattr(job, name) for name in ("id", "status", "token", "heartbeat")}
    afresh = {
        "status": "waiting",
        "share": 0.0,
        "step": "",
        "started": None,
        "heartbeat": now(),
        "pid": None,
        "host": None,
        "cancel_requested": False,
        "token": None,
    }
    return _change(store, seen, afresh)


def _held_by(job: str, token: str) -> dict[str, str]:
    return {"id": job, "status": "running", "token": token}


def _end(store: Store, job: str, token: str, values: dict[str, Any]) -> bool:
    return _change(store, _held_by(job, token), values | {"finished_at": now()})


def _change(store: Store, expected: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Change a job only while it is as expected: of two that try, one succeeds."""
    changed = jobs.update().filter_by(**expected).values(**values)
    with store.writing() as connection:
        done: CursorResult[Any] = connection.execute(changed)
        return done.rowcount == 1


def _gone(pid: int | None) -> bool:
    if pid is None or sys.platform == "win32":  # there, signal 0 would be sent as Ctrl-C
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
