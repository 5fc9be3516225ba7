"""Long work in a process of its own, which outlives the page that asked for it.

A job is a row in the store. A worker process takes it, beats every second, and ends it; whoever
asked only looks at the row. What each kind of job is given and does is one dataclass here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, EapError, quote
from eap_core.base.progress import Cancelled, Progress, silent
from eap_core.export.bundle import make_bundle
from eap_core.export.request import ExportRequest
from eap_core.project import InputFile, IntakeReport, Target
from eap_core.project.demos import Demo, make_demo
from eap_core.project.health import check_health
from eap_core.project.intake import AS_FOUND, take
from eap_core.project.prompts import PromptPlan, run_prompts
from eap_core.project.run import complete_run, rehearse_project, score_project
from eap_core.project.tables import reading_of
from eap_core.readers.files import Reading
from eap_core.store import jobs
from eap_core.store.cleanup import list_named_files, remove_unused
from eap_core.store.jobs import Job
from eap_core.store.store import Store, now

_BEAT_SECONDS = 1.0
_PROGRAM = Path(__file__).resolve().parents[1]


class Work(Protocol):
    """What one kind of job is asked to do: a frozen dataclass whose fields are its arguments.

    kind : its name in the store.
    title : what is being done, for the bar on screen.
    record, from_record : the arguments as the store keeps them, and back.

    ``run`` does it, for the job whose row it is given; what it returns is kept as the job's result.
    """

    kind: ClassVar[str]
    title: ClassVar[str]

    @property
    def record(self) -> dict[str, Any]: ...

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self: ...

    def run(self, store: Store, job: Job, progress: Progress) -> Any: ...


@dataclass(frozen=True)
class UploadJob:
    """Adds uploaded files, each by hash and name, or a folder on this machine to a project."""

    kind: ClassVar[str] = "add"
    title: ClassVar[str] = "Adding the files"
    files: tuple[tuple[str, str], ...] = ()
    folder: Path | None = None
    target: Target | None = None
    reading: Reading = AS_FOUND

    @property
    def record(self) -> dict[str, Any]:
        given = (
            {"files": [list(file) for file in self.files]}
            if self.folder is None
            else {"folder": str(self.folder)}
        )
        return {**given, "target": self.target, "reading": asdict(self.reading)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        folder = record.get("folder")
        return cls(
            tuple((sha256, name) for sha256, name in record.get("files", ())),
            None if folder is None else Path(folder),
            record["target"],
            reading_of(record["reading"]),
        )

    def run(self, store: Store, job: Job, progress: Progress) -> Any:
        return self.take(store, _project(job), progress).record

    def take(self, store: Store, project: str, progress: Progress = silent) -> IntakeReport:
        """Add to the project what is named here."""
        if self.folder is None:
            given = [InputFile(store.blobs.verified(sha256), name) for sha256, name in self.files]
        else:
            given = [InputFile.at(self.folder)]
        return take(store, project, given, self.target, self.reading, progress)


@dataclass(frozen=True)
class HealthJob:
    """Looks at a project's data; ``state`` is theirs when it was asked for."""

    kind: ClassVar[str] = "health"
    title: ClassVar[str] = "Looking at the data"
    state: str | None = None

    @property
    def record(self) -> dict[str, Any]:
        return {} if self.state is None else {"state": self.state}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(record.get("state"))

    def run(self, store: Store, job: Job, progress: Progress) -> Any:
        return [finding.record for finding in check_health(store, _project(job), progress)]


@dataclass(frozen=True)
class ScoringJob:
    """Scores a project's candidates."""

    kind: ClassVar[str] = "score"
    title: ClassVar[str] = "Scoring the candidates"
    plan: Plan

    @property
    def record(self) -> dict[str, Any]:
        return self.plan.record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(Plan.from_record(dict(record)))

    def run(self, store: Store, job: Job, progress: Progress) -> Any:
        return score_project(store, _project(job), self.plan, progress, job.token).id


