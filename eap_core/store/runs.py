"""Runs: scores kept as they come, made current by one pointer in the transaction that ends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from sqlalchemy import Connection, RowMapping, Select, select

from eap_core.base.errors import DataError, quote
from eap_core.store.jobs import Job, is_dead, job_of
from eap_core.store.projects import lock_project
from eap_core.store.store import Store, jobs, now, projects, runs, scores

if TYPE_CHECKING:
    from eap_core.base.table import Floats


Status = Literal["running", "finished", "failed", "cancelled", "not finished"]
_LISTED = [column for column in runs.c if column.name != "candidates"]


@dataclass(frozen=True)
class Run:
    """One scoring of a project's candidates; "not finished" when nobody works on it."""

    id: str
    project: str
    job: str | None
    created: datetime
    settings: Mapping[str, Any]
    versions: Mapping[str, Any]
    fingerprint: str
    findings: Sequence[Mapping[str, Any]]
    status: Status
    finished_at: datetime | None
    error: str | None


def make_portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without where on this machine a model's weights lie: elsewhere that is of no use, and from
    elsewhere nobody should say which files are read here."""
    weights = settings.get("weights")
    return {**settings, "weights": Path(weights).name or None} if weights else dict(settings)


def start(
    store: Store,
    project: str,
    candidates: Sequence[str],
    settings: Mapping[str, Any],
    versions: Mapping[str, Any],
    fingerprint: str,
    token: str | None = None,
) -> Run:
    """A run whose scores will be in the order of the candidates' item ids.

    ``token`` is that of the worker's job, if it has one; a worker that lost its job starts no run.
    """
    run = Run(
        str(uuid4()),
        project,
        None,
        now(),
        settings,
        versions,
        fingerprint,
        [],
        "running",
        None,
        None,
    )
    with store.writing() as connection:
        lock_project(connection, project)
        if token is not None:
            run = replace(run, job=_job_of(connection, token))
            # The same job, started again: its earlier run will never end.
            earlier = runs.update().filter_by(job=run.job, status="running")
            connection.execute(
                earlier.values(status="failed", finished_at=now(), error="its worker stopped")
            )
        connection.execute(runs.insert().values(**vars(run), candidates=list(candidates)))
    return run


def add_scores(store: Store, run: str, name: str, values: Floats) -> None:
    """Keep what one evaluator found."""
    add_columns(store, run, {name: values})


def add_columns(store: Store, run: str, columns: Mapping[str, Floats]) -> None:
    """Keep an evaluator's score and its parts, all or none.

    While a run is running a second array of the same name replaces the first; a finished run, which
    people may be deciding by, only gains names it does not have.
    """
    import numpy as np

    made = {name: np.ascontiguousarray(each, dtype="<f8") for name, each in columns.items()}
    with store.writing() as connection:
        held = _lock_run(connection, run, "running", "finished")
        count = len(held["candidates"])
        for name, data in made.items():
            if data.shape != (count,):
                raise DataError(
                    f"{quote(name)} has {data.size:,} scores for {count:,} candidates",
                    advice="one each is needed",
                )
            known = scores.select().filter_by(run=run, name=name)
            if held["status"] == "finished" and connection.execute(known).first():
                raise DataError(
                    f"the finished run has {quote(name)} already",
                    advice="start a new run to have it anew",
                )
            connection.execute(scores.delete().filter_by(run=run, name=name))
            connection.execute(scores.insert().values(run=run, name=name, values=data.tobytes()))


def finish(store: Store, run: str, findings: Sequence[Mapping[str, Any]] = ()) -> None:
    """Complete a run and make it the project's current one, both or neither."""
    done = {"status": "finished", "finished_at": now(), "findings": list(findings)}
    with store.writing() as connection:
        project = _lock_run(connection, run)["project"]
        connection.execute(runs.update().filter_by(id=run).values(done))
        connection.execute(projects.update().filter_by(id=project).values(current_run=run))


def make_current(store: Store, run: str) -> None:
    """Let a project show this finished run of its own again."""
    with store.writing() as connection:
        project = _lock_run(connection, run, "finished")["project"]
        connection.execute(projects.update().filter_by(id=project).values(current_run=run))


def choose(store: Store, run: str, evaluator: str, column: str) -> None:
    """Let a finished run rank its candidates by another of its scores; no score changes."""
    with store.writing() as connection:
        held = _lock_run(connection, run, "finished")
        query = scores.select().filter_by(run=run, name=column)
        if connection.execute(query).first() is None:
            raise DataError(f"the run has no score {quote(evaluator)}", advice="compute it first")
        settings = {**held["settings"], "chosen": evaluator}
        connection.execute(runs.update().filter_by(id=run).values(settings=settings))


