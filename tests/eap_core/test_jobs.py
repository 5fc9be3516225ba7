"""Jobs in real worker processes: they finish, fail in a sentence, stop when asked, and survive."""

from __future__ import annotations

import io
import json
import os
import signal
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from PIL import Image

from eap_core import jobs
from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.base.progress import Progress
from eap_core.export.request import ExportRequest
from eap_core.jobs import (
    WORK,
    CompletionJob,
    DemoJob,
    ExportJob,
    HealthJob,
    PromptJob,
    RehearsalJob,
    ScoringJob,
    UploadJob,
    Work,
)
from eap_core.project import InputFile
from eap_core.project.demos import NAMES
from eap_core.project.intake import take
from eap_core.project.prompts import PromptPlan
from eap_core.readers.files import Reading
from eap_core.store import jobs as rows
from eap_core.store import projects, runs
from eap_core.store import store as tables
from eap_core.store.items import items_of
from eap_core.store.jobs import Job
from eap_core.store.store import Store, now
from tests.eap_core.project.conftest import table_text

PATIENCE = 120.0


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
        take(store, made, [InputFile.at(path)], role)  # type: ignore[arg-type]
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
        saved = ((store.blobs.put(table_text(40, len(name), shift).encode()), f"{name}.csv"),)
        adding = UploadJob(saved, target=role)  # type: ignore[arg-type]
        job = jobs.launch(store, adding, made.id)
        assert when(store, job, ended).status == "finished"
    assert len(items_of(store, made.id, "candidate")) == 40
    job = when(store, jobs.launch(store, ScoringJob(Plan()), made.id), ended)
    run = runs.by_id(store, job.result)
    assert (run.status, run.job, projects.by_id(store, made.id).current_run) == (
        "finished",
        job.id,
        run.id,
    )
    assert len(runs.scores_of(store, run.id)["eap"]) == 40


def test_a_bad_file_fails_in_one_sentence(store: Store, project: str) -> None:
    before = len(items_of(store, project))
    saved = ((store.blobs.put(b"id,a,b,c\nx,1,2\n"), "bad.csv"),)
    job = jobs.launch(store, UploadJob(saved, target="candidate"), project)
    found = when(store, job, ended)
    assert found.status == "failed"
    assert "bad.csv" in (found.error or "")
    assert "Traceback" not in (found.error or "")
    assert len(items_of(store, project)) == before


def test_cancel_stops_the_work_and_leaves_the_current_run(store: Store, project: str) -> None:
    plan = replace(Plan(), settings=replace(Plan().settings, subsets=5000, refit=True))
    job = jobs.launch(store, ScoringJob(plan), project)
    when(store, job, lambda found: found.status == "running")
    rows.cancel(store, job.id)
    assert when(store, job, ended).status == "cancelled"
    assert projects.by_id(store, project).current_run is None
    assert [run.status for run in runs.runs_of(store, project)] in (["cancelled"], [])


def test_a_killed_worker_is_noticed_and_its_job_can_be_done_again(
    store: Store, project: str
) -> None:
    slow = replace(Plan(), settings=replace(Plan().settings, subsets=400, refit=True))
    job = jobs.launch(store, ScoringJob(slow), project)
    found = when(store, job, lambda found: found.share > 0)
    assert found.pid is not None
    os.kill(found.pid, signal.SIGKILL)
    found = when(store, job, lambda found: rows.is_dead(found, now(), after=3600))
    assert found.status == "running"  # as the row says; that nobody works on it shows elsewhere
    assert [run.status for run in runs.runs_of(store, project)] == ["not finished"]
    rows.cancel(store, job.id)  # nobody hears it
    jobs.again(store, job.id)
    found = when(store, job, lambda found: found.status == "running")
    assert not found.cancel_requested
    with pytest.raises(DataError, match="it is not dead"):
        jobs.again(store, job.id)
    rows.cancel(store, job.id)
    assert when(store, job, ended).status == "cancelled"
    with pytest.raises(DataError, match=r"it is not dead \(cancelled\)"):
        jobs.again(store, job.id)


