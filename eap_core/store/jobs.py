"""Rows about long work that another process does: who does it, how far it is, how it ended."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import CursorResult, select

from eap_core.errors import DataError, shown
from eap_core.store.schema import jobs, now
from eap_core.store.store import Store

Status = Literal["waiting", "running", "finished", "failed", "cancelled"]
DEAD_AFTER = 15.0


@dataclass(frozen=True)
class Job:
    id: str
    project: str | None
    kind: str
    arguments: Mapping[str, Any]
    status: Status
    share: float
    step: str
    error: str | None
    result: Any
    created: datetime
    started: datetime | None
    heartbeat: datetime | None
    finished_at: datetime | None
    pid: int | None
    host: str | None
    cancel_requested: bool


def create(
    store: Store, kind: str, arguments: Mapping[str, Any], project: str | None = None
) -> Job:
    """A job that waits for a worker."""
    job = Job(
        str(uuid4()), project, kind, dict(arguments), "waiting", 0.0, "", None, None, now(),
        None, None, None, None, None, False,
    )  # fmt: skip
    with store.writing() as connection:
        connection.execute(jobs.insert().values(**vars(job)))
    return job


def by_id(store: Store, job: str) -> Job:
    with store.reading() as connection:
        row = connection.execute(select(jobs).filter_by(id=job)).mappings().first()
    if row is None:
        raise DataError(f"there is no job {shown(job)} — reload the page")
    return Job(**row)


def recent(store: Store, project: str | None = None, most: int = 50) -> list[Job]:
    """The latest jobs, of one project or of all."""
    query = select(jobs).order_by(jobs.c.created.desc(), jobs.c.id).limit(most)
    if project is not None:
        query = query.where(jobs.c.project == project)
    with store.reading() as connection:
        return [Job(**row) for row in connection.execute(query).mappings()]


def waiting(store: Store) -> list[Job]:
    """What no worker has started, oldest first."""
    query = select(jobs).filter_by(status="waiting").order_by(jobs.c.created, jobs.c.id)
    with store.reading() as connection:
        return [Job(**row) for row in connection.execute(query).mappings()]


def start(store: Store, job: str, pid: int | None = None) -> bool:
    """Take a waiting job for this process; False when another took it or it was cancelled."""
    moment = now()
    return _change(
        store,
        job,
        "waiting",
        status="running",
        started=moment,
        heartbeat=moment,
        pid=pid or os.getpid(),
        host=socket.gethostname(),
    )


def beat(store: Store, job: str, share: float, step: str) -> bool:
    """Say how far the work is; True when it should stop. Call it about once a second, not more:
    each beat is a commit."""
    if not _change(store, job, "running", heartbeat=now(), share=share, step=step):
        return True  # taken away from this worker
    return by_id(store, job).cancel_requested


def finish(store: Store, job: str, result: Any = None) -> bool:
    """The work is done; False, and nothing changes, when the job is not running."""
    return _end(store, job, "finished", share=1.0, result=result)


def fail(store: Store, job: str, error: str) -> bool:
    return _end(store, job, "failed", error=error)


def cancelled(store: Store, job: str) -> bool:
    """The worker has stopped, as was asked."""
    return _end(store, job, "cancelled")


def cancel(store: Store, job: str) -> None:
    """Ask the worker to stop; a job that no worker has started is cancelled at once."""
    if not _change(store, job, "waiting", status="cancelled", finished_at=now()):
        _change(store, job, "running", cancel_requested=True)


def cancel_requested(store: Store, job: str) -> bool:
    return by_id(store, job).cancel_requested


def dead(store: Store, at: datetime | None = None, after: float = DEAD_AFTER) -> list[Job]:
    """Running jobs whose worker is silent for ``after`` seconds, or gone from this machine."""
    query = select(jobs).filter_by(status="running").order_by(jobs.c.created, jobs.c.id)
    with store.reading() as connection:
        running = [Job(**row) for row in connection.execute(query).mappings()]
    return [job for job in running if is_dead(job, at or now(), after)]


def is_dead(job: Job, at: datetime, after: float = DEAD_AFTER) -> bool:
    """Whether nobody works on a running job any more."""
    if job.status != "running":
        return False
    silent = job.heartbeat is None or at - job.heartbeat > timedelta(seconds=after)
    return silent or (job.host == socket.gethostname() and _gone(job.pid))


def requeue(store: Store, job: str) -> bool:
    """Let another worker start a running job from the beginning."""
    return _change(
        store,
        job,
        "running",
        status="waiting",
        share=0.0,
        step="",
        started=None,
        heartbeat=None,
        pid=None,
        host=None,
    )


def _end(store: Store, job: str, status: Status, **values: object) -> bool:
    return _change(store, job, "running", status=status, finished_at=now(), **values)


def _change(store: Store, job: str, expected: Status, **values: object) -> bool:
    """Change a job only while it has the expected status: of two that try, one succeeds."""
    changed = jobs.update().filter_by(id=job, status=expected).values(**values)
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