@dataclass(frozen=True)
class CompletionJob:
    """Adds to a run what it lacks: what is kept beside its scores, its evaluators and these."""

    kind: ClassVar[str] = "complete"
    title: ClassVar[str] = "Computing further methods"
    run_id: str
    evaluators: tuple[str, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        return {"run": self.run_id, "evaluators": list(self.evaluators)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(str(record["run"]), tuple(record["evaluators"]))

    def run(self, store: Store, _: Job, progress: Progress) -> Any:
        complete_run(store, self.run_id, progress, self.evaluators)
        return self.run_id


@dataclass(frozen=True)
class RehearsalJob:
    """Finds out how right the scores are on a run's own training data."""

    kind: ClassVar[str] = "rehearse"
    title: ClassVar[str] = "Rehearsing with the real anomalies"
    run_id: str

    @property
    def record(self) -> dict[str, Any]:
        return {"run": self.run_id}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(str(record["run"]))

    def run(self, store: Store, _: Job, progress: Progress) -> Any:
        rehearse_project(store, self.run_id, progress)
        return self.run_id


@dataclass(frozen=True)
class DemoJob:
    """Makes a demo project, filled and scored."""

    kind: ClassVar[str] = "demo"
    title: ClassVar[str] = "Making the demo project"
    demo: Demo

    @property
    def record(self) -> dict[str, Any]:
        return {"kind": self.demo}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(record["kind"])

    def run(self, store: Store, _: Job, progress: Progress) -> Any:
        return make_demo(store, self.demo, progress).id


@dataclass(frozen=True)
class ExportJob:
    """Makes a bundle in the store's folder."""

    kind: ClassVar[str] = "export"
    title: ClassVar[str] = "Making the bundle"
    request: ExportRequest

    @property
    def record(self) -> dict[str, Any]:
        return self.request.record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(ExportRequest.from_record(record))

    def run(self, store: Store, job: Job, progress: Progress) -> Any:
        made = make_bundle(store, _project(job), self.request, progress)
        return {"name": made.name, "sha256": made.sha256}


@dataclass(frozen=True)
class PromptJob:
    """Looks at a project's images in the light of prompts."""

    kind: ClassVar[str] = "prompts"
    title: ClassVar[str] = "Looking at the images"
    plan: PromptPlan

    @property
    def record(self) -> dict[str, Any]:
        return self.plan.record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(PromptPlan.from_record(record))

    def run(self, store: Store, job: Job, progress: Progress) -> None:
        run_prompts(store, _project(job), self.plan, progress)


# The one place where a kind of job is named.
WORK: Final[tuple[type[Work], ...]] = (
    UploadJob,
    HealthJob,
    ScoringJob,
    CompletionJob,
    RehearsalJob,
    DemoJob,
    ExportJob,
    PromptJob,
)


def kind_of(job: Job) -> type[Work]:
    """What a job's row is a row of."""
    for each in WORK:
        if each.kind == job.kind:
            return each
    known = ", ".join(each.kind for each in WORK)
    raise DataError(f"{quote(job.kind)} is no kind of job", advice=f"choose from {known}")


def launch(store: Store, work: Work, project: str | None = None) -> Job:
    """Write the job down and start a worker for it."""
    job = jobs.create(store, work.kind, work.record, project)
    _spawn(store, job.id)
    return job


def again(store: Store, job: str) -> None:
    """Start a job anew whose worker died, or that no worker ever took."""
    found = jobs.by_id(store, job)
    if not jobs.is_dead(found, now()) or not jobs.requeue(store, found):
        raise DataError(
            f"the job {quote(job)} is not started again, since it is not dead ({found.status})",
            advice="wait for it, or cancel it first",
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
            remove_unused(store, list_named_files(jobs.by_id(store, job_id).arguments))


def _work(store: Store, job: Job, token: str) -> None:
    """Do the job; ends that a worker reports which lost the job meanwhile change nothing."""
    with _Heart(store, job.id, token) as heart:
        try:
            work = kind_of(job).from_record(job.arguments)
            result = work.run(store, job, heart.progress)
        except Cancelled:
            jobs.end_cancelled(store, job.id, token)
        except EapError as error:
            jobs.fail(store, job.id, token, error)
        except BaseException as error:
            what = f"an unexpected error, {type(error).__name__}: {error}"
            jobs.fail(store, job.id, token, EapError(what))
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
        raise DataError(
            f"a job of the kind {quote(job.kind)} needs a project",
            advice="name one",
        )
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