def test_a_worker_that_wakes_up_after_its_job_was_given_away_ends_quietly(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = replace(Plan(), settings=replace(Plan().settings, subsets=400, refit=True))
    job = jobs.launch(store, ScoringJob(slow), project)
    old = when(store, job, lambda found: found.step == "detector")
    assert old.pid is not None
    with store.alone():  # a writer that sleeps would keep everybody else from writing
        os.kill(old.pid, signal.SIGSTOP)
    try:
        monkeypatch.setattr(rows.is_dead, "__defaults__", (0.0,))  # instead of waiting a minute
        jobs.again(store, job.id)
        monkeypatch.undo()
        new = when(store, job, lambda found: found.step == "detector")
    finally:
        os.kill(old.pid, signal.SIGCONT)
    assert (new.pid, new.token) != (old.pid, old.token)
    until = time.monotonic() + PATIENCE
    while not rows.is_dead(replace(old, heartbeat=now()), now()) and time.monotonic() < until:
        time.sleep(0.05)  # its process ends, since another has the job
    found = rows.by_id(store, job.id)
    assert (found.status, found.token, found.error) == ("running", new.token, None)
    statuses = [run.status for run in runs.runs_of(store, project)]
    assert statuses == ["running", "failed"]
    rows.cancel(store, job.id)
    assert when(store, job, ended).status == "cancelled"
    assert "Traceback" not in (store.home / "logs" / f"job-{job.id}.log").read_text()


def test_a_worker_that_woke_up_stops_before_it_saves(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if no beat came through yet: after a long silence every step asks first."""
    monkeypatch.setattr(jobs, "_BEAT_SECONDS", 3600.0)
    reached: list[str] = []

    def given_away(_work: UploadJob, _store: Store, job: Job, progress: Progress) -> None:
        progress(0.1, "before")
        reached.append("before")
        monkeypatch.setattr(rows, "DEAD_AFTER", 0.0)  # as if it had slept
        progress(0.2, "still its own")
        reached.append("still its own")
        assert rows.requeue(store, rows.by_id(store, job.id))
        progress(0.3, "saving")
        reached.append("saving")

    monkeypatch.setattr(UploadJob, "run", given_away)
    job = rows.create(store, UploadJob.kind, UploadJob().record, project)
    jobs.work_on(store, job.id)
    assert reached == ["before", "still its own"]
    assert rows.by_id(store, job.id).status == "waiting"


def test_a_worker_starts_wherever_the_app_was_started(
    store: Store, project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eap_core").mkdir()
    (tmp_path / "eap_core" / "worker.py").write_text("raise SystemExit('another program')")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "numpy.py").write_text("raise SystemExit('another library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for folder in (tmp_path, tmp_path / "elsewhere"):
        monkeypatch.chdir(folder)
        job = jobs.launch(store, HealthJob(), project)
        assert when(store, job, ended).status == "finished"


def test_a_job_that_no_worker_took_can_be_started_again(store: Store, project: str) -> None:
    job = rows.create(store, "health", {}, project)  # its worker could not be started
    with pytest.raises(DataError, match=r"it is not dead \(waiting\)"):
        jobs.again(store, job.id)
    with store.writing() as connection:
        long_ago = now() - timedelta(seconds=rows.WAITS_AT_MOST + 1)
        connection.execute(tables.jobs.update().values(heartbeat=long_ago))
    jobs.again(store, job.id)
    assert when(store, job, ended).status == "finished"


def test_uploads_are_kept_only_where_they_became_part_of_the_project(store: Store) -> None:
    images = projects.create(store, "images", "images").id
    table = projects.create(store, "rows", "table").id
    packed, picture = archive(), coloured("PNG")
    given = {
        "archive": (images, packed, "a.zip"),
        "picture": (images, picture, "one.png"),
        "rows": (table, table_text(40, 3, 0.0).encode(), "a.csv"),
        "bad": (table, b"id,a,b,c\nx,1,2\n", "bad.csv"),
        "cancelled": (table, table_text(40, 4, 0.0).encode(), "b.csv"),
    }
    kept = {}
    for name, (project, data, called) in given.items():
        sha256 = store.blobs.put(data)
        adding = UploadJob(((sha256, called),), target="normal")
        job = rows.create(store, adding.kind, adding.record, project)
        if name == "cancelled":
            rows.cancel(store, job.id)
        jobs.work_on(store, job.id)
        kept[name] = store.blobs.has(sha256)
    assert kept == {
        **{"archive": False, "picture": True, "rows": True, "bad": False, "cancelled": False}
    }
    assert len(items_of(store, images)) == 3
    for item in items_of(store, images):
        assert item.sha256 is not None
        assert store.blobs.has(item.sha256)


def coloured(kind: str, shade: int = 0) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), (200, shade, 40)).save(stream, kind)
    return stream.getvalue()


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for shade in (100, 200):
            made.writestr(f"{shade}.png", coloured("PNG", shade))
    return stream.getvalue()


def test_the_demo_table_is_scored_by_one_job(store: Store) -> None:
    job = when(store, jobs.launch(store, DemoJob("table")), ended)
    made = projects.by_id(store, job.result)
    assert made.name == NAMES["table"]
    assert made.current_run is not None
    again = when(store, jobs.launch(store, DemoJob("table")), ended)
    assert again.result == made.id


def test_a_kind_that_nobody_knows_fails_in_a_sentence(store: Store) -> None:
    """As a row may be that another version has written."""
    job = rows.create(store, "dance", {})
    jobs.work_on(store, job.id)
    found = rows.by_id(store, job.id)
    assert found.status == "failed"
    assert "'dance' is no kind of job" in (found.error or "")


@pytest.mark.parametrize(
    ("work", "kept"),
    [
        (
            UploadJob((("ab", "a.csv"),), target="train", reading=Reading(exclude=("x",))),
            {
                "files": [["ab", "a.csv"]],
                "target": "train",
                "reading": {**asdict(Reading()), "exclude": ["x"]},
            },
        ),
        (
            UploadJob(folder=Path("/data"), target="normal"),
            {"folder": "/data", "target": "normal", "reading": asdict(Reading())},
        ),
        (HealthJob("a state"), {"state": "a state"}),
        (HealthJob(), {}),
        (ScoringJob(Plan(("eap", "loo"), seed=3)), Plan(("eap", "loo"), seed=3).record),
        (CompletionJob("a run", ("loo",)), {"run": "a run", "evaluators": ["loo"]}),
        (RehearsalJob("a run"), {"run": "a run"}),
        (DemoJob("table"), {"kind": "table"}),
        (ExportJob(ExportRequest("csv", items=("a",))), ExportRequest(items=("a",)).record),
        (PromptJob(PromptPlan("bottle")), PromptPlan("bottle").record),
    ],
    ids=lambda value: value.kind if not isinstance(value, dict) else "",
)
def test_what_the_store_keeps_is_read_back(work: Work, kept: dict[str, object]) -> None:
    """The form is that of every version so far: rows that wait must be understood."""
    stored = json.loads(json.dumps(work.record))
    assert stored == json.loads(json.dumps(kept))
    assert type(work).from_record(stored) == work


def test_every_kind_has_a_name_and_a_title_of_its_own() -> None:
    for told in ([each.kind for each in WORK], [each.title for each in WORK]):
        assert len(set(told)) == len(WORK)


def test_the_time_left_follows_from_the_share(store: Store) -> None:
    moment = now()
    job = replace(rows.create(store, "score", {}), status="running", started=moment)
    later = moment + timedelta(seconds=30)
    assert jobs.time_left(replace(job, share=0.25), later) == timedelta(seconds=90)
    assert jobs.time_left(replace(job, share=0.0), later) is None
