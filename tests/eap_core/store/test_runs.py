"""A run's scores are kept as they come and become current all at once."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from eap_core.errors import DataError
from eap_core.store import jobs, projects, runs
from eap_core.store.items import Item
from eap_core.store.schema import now
from eap_core.store.store import Store

SCORES = np.array([0.1, -np.inf, np.nan, 1e-300, 5.0])


def started(store: Store, project: str, items: list[Item], token: str | None = None) -> runs.Run:
    chosen = [item.id for item in items[:5]]
    return runs.start(store, project, chosen, {"seed": 1}, {"numpy": "2"}, "abc", token)


def test_scores_come_back_bit_by_bit(store: Store, project: str, items: list[Item]) -> None:
    run = started(store, project, items)
    runs.add_scores(store, run.id, "eap", SCORES)
    runs.add_scores(store, run.id, "rarity", SCORES[::-1])
    found = runs.scores_of(store, run.id)
    assert list(found) == ["eap", "rarity"]
    assert found["eap"].tobytes() == SCORES.tobytes()
    assert found["rarity"].tobytes() == SCORES[::-1].tobytes()
    assert not found["eap"].flags.writeable
    assert runs.candidates_of(store, run.id) == tuple(item.id for item in items[:5])
    runs.add_scores(store, run.id, "eap", SCORES + 1)
    assert runs.scores_of(store, run.id)["eap"][0] == 1.1


def test_finishing_makes_a_run_current(store: Store, project: str, items: list[Item]) -> None:
    first, second = started(store, project, items), started(store, project, items)
    assert projects.by_id(store, project).current_run is None
    runs.finish(store, first.id)
    assert projects.by_id(store, project).current_run == first.id
    runs.fail(store, second.id, "no room")
    assert projects.by_id(store, project).current_run == first.id
    third = started(store, project, items)
    runs.cancel(store, third.id)
    found = {run.id: (run.status, run.error) for run in runs.runs_of(store, project)}
    assert found == {
        first.id: ("finished", None),
        second.id: ("failed", "no room"),
        third.id: ("cancelled", None),
    }
    assert runs.by_id(store, first.id).finished_at is not None


def test_an_ended_run_takes_no_more(store: Store, project: str, items: list[Item]) -> None:
    run = started(store, project, items)
    runs.finish(store, run.id)
    ended = r"the run has ended \(finished\)"
    with pytest.raises(DataError, match=ended):
        runs.add_scores(store, run.id, "eap", SCORES)
    with pytest.raises(DataError, match=ended):
        runs.finish(store, run.id)
    with pytest.raises(DataError, match=ended):
        runs.fail(store, run.id, "late")
    assert runs.scores_of(store, run.id) == {}


def test_scores_must_be_one_a_candidate(store: Store, project: str, items: list[Item]) -> None:
    run = started(store, project, items)
    with pytest.raises(DataError, match="'eap' has 4 scores for 5 candidates"):
        runs.add_scores(store, run.id, "eap", SCORES[:4])


def test_a_run_is_running_while_its_worker_lives(
    store: Store, project: str, items: list[Item]
) -> None:
    job = jobs.create(store, "score", {}, project)
    token = jobs.start(store, job.id)
    assert token is not None
    run = started(store, project, items, token)
    assert (run.job, runs.by_id(store, run.id).status) == (job.id, "running")
    later = now() + timedelta(seconds=jobs.DEAD_AFTER + 1)
    assert runs.by_id(store, run.id, later).status == "not finished"
    jobs.fail(store, job.id, token, "crashed")
    assert runs.by_id(store, run.id).status == "not finished"
    assert started(store, project, items).status == "running"
    assert runs.runs_of(store, project)[0].status == "not finished"  # nobody works on it


def test_a_job_started_again_gives_its_earlier_run_up(
    store: Store, project: str, items: list[Item]
) -> None:
    job = jobs.create(store, "score", {}, project)
    old = jobs.start(store, job.id)
    first = started(store, project, items, old)
    jobs.requeue(store, jobs.by_id(store, job.id))
    assert runs.by_id(store, first.id).status == "not finished"
    second = started(store, project, items, jobs.start(store, job.id))
    assert runs.by_id(store, first.id).error == "its worker stopped"
    assert runs.by_id(store, second.id).status == "running"
    with pytest.raises(DataError, match="another worker has taken over this job"):
        started(store, project, items, old)
    with pytest.raises(DataError, match="the run has ended"):
        runs.add_scores(store, first.id, "eap", SCORES)
    assert runs.by_id(store, second.id).status == "running"
    assert len(runs.runs_of(store, project)) == 2


def test_an_unknown_run_is_told(store: Store) -> None:
    for act in (runs.by_id, runs.candidates_of, runs.finish):
        with pytest.raises(DataError, match="there is no run 'x'"):
            act(store, "x")
