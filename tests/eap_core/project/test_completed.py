"""A run is current with EAP and its insight, and gains the rest one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from eap_core import jobs as work
from eap_core.analysis import Plan
from eap_core.analysis.explain import explain
from eap_core.base.errors import DataError, UnavailableError
from eap_core.base.progress import Cancelled, Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS
from eap_core.project import InputFile, results
from eap_core.project.intake import take
from eap_core.project.problem import prepare_problem
from eap_core.project.results import read_facts, read_map, run_frame
from eap_core.project.run import complete_run, missing_evaluators, score_project
from eap_core.review.queue import evaluator_columns
from eap_core.scoring.workbench import Workbench
from eap_core.store import cleanup, jobs, projects, runs
from eap_core.store.cleanup import empty_bin
from eap_core.store.items import items_of, remove_upload, uploads_of
from eap_core.store.store import Store
from tests.eap_core.project.conftest import make_rows_project, picture, table_text


@pytest.fixture
def project(store: Store, tmp_path: Path) -> str:
    return make_rows_project(store, tmp_path)


class _Stop:
    """Cancels at the first step whose name is this, and remembers what it saw before."""

    def __init__(self, step: str, seen: Callable[[], object]) -> None:
        self._step, self._seen = step, seen
        self.shares: list[float] = []
        self.found: object = None

    def __call__(self, share: float, step: str) -> None:
        self.shares.append(share)
        if step == self._step:
            self.found = self._seen()
            raise Cancelled


def test_everything_of_the_plan_is_there_in_the_end(store: Store, project: str) -> None:
    shares: list[float] = []
    run = score_project(
        store, project, Plan(evaluators=("all",)), lambda share, _: shares.append(share)
    )
    assert missing_evaluators(store, run) == []
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0
    frame = run_frame(store, run.id)
    assert len(evaluator_columns(frame)) == len(PAPER_EVALUATORS)
    assert list(frame)[:6] == ["item", "id", "eap", "percentile", "rank", "category"]
    assert frame["rank"].tolist() == list(range(1, 21))
    found = read_map(store, run.id)
    assert found is not None
    assert (found.method, len(found.training), len(found.candidates)) == ("umap", 44, 20)


def test_a_run_is_current_before_the_rest_is_made(store: Store, project: str) -> None:
    def looked() -> object:
        run = projects.by_id(store, project).current_run
        assert run is not None
        places = read_map(store, run)
        assert places is not None
        assert read_facts(store, run) is not None
        return run, places.method, evaluator_columns(run_frame(store, run))

    stop = _Stop("Lava", looked)
    plan = Plan(evaluators=("rarity", "lava", "p_x"))
    with pytest.raises(Cancelled):
        score_project(store, project, plan, stop)
    run = projects.by_id(store, project).current_run
    assert run is not None
    assert stop.found == (run, "umap", ["eap", "rarity"])
    assert runs.by_id(store, run).status == "finished"
    before = runs.scores_of(store, run)
    complete_run(store, run)
    after = runs.scores_of(store, run)
    assert set(after) - set(before) == {"lava", "p_x_one_pass"}
    assert all(after[name].tobytes() == before[name].tobytes() for name in before)


def test_cancelled_before_eap_is_there_nothing_becomes_current(store: Store, project: str) -> None:
    with pytest.raises(Cancelled):
        score_project(store, project, Plan(), _Stop("surroundings", lambda: None))
    assert projects.by_id(store, project).current_run is None
    assert [run.status for run in runs.runs_of(store, project)] == ["cancelled"]


def test_a_job_started_again_only_completes(store: Store, project: str) -> None:
    job = jobs.create(store, "score", {}, project)
    token = jobs.start(store, job.id)
    with pytest.raises(Cancelled):
        score_project(store, project, Plan(evaluators=("loo",)), _Stop("Loo", lambda: None), token)
    jobs.requeue(store, jobs.by_id(store, job.id))
    run = score_project(
        store, project, Plan(evaluators=("loo",)), silent, jobs.start(store, job.id)
    )
    assert [each.id for each in runs.runs_of(store, project)] == [run.id]
    assert "loo" in runs.score_names(store, run.id)


@dataclass(frozen=True)
class _Failing:
    error: Exception = field(default_factory=lambda: DataError("there are too few rows — add some"))
    label: ClassVar[str] = "Failing"
    summary: ClassVar[str] = "fails"
    cost: ClassVar[str] = "instant"

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:  # noqa: ARG002
        raise self.error


def test_an_evaluator_that_fails_is_told_and_loses_no_other(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**EVALUATORS, "rarity": _Failing()}
    monkeypatch.setattr("eap_core.project.run.EVALUATORS", broken)
    run = score_project(store, project, Plan(evaluators=("rarity", "loo")))
    assert "rarity" not in runs.score_names(store, run.id)
    assert "loo" in runs.score_names(store, run.id)
    told = [each["what"] for each in run.findings if each["code"] == "evaluator-failed-rarity"]
    assert told == ["Failing could not be computed: there are too few rows — add some"]
    assert missing_evaluators(store, run) == []  # it would fail again
    monkeypatch.undo()
    complete_run(store, run.id, evaluators=("rarity",))
    assert "rarity" in runs.score_names(store, run.id)
    codes = [each["code"] for each in runs.by_id(store, run.id).findings]
    assert "evaluator-failed-rarity" not in codes


def test_unexpected_errors_lose_no_other_step(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken_map(*_: object) -> object:
        raise RuntimeError("no neighbours")

    broken = {**EVALUATORS, "rarity": _Failing(np.linalg.LinAlgError("Singular matrix"))}
    monkeypatch.setattr("eap_core.project.run.EVALUATORS", broken)
    monkeypatch.setattr(results, "place_by_umap", broken_map)
    run = score_project(store, project, Plan(evaluators=("rarity", "loo")))
    assert run.status == "finished"
    assert "loo" in runs.score_names(store, run.id)
    told = {each["code"]: each["what"] for each in run.findings}
    assert told["evaluator-failed-rarity"] == (
        "Failing could not be computed: an unexpected error, LinAlgError 'Singular matrix'"
    )
    assert "The map could not be computed" in told["evaluator-failed-umap"]
    assert "Traceback" in caplog.text
    assert "no neighbours" in caplog.text
    complete_run(store, run.id, evaluators=("p_y",))  # the map fails again, and before it
    assert "p_y_one_pass" in runs.score_names(store, run.id)
    monkeypatch.undo()
    complete_run(store, run.id, evaluators=("rarity",))
    run = runs.by_id(store, run.id)
    assert missing_evaluators(store, run) == []
    assert "rarity" in runs.score_names(store, run.id)
    assert not [each for each in run.findings if each["code"].startswith("evaluator-failed")]


def test_what_a_busy_store_refused_is_computed_later(
    store: Store, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = UnavailableError("not saved: others are writing — try again")
    add = runs.add_columns

    def once(store: Store, run: str, columns: Mapping[str, Floats]) -> None:
        if "rarity" in columns:
            raise busy
        add(store, run, columns)

    monkeypatch.setattr(runs, "add_columns", once)
    with pytest.raises(UnavailableError, match="try again"):
        score_project(store, project, Plan(evaluators=("rarity", "loo")))
    monkeypatch.undo()
    (run,) = runs.runs_of(store, project)
    assert run.status == "finished"
    assert not [each for each in run.findings if each["code"].startswith("evaluator-failed")]
    assert missing_evaluators(store, run) == ["rarity", "loo", "rehearsal"]
    complete_run(store, run.id)
    assert {"rarity", "loo"} <= set(runs.score_names(store, run.id))


def test_a_job_adds_evaluators_to_a_finished_run(store: Store, project: str) -> None:
    run = score_project(store, project, Plan())
    for name in ("rarity", "rarity", "p_y"):  # asked twice, it is there once
        job = jobs.create(store, "complete", {"run": run.id, "evaluators": [name]}, project)
        work.work_on(store, job.id)
        found = jobs.by_id(store, job.id)
        assert (found.status, found.result) == ("finished", run.id)
    assert evaluator_columns(run_frame(store, run.id)) == ["eap", "rarity", "p_y_one_pass"]
    assert [each.id for each in runs.runs_of(store, project)] == [run.id]


def test_nothing_is_added_to_a_run_of_other_data(
    store: Store, project: str, tmp_path: Path
) -> None:
    run = score_project(store, project, Plan())
    (tmp_path / "more.csv").write_text(table_text(5, 99))
    take(store, project, [InputFile.at(tmp_path / "more.csv")], "normal")
    job = jobs.create(store, "complete", {"run": run.id, "evaluators": ["loo"]}, project)
    work.work_on(store, job.id)
    found = jobs.by_id(store, job.id)
    assert found.status == "failed"
    assert "the data have changed since this scoring" in (found.error or "")
    remove_upload(store, project, uploads_of(store, project)[-1].id)
    complete_run(store, run.id, evaluators=("loo",))
    assert "loo" in runs.score_names(store, run.id)


def test_an_unfinished_run_and_an_unknown_evaluator_are_refused(store: Store, project: str) -> None:
    run = runs.start(store, project, ["a"], {"evaluators": []}, {}, "f")
    with pytest.raises(DataError, match="cannot be completed"):
        complete_run(store, run.id)
    with pytest.raises(ValueError, match="no evaluator 'dance'"):
        complete_run(store, run.id, evaluators=("dance",))


def test_insight_says_what_explain_says(store: Store, project: str) -> None:
    run = score_project(store, project, Plan())
    found = read_facts(store, run.id)
    assert found is not None
    plan = Plan.from_record(dict(run.settings))
    ready = prepare_problem(store, project, plan)
    evidence = Workbench(ready.problem, plan.settings, plan.seed).evidence()
    names = {item.id: item.name for item in items_of(store, project)}
    assert found.candidates == runs.candidates_of(store, run.id)
    assert [names[item] for item in found.training] == list(ready.problem.train_ids)
    assert found.labels.tolist() == ready.problem.y_train.tolist()
    for i, item in enumerate(found.candidates):
        said = explain(ready.problem, evidence, plan.settings, names[item])
        near = [names[found.training[row]] for row in found.nearest[i]]
        assert near == [each.id for each in said.nearest_normals]
        assert said.nearest_anomaly is not None
        assert names[found.training[found.anomaly[i]]] == said.nearest_anomaly.id
        covering = None if found.ball[i] < 0 else names[found.training[found.ball[i]]]
        assert covering == (said.covering.id if said.covering else None)
        assert found.k == said.k
    best = int(np.argmin(runs.scores_of(store, run.id)["rank"]))
    assert found.diverse[best] == 0
    assert found.rows([found.candidates[3], found.candidates[0]]).tolist() == [3, 0]
    assert found.deviations is not None
    assert found.deviations.columns == ("a", "b", "c")


def test_insight_that_was_lost_is_made_again(store: Store, project: str) -> None:
    run = score_project(store, project, Plan())
    before = read_facts(store, run.id)
    path = cleanup.insight_file(store.home, run.id)
    path.write_bytes(path.read_bytes()[:-100])
    assert read_facts(store, run.id) is None
    assert missing_evaluators(store, run) == ["insight"]
    complete_run(store, run.id)
    after = read_facts(store, run.id)
    assert before is not None
    assert after is not None
    assert after.training == before.training
    for name in ("nearest", "radius", "twin", "diverse"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_insight_of_another_version_counts_as_lost(store: Store, project: str) -> None:
    run = score_project(store, project, Plan())
    path = cleanup.insight_file(store.home, run.id)
    arrays = cleanup.read_arrays(path)
    assert arrays is not None
    cleanup.keep_arrays(path, {"version": arrays["version"] + 1})
    assert read_facts(store, run.id) is None
    cleanup.keep_arrays(path, {"candidates": arrays["candidates"]})
    assert read_facts(store, run.id) is None
    steps: list[str] = []
    complete_run(store, run.id, lambda _, step: steps.append(step))
    assert read_facts(store, run.id) is not None
    assert steps.index("diverse order") > steps.index("surroundings") > 1  # EAP is told of before


def test_names_that_both_classes_have_are_told_apart(store: Store, tmp_path: Path) -> None:
    made = projects.create(store, "same names", "table").id
    for name, role, rows in (("a", "normal", 30), ("b", "anomaly", 3), ("c", "candidate", 4)):
        path = tmp_path / f"{name}.csv"
        path.write_text(table_text(rows, rows).replace(f"r{rows}-", "row"))
        take(store, made, [InputFile.at(path)], role)  # type: ignore[arg-type]
    ready = prepare_problem(store, made, Plan())
    roles = [(item.role == "anomaly", item.name) for item in ready.training]
    assert roles == [(False, f"row{i}") for i in range(30)] + [(True, f"row{i}") for i in range(3)]


def test_so_are_images(store: Store, tmp_path: Path) -> None:
    made = projects.create(store, "same names", "images").id
    seed = 0
    for role, count in (("normal", 10), ("anomaly", 2), ("candidate", 3)):
        (tmp_path / role).mkdir()
        files = [tmp_path / role / f"{i:03d}.png" for i in range(count)]
        for file in files:
            seed += 1
            file.write_bytes(picture(seed))
        take(store, made, [InputFile.at(file) for file in files], role)  # type: ignore[arg-type]
    run = score_project(store, made, Plan(features="fast"))
    found = read_facts(store, run.id)
    assert found is not None
    assert found.deviations is None
    roles = {item.id: item.role for item in items_of(store, made)}
    assert [roles[item] for item in found.training] == ["normal"] * 10 + ["anomaly"] * 2
    assert set(found.anomaly.tolist()) <= {10, 11}


def test_a_deleted_project_leaves_nothing_derived(store: Store, project: str) -> None:
    run = score_project(store, project, Plan())
    assert len(cleanup.files_of_run(store.home, run.id, run.fingerprint)) == 4
    projects.to_bin(store, project)
    empty_bin(store)
    assert not list((store.home / "cache" / "runs").iterdir())
    assert not list((store.home / "cache" / "rehearsals").iterdir())
    assert not list((store.home / "cache" / "maps").iterdir())
