"""One worker takes a job; everybody can see how far it is and whether it lives."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from eap_core.base.errors import DataError, EapError
from eap_core.store import jobs
from eap_core.store.store import BUSY_SECONDS, Store, now


def started(store: Store, job: jobs.Job, pid: int | None = None) -> str:
    token = jobs.start(store, job.id, pid)
    assert token is not None
    return token


def test_a_job_from_beginning_to_end(store: Store, project: str) -> None:
    job = jobs.create(store, "score", {"evaluators": ["eap"]}, project)
    assert jobs.by_id(store, job.id) == job
    token = started(store, job)
    assert jobs.beat(store, job.id, token, 0.25, "distances") is False
    found = jobs.by_id(store, job.id)
    assert (found.status, found.share, found.step) == ("running", 0.25, "distances")
    assert jobs.finish(store, job.id, token, {"run": "r"})
    done = jobs.by_id(store, job.id)
    assert (done.status, done.share, done.result) == ("finished", 1.0, {"run": "r"})
    assert done.finished_at is not None
    assert not jobs.fail(store, job.id, token, EapError("late"))
    assert jobs.by_id(store, job.id) == done


def test_only_one_of_many_workers_starts_a_job(store: Store) -> None:
    job = jobs.create(store, "score", {})
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: jobs.start(store, job.id), range(16)))
    assert len([token for token in tokens if token is not None]) == 1


def test_a_running_job_is_asked_to_stop(store: Store) -> None:
    job = jobs.create(store, "score", {})
    token = started(store, job)
    jobs.cancel(store, job.id)
    assert jobs.by_id(store, job.id).cancel_requested
    assert jobs.beat(store, job.id, token, 0.5, "x") is True
    assert jobs.by_id(store, job.id).status == "running"
    assert jobs.end_cancelled(store, job.id, token)
    assert jobs.by_id(store, job.id).status == "cancelled"


def test_a_waiting_job_is_cancelled_at_once(store: Store) -> None:
    job = jobs.create(store, "score", {})
    jobs.cancel(store, job.id)
    assert jobs.by_id(store, job.id).status == "cancelled"
    assert jobs.start(store, job.id) is None


def test_a_silent_worker_is_dead(store: Store) -> None:
    job = jobs.create(store, "score", {})
    started(store, job)
    assert jobs.list_dead(store) == []
    blocked = now() + timedelta(seconds=BUSY_SECONDS + 5)  # its beat waits for another writer
    assert jobs.list_dead(store, blocked) == []
    later = now() + timedelta(seconds=jobs.DEAD_AFTER + 1)
    assert [j.id for j in jobs.list_dead(store, later)] == [job.id]
    assert jobs.list_dead(store, later, after=120) == []


def test_a_job_that_no_worker_takes_is_dead_until_it_is_queued_anew(store: Store) -> None:
    job = jobs.create(store, "score", {})
    soon = now() + timedelta(seconds=jobs.WAITS_AT_MOST - 5)
    later = now() + timedelta(seconds=jobs.WAITS_AT_MOST + 1)
    assert jobs.list_dead(store, soon) == []
    assert [j.id for j in jobs.list_dead(store, later)] == [job.id]
    assert jobs.requeue(store, job)
    anew = jobs.by_id(store, job.id)
    assert anew.heartbeat is not None
    assert not jobs.is_dead(anew, anew.heartbeat + timedelta(seconds=jobs.WAITS_AT_MOST - 1))
    assert not jobs.requeue(store, job)  # of two who ask for it, one starts a worker
    jobs.cancel(store, job.id)
    assert jobs.list_dead(store, later) == []


def test_a_worker_that_lost_its_job_changes_nothing(store: Store) -> None:
    job = jobs.create(store, "score", {})
    old = started(store, job)
    assert jobs.requeue(store, jobs.by_id(store, job.id))
    new = started(store, job)
    assert new != old
    before = jobs.by_id(store, job.id)
    assert jobs.beat(store, job.id, old, 0.9, "still here") is True
    assert not jobs.finish(store, job.id, old, "wrong")
    assert not jobs.fail(store, job.id, old, EapError("wrong"))
    assert not jobs.end_cancelled(store, job.id, old)
    assert jobs.by_id(store, job.id) == before
    assert (jobs.holds(store, job.id, old), jobs.holds(store, job.id, new)) == (False, True)
    assert jobs.beat(store, job.id, new, 0.1, "mine") is False
    assert jobs.finish(store, job.id, new, "right")
    assert not jobs.holds(store, job.id, new)


def test_a_worker_that_beats_meanwhile_keeps_its_job(store: Store) -> None:
    job = jobs.create(store, "score", {})
    token = started(store, job)
    seen = jobs.by_id(store, job.id)
    jobs.beat(store, job.id, token, 0.5, "awake")
    assert not jobs.requeue(store, seen)
    assert jobs.holds(store, job.id, token)


def test_a_job_started_again_forgets_that_it_was_to_stop(store: Store) -> None:
    job = jobs.create(store, "score", {})
    started(store, job)
    jobs.cancel(store, job.id)
    assert jobs.requeue(store, jobs.by_id(store, job.id))
    assert jobs.beat(store, job.id, started(store, job), 0.1, "x") is False


def test_a_worker_whose_process_is_gone_is_dead_at_once(store: Store) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    job = jobs.create(store, "score", {})
    token = started(store, job, gone.pid)
    (found,) = jobs.list_dead(store)
    assert found.id == job.id
    assert jobs.requeue(store, found)
    assert jobs.list_dead(store) == []
    again = jobs.by_id(store, job.id)
    assert (again.status, again.pid, again.token) == ("waiting", None, None)
    assert jobs.beat(store, job.id, token, 0.9, "still here") is True  # the old worker must stop
    assert jobs.by_id(store, job.id) == again
    assert jobs.start(store, job.id)


def test_recent_jobs_latest_first(store: Store, project: str) -> None:
    made = [jobs.create(store, "score", {"n": n}, project if n % 2 else None) for n in range(6)]
    assert [job.id for job in jobs.recent_jobs(store)] == [job.id for job in reversed(made)]
    assert [job.id for job in jobs.recent_jobs(store, project, 2)] == [made[5].id, made[3].id]


def test_an_unknown_job_is_told(store: Store) -> None:
    with pytest.raises(DataError, match="there is no job 'x'"):
        jobs.by_id(store, "x")
