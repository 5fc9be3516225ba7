"""The rehearsal as a run's last step, by a job, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from eap_core import jobs as work
from eap_core.analysis import Plan
from eap_core.analysis.trust import rehearse
from eap_core.base.errors import DataError
from eap_core.base.files import CheckedFile
from eap_core.base.progress import Cancelled
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.problem import prepare_problem
from eap_core.project.rehearsal import read_rehearsal
from eap_core.project.run import (
    complete_run,
    missing_evaluators,
    rehearse_project,
    score_project,
)
from eap_core.scoring.settings import AUTHORS
from eap_core.store import jobs, projects, runs
from eap_core.store.cleanup import empty_bin, rehearsal_file
from eap_core.store.runs import Run
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture, table_text

PLAN = Plan(settings=replace(AUTHORS, subsets=2), seed=3)
FAILED = "evaluator-failed-rehearsal"
Filled = Callable[..., str]


@pytest.fixture
def filled(store: Store, tmp_path: Path) -> Filled:
    def make(normals: int = 40, anomalies: int = 5) -> str:
        made = projects.create(store, f"rows {normals} {anomalies}", "table").id
        for role, rows, shift in (
            ("normal", normals, 0.0),
            ("anomaly", anomalies, 3.0),
            ("candidate", 9, 2.0),
        ):
            if rows:
                path = tmp_path / f"{role}.csv"
                path.write_text(table_text(rows, rows, shift))
                take(store, made, [InputFile.at(path)], role)  # type: ignore[arg-type]
        return made

    return make


def codes(run: Run) -> list[str]:
    return [record["code"] for record in run.findings]


def test_scoring_ends_with_a_rehearsal_by_the_runs_own_plan(store: Store, filled: Filled) -> None:
    project = filled()
    shares: list[float] = []
    run = score_project(store, project, PLAN, lambda share, _: shares.append(share))
    assert shares == sorted(shares)
    found = read_rehearsal(store, run.id)
    assert found is not None
    assert (found.m, found.seed, found.names) == (5, 3, ("eap", "reach", "near_real"))
    assert found == rehearse(prepare_problem(store, project, PLAN).problem, PLAN.settings, 3)
    assert missing_evaluators(store, run) == []


def test_it_is_skipped_without_real_anomalies(store: Store, filled: Filled) -> None:
    run = score_project(store, filled(anomalies=0), PLAN)
    assert read_rehearsal(store, run.id) is None
    assert missing_evaluators(store, run) == []
    assert FAILED not in codes(run)
    with pytest.raises(DataError, match="no real anomaly"):
        rehearse_project(store, run.id)


def test_too_few_normals_are_a_finding_and_lose_no_scores(store: Store, filled: Filled) -> None:
    run = score_project(store, filled(normals=7, anomalies=2), PLAN)
    assert run.status == "finished"
    assert read_rehearsal(store, run.id) is None
    (told,) = (record["what"] for record in run.findings if record["code"] == FAILED)
    assert told.startswith("How far the scores can be trusted here could not be computed: 7 norm")
    assert missing_evaluators(store, run) == []  # it would fail again


def test_cancelled_the_scores_stay_and_the_rest_is_made_later(store: Store, filled: Filled) -> None:
    def stop(_: float, step: str) -> None:
        if step == "rehearsal":
            raise Cancelled

    project = filled()
    with pytest.raises(Cancelled):
        score_project(store, project, PLAN, stop)
    (run,) = runs.runs_of(store, project)
    assert run.status == "finished"
    assert missing_evaluators(store, run) == ["rehearsal"]
    complete_run(store, run.id)
    assert read_rehearsal(store, run.id) is not None


def test_a_job_makes_it_for_an_older_run(
    store: Store, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("no forest")

    project = filled()
    monkeypatch.setattr("eap_core.project.rehearsal.rehearse", broken)
    run = score_project(store, project, PLAN)
    monkeypatch.undo()
    assert FAILED in codes(run)
    job = jobs.create(store, "rehearse", work.RehearsalJob(run.id).record, project)
    work.work_on(store, job.id)
    ended = jobs.by_id(store, job.id)
    assert (ended.status, ended.result) == ("finished", run.id)
    assert read_rehearsal(store, run.id) is not None
    assert FAILED not in codes(runs.by_id(store, run.id))


def test_other_data_and_unfinished_runs_are_refused(
    store: Store, filled: Filled, tmp_path: Path
) -> None:
    project = filled()
    run = score_project(store, project, PLAN)
    (tmp_path / "more.csv").write_text(table_text(5, 99))
    take(store, project, [InputFile.at(tmp_path / "more.csv")], "normal")
    with pytest.raises(DataError, match="the data have changed since this scoring"):
        rehearse_project(store, run.id)
    begun = runs.start(store, project, ["a"], {"evaluators": []}, {}, "f")
    with pytest.raises(DataError, match="cannot be completed"):
        rehearse_project(store, begun.id)


@pytest.mark.parametrize(
    "kept", [None, [], "x", {"version": 99, "rehearsal": {}}, {"version": 1, "rehearsal": {"m": 1}}]
)
def test_what_cannot_be_read_counts_as_absent(store: Store, kept: object) -> None:
    CheckedFile(rehearsal_file(store.home, "r")).keep_json(kept)
    assert read_rehearsal(store, "r") is None


def test_a_damaged_file_counts_as_absent_and_goes_with_its_project(
    store: Store, filled: Filled
) -> None:
    project = filled()
    run = score_project(store, project, PLAN)
    path = rehearsal_file(store.home, run.id)
    path.write_bytes(path.read_bytes()[:-9])
    assert read_rehearsal(store, run.id) is None
    assert missing_evaluators(store, run) == ["rehearsal"]
    projects.to_bin(store, project)
    empty_bin(store, project)
    assert not path.exists()


def test_images_are_rehearsed_from_the_features_that_are_known(
    store: Store, tmp_path: Path
) -> None:
    parts = (("good", 24), ("bad", 4), ("made", 3))
    members = {
        f"{folder}/{i}.png": picture(1000 * place + i)
        for place, (folder, count) in enumerate(parts)
        for i in range(count)
    }
    project = projects.create(store, "parts", "images").id
    for folder, role in (("good", "normal"), ("bad", "anomaly"), ("made", "candidate")):
        own = {name: data for name, data in members.items() if name.startswith(folder)}
        given = InputFile.at(archive(tmp_path / f"{folder}.zip", own))
        take(store, project, [given], role)  # type: ignore[arg-type]
    run = score_project(store, project, replace(PLAN, features="fast"))
    found = read_rehearsal(store, run.id)
    assert found is not None
    assert found.m == 4
