"""What is seen is kept with the project, and every selection is reported on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.base.files import csv_text
from eap_core.project.prompts import (
    GUESSING,
    NO_TEST,
    NONE_ACCEPTED,
    PromptPlan,
    PromptReport,
    accepted_items,
    check_images,
    keep_views,
    read_prompts,
    report_prompts,
)
from eap_core.project.results import run_frame
from eap_core.project.run import score_project
from eap_core.prompts.choice import rank_pairs
from eap_core.review import Decision, fold
from eap_core.scoring import best_first
from eap_core.scoring.settings import Settings
from eap_core.store import cleanup, projects
from eap_core.store.cleanup import empty_bin
from eap_core.store.items import items_of, remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store, open_store
from tests.eap_core.project.prompt_pictures import PLAN, look, scored_project


@pytest.fixture(scope="module")
def scored_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a scored project, made once: each test gets a copy."""
    folder = tmp_path_factory.mktemp("scored")
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("EAP_STORE", raising=False)
        opened = open_store(folder / "home")
    scored_project(opened, folder)
    opened.close()
    return folder / "home"


@pytest.fixture
def store(scored_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.delenv("EAP_STORE", raising=False)
    opened = open_store(shutil.copytree(scored_home, tmp_path / "home"))
    yield opened
    opened.close()


@pytest.fixture
def project(store: Store) -> Project:
    return projects.find(store, "weaves")


def reported(store: Store, project: Project, *accepted: str) -> PromptReport:
    assert project.current_run is not None
    seen = read_prompts(store, project.id)
    assert seen is not None
    log = [Decision(str(uuid4()), item, "accept", "Ada", seq=1) for item in accepted]
    items = run_frame(store, project.current_run)["item"]
    other = next(item for item in items if item not in accepted)
    log.append(Decision(str(uuid4()), other, "reject", "Ada", seq=2))
    return report_prompts(seen, run_frame(store, project.current_run), accepted_items(fold(log)))


def test_all_selections_side_by_side(store: Store, project: Project) -> None:
    assert project.current_run is not None
    assert read_prompts(store, project.id) is None
    views = look(store, project)
    accepted = items_of(store, project.id, "candidate")[5].id
    found = reported(store, project, accepted)
    assert list(found.named) == ["eap", "accepted", "rarity", "random", "known", "oracle"]
    assert [len(c.selection.rows) for c in found.choices] == [3, 1, 3, 3, 2, 6]
    assert [views.items[i] for i in found.named["accepted"].selection.rows] == [accepted]
    table = run_frame(store, project.current_run)
    assert [views.items[i] for i in found.named["eap"].selection.rows] == list(table["item"][:3])
    best = best_first(table["rarity"].to_numpy(float), table["id"].tolist())[:3]
    assert [views.items[i] for i in found.named["rarity"].selection.rows] == [
        table["item"][i] for i in best
    ]
    assert {views.roles[i] for i in found.named["oracle"].selection.rows} == {
        "anomaly",
        "test_anomaly",
    }
    assert all(c.best.pair == 0 and c.best.test_auc == 1.0 for c in found.choices)
    assert found.choices[0].ranking == tuple(rank_pairs(views, views.rows(list(table["item"][:3]))))
    assert found.notes == ()


@pytest.mark.parametrize(("scored", "chosen"), [(1, 1), (4, 1), (5, 2), (7, 2), (8, 3)])
def test_a_third_is_rounded_to_the_nearest(
    scored: int, chosen: int, store: Store, project: Project
) -> None:
    look(store, project)
    assert project.current_run is not None
    seen = read_prompts(store, project.id)
    assert seen is not None
    found = report_prompts(seen, run_frame(store, project.current_run)[:scored], ())
    assert len(found.named["eap"].selection.rows) == chosen


def test_a_third_at_random_is_of_the_seed(store: Store, project: Project) -> None:
    look(store, project)
    assert project.current_run is not None
    seen = read_prompts(store, project.id)
    assert seen is not None
    table = run_frame(store, project.current_run)
    thirds = [
        tuple(report_prompts(seen, table, (), seed).named["random"].selection.rows)
        for seed in (*range(8), 0)
    ]
    assert thirds[0] == thirds[-1]
    assert len(set(thirds)) > 3


def test_without_any_scored_candidate_there_is_a_sentence(store: Store, project: Project) -> None:
    look(store, project)
    assert project.current_run is not None
    seen = read_prompts(store, project.id)
    assert seen is not None
    table = run_frame(store, project.current_run).assign(item="gone")
    with pytest.raises(DataError, match="none of the scored candidates was looked at — look"):
        report_prompts(seen, table, ())


def test_descriptions_that_are_too_long_are_told_of(store: Store, project: Project) -> None:
    look(store, project)
    seen = read_prompts(store, project.id)
    assert seen is not None
    keep_views(store, project.id, replace(seen, cut=3))
    notes = reported(store, project).notes
    assert any(note.startswith("3 of the descriptions are longer") for note in notes)


def test_what_is_kept_comes_back(store: Store, project: Project) -> None:
    views = look(store, project)
    assert project.current_run is not None
    seen = read_prompts(store, project.id)
    assert seen is not None
    assert seen.plan == PLAN
    assert (seen.views.items, seen.views.roles) == (views.items, views.roles)
    np.testing.assert_array_equal(seen.views.differences, views.differences)
    assert seen.views.scale == views.scale == 10.0
    path = cleanup.prompts_file(store.home, project.id)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    assert read_prompts(store, project.id) is None  # damage counts as absent


def test_another_run_needs_no_other_look(store: Store, project: Project) -> None:
    look(store, project)
    before = reported(store, project)
    again = score_project(
        store, project.id, Plan(("sum",), Settings(subsets=2, k_min=2), seed=1, features="fast")
    )
    found = reported(store, projects.by_id(store, project.id))
    assert projects.by_id(store, project.id).current_run == again.id != project.current_run
    assert found.prompted.state == before.prompted.state
    assert "sum" in found.named
    assert "rarity" not in found.named


def test_it_goes_with_the_project(store: Store, project: Project) -> None:
    look(store, project)
    path = cleanup.prompts_file(store.home, project.id)
    assert path.is_file()
    projects.to_bin(store, project.id)
    empty_bin(store)
    assert not path.exists()


def test_a_choice_that_may_be_a_guess_is_told_of(store: Store, project: Project) -> None:
    """Of 4 and 4 test images the AUC of guesses strays by 0.217: 0.9 is less than two of that."""
    views = look(store, project)
    tests = views.at("test_anomaly")
    assert (len(views.at("test_normal")), len(tests)) == (4, 4)
    for auc, told in ((1.0, False), (0.75, True)):
        differences = views.differences.copy()
        differences[0, tests[: round(4 * (1 - auc))]] = -1.0
        seen = read_prompts(store, project.id)
        assert seen is not None
        keep_views(store, project.id, replace(seen, views=replace(views, differences=differences)))
        found = reported(store, project)
        assert found.choices[0].best.test_auc == auc
        assert (GUESSING in found.notes) is told


def test_images_that_were_removed_count_no_more(store: Store, project: Project) -> None:
    look(store, project)
    (upload,) = [u for u in uploads_of(store, project.id) if u.name == "test_anomaly.zip"]
    remove_upload(store, project.id, upload.id)
    found = reported(store, project)
    assert found.notes == (NO_TEST, NONE_ACCEPTED)
    assert "oracle" not in found.named
    assert all(c.best.test_auc is None for c in found.choices)
    record = found.record
    assert record["selections"][0]["pairs"][0] == {
        "normal": "{}",
        "anomalous": "damaged {}",
        "selection_auc": 1.0,
        "test_auc": None,
    }
    frame = found.frame()
    assert len(frame) == len(found.choices) * len(PLAN.templates)
    assert list(frame["place"][:4]) == [1, 2, 3, 4]
    assert set(frame["object"]) == {"weave"}
    assert frame["test_auc"].isna().all()
    assert "None" not in csv_text(frame)


def test_a_plan_survives_its_record() -> None:
    plan = replace(PLAN, object='a "{}" ünd {0}', weights=Path("w.safetensors"))
    assert PromptPlan.from_record(plan.record) == plan
    with pytest.raises(DataError, match="row 1"):
        PromptPlan.from_record({**plan.record, "templates": [["a", "b"]]})


def test_a_table_is_refused_in_a_sentence(store: Store) -> None:
    table = projects.create(store, "rows", "table")
    with pytest.raises(DataError, match="'rows' is a table — prompts are for images"):
        check_images(store, table.id)
