"""Long work in a process of its own, which outlives the page that asked for it.

A job is a row in the store. A worker process takes it, beats every second, and ends it; whoever
asked only looks at the row. What each kind of job does is one literal here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eap_core.errors import DataError, EapError, shown
from eap_core.export.bundle import bundle
from eap_core.export.request import Request
from eap_core.progress import Cancelled, Progress
from eap_core.projects.demos import make_demo
from eap_core.projects.health import health
from eap_core.projects.intake import take_uploaded
from eap_core.projects.plan import Plan
from eap_core.projects.prompting import PromptPlan, prompt
from eap_core.projects.scored import complete_run, score_project
from eap_core.store import jobs
from eap_core.store.bin import files_named, remove_unused
from eap_core.store.jobs import Job
from eap_core.store.schema import now
from eap_core.store.store import Store

_BEAT_SECONDS = 1.0
_PROGRAM = Path(__file__).resolve().parents[1]
Work = Callable[[Store, Job, Progress], Any]


def _add(store: Store, job: Job, progress: Progress) -> Any:
    return take_uploaded(store, _project(job), job.arguments, progress).record


def _health(store: Store, job: Job, progress: Progress) -> Any:
    return [finding.record for finding in health(store, _project(job), progress)]


def _score(store: Store, job: Job, progress: Progress) -> Any:
    plan = Plan.from_record(dict(job.arguments))
    return score_project(store, _project(job), plan, progress, job.token).id


def _complete(store: Store, job: Job, progress: Progress) -> Any:
    run = str(job.arguments["run"])
    complete_run(store, run, progress, tuple(job.arguments["evaluators"]))
    return run


def _demo(store: Store, job: Job, progress: Progress) -> Any:
    return make_demo(store, job.arguments["kind"], progress).id


def _export(store: Store, job: Job, progress: Progress) -> Any:
    made = bundle(store, _project(job), Request.from_record(job.arguments), progress)
    return {"name": made.name, "sha256": made.sha256}


def _prompts(store: Store, job: Job, progress: Progress) -> None:
    prompt(store, _project(job), PromptPlan.from_record(job.arguments), progress)


WORK: Mapping[str, Work] = MappingProxyType(
    {
        "add": _add,
        "health": _health,
        "score": _score,
        "complete": _complete,
        "demo": _demo,
        "export": _export,
        "prompts": _prompts,
    }
)


def launch(
    store: Store, kind: str, arguments: Mapping[str, Any], project: str | None = None
) -> Job:
    """Write the job down and start a worker for it."""
    if kind not in WORK:
        raise DataError(f"{shown(kind)} is no kind of job — choose from {', '.join(WORK)}")
    job = jobs.create(store, kind, arguments, project)
    _spawn(store, job.id)
    return job


def again(store: Store, job: str) -> None:
    """Start a job anew whose worker died, or that no worker ever took."""
    found = jobs.by_id(store, job)
    if not jobs.is_dead(found, now()) or not jobs.requeue(store, found):
        raise DataError(
            f"the job {shown(job)} is not started again, since it is not dead ({found.status}) — "
            "wait for it, or cancel it first"
        )
    _spawn(store, job)


def work_on(store: Store, job_id: str) -> None:
    """Do a job in this process; how it ended is in its row."""
    try:
        token = jobs.start(store, job_id)
        if token is not None:  # otherwise another worker has it, or it was cancelled
            _work(store, jobs.by_id(store, job_id), token)
    finally:
        # What was uploaded for it is kept only where it became part of the project.
        with suppress(EapError):  # a file too many does no harm; how the job ended is told
            remove_unused(store, files_named(jobs.by_id(store, job_id).arguments))


def _work(store: Store, job: Job, token: str) -> None:
    """Do the job; ends that a worker reports which lost the job meanwhile change nothing."""
    with _Heart(store, job.id, token) as heart:
        try:
            result = WORK[job.kind](store, job, heart.progress)
        except Cancelled:
            jobs.cancelled(store, job.id, token)
        except EapError as error:
            jobs.fail(store, job.id, token, str(error))
        except BaseException as error:
            jobs.fail(store, job.id, token, f"an unexpected error, {type(error).__name__}: {error}")
            raise  # a bug: its traceback belongs into the worker's log
        else:
            jobs.finish(store, job.id, token, result)


def time_left(job: Job, at: datetime | None = None) -> timedelta | None:
    """What the rest will take if it goes on as so far; None while that is anybody's guess."""
    if job.status != "running" or job.started is None or job.share < 0.02:
        return None
    spent = (at or now()) - job.started
    return spent * ((1 - job.share) / job.share)


class _Heart:
    """Beats from a thread of its own, so that a long step does not look like a dead worker."""

    def __init__(self, store: Store, job: str, token: str) -> None:
        self._store, self._job, self._token = store, job, token
        self._latest, self._heard = (0.0, "starting"), now()
        self._stop, self._cancel = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def progress(self, share: float, step: str) -> None:
        self._latest = (share, step)
        if self._cancel.is_set() or not self._still_ours():
            raise Cancelled

    def _still_ours(self) -> bool:
        """After a silence long enough to be taken for dead, look before going on."""
        if now() - self._heard < timedelta(seconds=jobs.DEAD_AFTER):
            return True
        return jobs.holds(self._store, self._job, self._token)

    def __enter__(self) -> _Heart:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_BEAT_SECONDS):
            try:
                if jobs.beat(self._store, self._job, self._token, *self._latest):
                    self._cancel.set()
                self._heard = now()
            except EapError:
                continue  # a full disk may have room again by the next beat


def _project(job: Job) -> str:
    if job.project is None:
        raise DataError(f"a job of the kind {shown(job.kind)} needs a project — name one")
    return job.project


def _spawn(store: Store, job: str) -> None:
    logs = store.home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, [str(_PROGRAM), os.environ.get("PYTHONPATH")]))
    with (logs / f"job-{job}.log").open("ab") as log:
        process = subprocess.Popen(
            # -P: the folder from which the app was started is no place to import from
            [sys.executable, "-P", "-m", "eap_core.worker", job],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "EAP_HOME": str(store.home), "PYTHONPATH": path},
            start_new_session=True,  # the work goes on when whoever asked for it ends
        )
    # Reaped by a thread: a dead child that nobody waits for would still seem alive.
    threading.Thread(target=process.wait, daemon=True).start()
