"""Jobs in real worker processes: they finish, fail in a sentence, stop when asked, and survive."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from eap_core import jobs
from eap_core.errors import DataError
from eap_core.projects.demos import NAMES
from eap_core.projects.given import Given
from eap_core.projects.intake import as_arguments, take
from eap_core.projects.plan import Plan
from eap_core.store import jobs as rows
from eap_core.store import projects, runs
from eap_core.store.items import items_of
from eap_core.store.jobs import Job
from eap_core.store.opening import open_store
from eap_core.store.schema import now
from eap_core.store.store import Store
from tests.eap_core.projects.conftest import table_text

PATIENCE = 120.0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    opened = open_store()
    yield opened
    opened.close()


@pytest.fixture
def project(store: Store, tmp_path: Path) -> str:
    made = projects.create(store, "rows", "table").id
    for name, role, rows_, shift in (
        ("good", "normal", 900, 0.0),
        ("bad", "anomaly", 12, 2.0),
        ("made", "candidate", 400, 2.0),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(table_text(rows_, len(name), shift))
        take(store, made, [Given.at(path)], role)  # type: ignore[arg-type]
    return made


def when(store: Store, job: Job, happened: Callable[[Job], bool]) -> Job:
    """The job as soon as this is true of it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = rows.by_id(store, job.id)
        if happened(found):
            return found
        time.sleep(0.05)
    log = store.home / "logs" / f"job-{job.id}.log"
    pytest.fail(f"the job is still {found.status} at {found.share}: {log.read_text()[-2000:]}")


def ended(job: Job) -> bool:
    return job.status not in ("waiting", "running")


def test_files_are_added_and_scored_by_workers(store: Store) -> None:
    made = projects.create(store, "rows", "table")
    for name, role, shift in (("good", "normal", 0.0), ("made", "candidate", 2.0)):
        saved = [(store.blobs.put(table_text(40, len(name), shift).encode()), f"{name}.csv")]
        job = jobs.launch(store, "add", as_arguments(saved, role), made.id)  # type: ignore[arg-type]
        assert when(store, job, ended).status == "finished"
    assert len(items_of(store, made.id, "candidate")) == 40
    job = when(store, jobs.launch(store, "score", Plan().record, made.id), ended)
    run = runs.by_id(store, job.result)
    assert (run.status, run.job, projects.by_id(store, made.id).current_run) == (
        "finished",
        job.id,
        run.id,
    )
    assert len(runs.scores_of(store, run.id)["eap"]) == 40


def test_a_bad_file_fails_in_one_sentence(store: Store, project: str) -> None:
    before = len(items_of(store, project))
    saved = [(store.blobs.put(b"id,a,b,c\nx,1,2\n"), "bad.csv")]
    job = jobs.launch(store, "add", as_arguments(saved, "candidate"), project)
    found = when(store, job, ended)
    assert found.status == "failed"
    assert "bad.csv" in (found.error or "")
    assert "Traceback" not in (found.error or "")
    assert len(items_of(store, project)) == before


def test_cancel_stops_the_work_and_leaves_the_current_run(store: Store, project: str) -> None:
    plan = replace(Plan(), settings=replace(Plan().settings, subsets=5000, refit=True))
    job = jobs.launch(store, "score", plan.record, project)
    when(store, job, lambda found: found.status == "running")
    rows.cancel(store, job.id)
    assert when(store, job, ended).status == "cancelled"
    assert projects.by_id(store, project).current_run is None
    assert [run.status for run in runs.runs_of(store, project)] in (["cancelled"], [])


def test_a_killed_worker_is_noticed_and_its_job_can_be_done_again(
    store: Store, project: str
) -> None:
    slow = replace(Plan(), settings=replace(Plan().settings, subsets=400, refit=True))
    job = jobs.launch(store, "score", slow.record, project)
    found = when(store, job, lambda found: found.share > 0)
    assert found.pid is not None
    os.kill(found.pid, signal.SIGKILL)
    found = when(store, job, lambda found: rows.is_dead(found, now(), after=3600))
    assert found.status == "running"  # as the row says; that nobody works on it shows elsewhere
    assert [run.status for run in runs.runs_of(store, project)] == ["not finished"]
    jobs.again(store, job.id)
    when(store, job, lambda found: found.status == "running")
    rows.cancel(store, job.id)
    assert when(store, job, ended).status == "cancelled"


def test_the_demo_table_is_scored_by_one_job(store: Store) -> None:
    job = when(store, jobs.launch(store, "demo", {"kind": "table"}), ended)
    made = projects.by_id(store, job.result)
    assert made.name == NAMES["table"]
    assert made.current_run is not None
    again = when(store, jobs.launch(store, "demo", {"kind": "table"}), ended)
    assert again.result == made.id


def test_an_unknown_kind_is_refused(store: Store) -> None:
    with pytest.raises(DataError, match="no kind of job"):
        jobs.launch(store, "dance", {})


def test_the_time_left_follows_from_the_share(store: Store) -> None:
    moment = now()
    job = replace(rows.create(store, "score", {}), status="running", started=moment)
    later = moment + timedelta(seconds=30)
    assert jobs.time_left(replace(job, share=0.25), later) == timedelta(seconds=90)
    assert jobs.time_left(replace(job, share=0.0), later) is None
