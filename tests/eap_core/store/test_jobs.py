"""One worker takes a job; everybody can see how far it is and whether it lives."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from eap_core.errors import DataError
from eap_core.store import jobs
from eap_core.store.schema import now
from eap_core.store.store import Store


def test_a_job_from_beginning_to_end(store: Store, project: str) -> None:
    job = jobs.create(store, "score", {"evaluators": ["eap"]}, project)
    assert jobs.by_id(store, job.id) == job
    assert jobs.waiting(store) == [job]
    assert jobs.start(store, job.id)
    assert jobs.waiting(store) == []
    assert jobs.beat(store, job.id, 0.25, "distances") is False
    found = jobs.by_id(store, job.id)
    assert (found.status, found.share, found.step) == ("running", 0.25, "distances")
    assert jobs.finish(store, job.id, {"run": "r"})
    done = jobs.by_id(store, job.id)
    assert (done.status, done.share, done.result) == ("finished", 1.0, {"run": "r"})
    assert done.finished_at is not None
    assert not jobs.fail(store, job.id, "late")
    assert jobs.by_id(store, job.id) == done


def test_only_one_of_many_workers_starts_a_job(store: Store) -> None:
    job = jobs.create(store, "score", {})
    with ThreadPoolExecutor(8) as pool:
        started = list(pool.map(lambda _: jobs.start(store, job.id), range(16)))
    assert sum(started) == 1


def test_a_running_job_is_asked_to_stop(store: Store) -> None:
    job = jobs.create(store, "score", {})
    jobs.start(store, job.id)
    jobs.cancel(store, job.id)
    assert jobs.cancel_requested(store, job.id)
    assert jobs.beat(store, job.id, 0.5, "x") is True
    assert jobs.by_id(store, job.id).status == "running"
    assert jobs.cancelled(store, job.id)
    assert jobs.by_id(store, job.id).status == "cancelled"


def test_a_waiting_job_is_cancelled_at_once(store: Store) -> None:
    job = jobs.create(store, "score", {})
    jobs.cancel(store, job.id)
    assert jobs.by_id(store, job.id).status == "cancelled"
    assert not jobs.start(store, job.id)


def test_a_silent_worker_is_dead(store: Store) -> None:
    job = jobs.create(store, "score", {})
    assert jobs.dead(store, now() + timedelta(days=1)) == []  # waiting is not dead
    jobs.start(store, job.id)
    assert jobs.dead(store) == []
    assert [j.id for j in jobs.dead(store, now() + timedelta(seconds=16))] == [job.id]
    assert jobs.dead(store, now() + timedelta(seconds=16), after=30) == []


def test_a_worker_whose_process_is_gone_is_dead_at_once(store: Store) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    job = jobs.create(store, "score", {})
    jobs.start(store, job.id, gone.pid)
    assert [j.id for j in jobs.dead(store)] == [job.id]
    assert jobs.requeue(store, job.id)
    assert jobs.dead(store) == []
    again = jobs.by_id(store, job.id)
    assert (again.status, again.pid, again.heartbeat) == ("waiting", None, None)
    assert jobs.beat(store, job.id, 0.9, "still here") is True  # the old worker must stop
    assert jobs.by_id(store, job.id) == again
    assert jobs.start(store, job.id)


def test_recent_jobs_latest_first(store: Store, project: str) -> None:
    made = [jobs.create(store, "score", {"n": n}, project if n % 2 else None) for n in range(6)]
    assert [job.id for job in jobs.recent(store)] == [job.id for job in reversed(made)]
    assert [job.id for job in jobs.recent(store, project, 2)] == [made[5].id, made[3].id]


def test_an_unknown_job_is_told(store: Store) -> None:
    with pytest.raises(DataError, match="there is no job 'x'"):
        jobs.by_id(store, "x")