def replace_finding(
    store: Store, run: str, code: str, finding: Mapping[str, Any] | None = None
) -> None:
    """Let a finished run say this, or nothing any more, under a code."""
    with store.writing() as connection:
        found = _lock_run(connection, run, "finished")["findings"]
        others = [each for each in found if each["code"] != code]
        said = [*others, *([] if finding is None else [dict(finding)])]
        if said != found:
            connection.execute(runs.update().filter_by(id=run).values(findings=said))


def fail(store: Store, run: str, error: str) -> None:
    """End a run that cannot be completed; the scores it has are kept."""
    _end(store, run, "failed", error)


def cancel(store: Store, run: str) -> None:
    _end(store, run, "cancelled", None)


def runs_of(store: Store, project: str, at: datetime | None = None) -> list[Run]:
    """The runs of a project, latest first."""
    query = select(*_LISTED).where(runs.c.project == project)
    return _find_runs(store, query.order_by(runs.c.created.desc(), runs.c.id), at or now())


def by_id(store: Store, run: str, at: datetime | None = None) -> Run:
    found = _find_runs(store, select(*_LISTED).where(runs.c.id == run), at or now())
    if not found:
        raise _unknown(run)
    return found[0]


def candidates_of(store: Store, run: str) -> tuple[str, ...]:
    """The item ids in the order of the run's score arrays."""
    with store.reading() as connection:
        found = connection.execute(select(runs.c.candidates).where(runs.c.id == run)).first()
    if found is None:
        raise _unknown(run)
    return tuple(found.candidates)


def score_names(store: Store, run: str) -> tuple[str, ...]:
    """What the run has so far, by name alone."""
    query = select(scores.c.name).where(scores.c.run == run).order_by(scores.c.name)
    with store.reading() as connection:
        return tuple(connection.execute(query).scalars())


def finished_by(store: Store, token: str) -> Run | None:
    """The run that the job with this worker has finished already, before it was started again."""
    query = select(*_LISTED).join(jobs, jobs.c.id == runs.c.job).where(jobs.c.token == token)
    found = _find_runs(store, query.where(runs.c.status == "finished"), now())
    return found[0] if found else None


def scores_of(store: Store, run: str) -> dict[str, Floats]:
    """What the run has so far, by name."""
    import numpy as np

    query = select(scores.c.name, scores.c["values"]).where(scores.c.run == run)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(scores.c.name)).all()
    # an array over bytes is read-only, as arrays of the core are
    return {name: np.frombuffer(data, dtype="<f8") for name, data in rows}


def _end(store: Store, run: str, status: Status, error: str | None) -> None:
    with store.writing() as connection:
        _lock_run(connection, run)
        ended = {"status": status, "error": error, "finished_at": now()}
        connection.execute(runs.update().filter_by(id=run).values(ended))


def _job_of(connection: Connection, token: str) -> str:
    """The job that is this worker's, which stays so until the transaction ends."""
    query = select(jobs.c.id).filter_by(token=token, status="running").with_for_update()
    found = connection.execute(query).first()
    if found is None:
        raise DataError(
            "another worker has taken over this job",
            advice="wait for that one",
        )
    return str(found.id)


def _lock_run(connection: Connection, run: str, *statuses: Status) -> RowMapping:
    """Lock the project of a run that is running, or as ``statuses`` say, and look at the run."""
    query = select(runs).where(runs.c.id == run)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise _unknown(run)
    lock_project(connection, row["project"])
    row = connection.execute(query).mappings().one()  # again: it may have ended before the lock
    if row["status"] not in (statuses or ("running",)):
        if row["status"] == "running":
            raise DataError("the run has not ended yet", advice="wait for it")
        raise DataError(f"the run has ended ({row['status']})", advice="start a new one")
    return row


def _find_runs(store: Store, query: Select[Any], at: datetime) -> list[Run]:
    with store.reading() as connection:
        found = [Run(**row) for row in connection.execute(query).mappings()]
        named = [run.job for run in found if run.job and run.status == "running"]
        rows = connection.execute(select(jobs).where(jobs.c.id.in_(named))).mappings()
        alive = {row["id"] for row in rows if _works(job_of(row), at)}
    return [
        replace(run, status="not finished")
        if run.status == "running" and run.job not in alive
        else run
        for run in found
    ]


def _works(job: Job, at: datetime) -> bool:
    return job.status == "running" and not is_dead(job, at)


def _unknown(run: str) -> DataError:
    return DataError(f"there is no run {quote(run)}", advice="choose one from the list")
