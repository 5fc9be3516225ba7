"""A run's scores are kept as they come and become current all at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from eap_core.base.errors import DataError, EapError
from eap_core.store import jobs, projects, runs
from eap_core.store.items import Item
from eap_core.store.store import Store, now

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


@pytest.mark.parametrize("end", [runs.cancel, lambda store, run: runs.fail(store, run, "full")])
def test_an_ended_run_takes_no_more(
    store: Store, project: str, items: list[Item], end: Callable[[Store, str], None]
) -> None:
    run = started(store, project, items)
    end(store, run.id)
    ended = r"the run has ended \((cancelled|failed)\)"
    acts: list[Callable[[], None]] = [
        lambda: runs.add_scores(store, run.id, "eap", SCORES),
        lambda: runs.finish(store, run.id),
        lambda: runs.fail(store, run.id, "late"),
        lambda: runs.make_current(store, run.id),
        lambda: runs.replace_finding(store, run.id, "x"),
    ]
    for late in acts:
        with pytest.raises(DataError, match=ended):
            late()
    assert runs.scores_of(store, run.id) == {}


def test_a_finished_run_gains_scores_and_loses_none(
    store: Store, project: str, items: list[Item]
) -> None:
    run = started(store, project, items)
    runs.add_scores(store, run.id, "eap", SCORES)
    runs.finish(store, run.id)
    runs.add_scores(store, run.id, "lava", SCORES + 1)
    assert runs.score_names(store, run.id) == ("eap", "lava")
    for name in ("eap", "lava"):
        with pytest.raises(DataError, match=f"has '{name}' already"):
            runs.add_scores(store, run.id, name, SCORES + 2)
    with pytest.raises(DataError, match="4 scores for 5"):
        runs.add_scores(store, run.id, "loo", SCORES[:4])
    with pytest.raises(DataError, match=r"the run has ended \(finished\)"):
        runs.finish(store, run.id)
    found = runs.scores_of(store, run.id)
    assert found["eap"].tobytes() == SCORES.tobytes()
    assert found["lava"].tobytes() == (SCORES + 1).tobytes()


def test_an_earlier_run_can_be_current_again(store: Store, project: str, items: list[Item]) -> None:
    first, second = started(store, project, items), started(store, project, items)
    runs.finish(store, first.id)
    with pytest.raises(DataError, match="the run has not ended yet"):
        runs.make_current(store, second.id)
    runs.finish(store, second.id)
    assert projects.by_id(store, project).current_run == second.id
    runs.make_current(store, first.id)
    assert projects.by_id(store, project).current_run == first.id


def test_a_finding_is_replaced_by_its_code(store: Store, project: str, items: list[Item]) -> None:
    run = started(store, project, items)
    runs.finish(store, run.id, [{"code": "a", "what": "1"}, {"code": "b", "what": "2"}])
    runs.replace_finding(store, run.id, "c", {"code": "c", "what": "3"})
    runs.replace_finding(store, run.id, "a")
    runs.replace_finding(store, run.id, "c", {"code": "c", "what": "4"})
    told = [(each["code"], each["what"]) for each in runs.by_id(store, run.id).findings]
    assert told == [("b", "2"), ("c", "4")]


def test_a_job_started_again_finds_the_run_it_has_finished(
    store: Store, project: str, items: list[Item]
) -> None:
    job = jobs.create(store, "score", {}, project)
    token = jobs.start(store, job.id)
    assert token is not None
    assert runs.finished_by(store, token) is None
    run = started(store, project, items, token)
    assert runs.finished_by(store, token) is None
    runs.finish(store, run.id)
    jobs.requeue(store, jobs.by_id(store, job.id))
    assert runs.finished_by(store, token) is None  # that worker has no job any more
    again = jobs.start(store, job.id)
    assert again is not None
    found = runs.finished_by(store, again)
    assert found is not None
    assert found.id == run.id


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
    jobs.fail(store, job.id, token, EapError("crashed"))
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
