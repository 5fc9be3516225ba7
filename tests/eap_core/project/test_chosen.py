"""The score that ranks a project's candidates is a choice; scores and decisions do not change."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, SettingsError
from eap_core.base.progress import silent
from eap_core.cli import app as commands
from eap_core.export.bundle import write_bundle
from eap_core.export.request import ExportRequest
from eap_core.project.rehearsal import read_rehearsal
from eap_core.project.results import add_parts, choose_score, lines_in_use, run_frame
from eap_core.project.run import score_project
from eap_core.review import Decision
from eap_core.scoring import percentiles
from eap_core.scoring.settings import AUTHORS
from eap_core.store import decisions, runs
from eap_core.store.store import Store
from tests.eap_core.project.conftest import make_rows_project


@pytest.fixture
def run(store: Store, tmp_path: Path) -> str:
    made = make_rows_project(store, tmp_path)
    plan = Plan(evaluators=("eap", "rarity", "reach"), settings=replace(AUTHORS, subsets=3))
    return score_project(store, made, plan).id


def test_place_and_category_follow_the_choice(store: Store, run: str) -> None:
    by_eap = run_frame(store, run)
    choose_score(store, run, "reach")
    by_reach = run_frame(store, run)
    assert by_reach["reach"].is_monotonic_decreasing
    assert by_reach["rank"].tolist() == list(range(1, 21))
    np.testing.assert_array_equal(by_reach["percentile"], percentiles(by_reach["reach"].to_numpy()))
    lines = lines_in_use(store, runs.by_id(store, run), "reach")
    assert lines is not None
    too_far = by_reach["reach_observations"] < lines.support
    looks_normal = ~too_far & (by_reach["reach_p"] < lines.looks)
    assert set(by_reach["category"][too_far]) <= {"unrealistic"}
    assert set(by_reach["category"][looks_normal]) <= {"indistinguishable"}
    assert set(by_reach["category"][~too_far & ~looks_normal]) <= {"realistic"}
    # the scores themselves are what they were
    columns = ["eap", "rarity", "reach", "p_y"]
    before, after = (frame.set_index("item")[columns].sort_index() for frame in (by_eap, by_reach))
    np.testing.assert_array_equal(before, after)
    choose_score(store, run, "eap")
    assert run_frame(store, run).equals(by_eap)


@pytest.mark.parametrize("lines", ["data", "paper"])
def test_what_draws_the_lines(store: Store, run: str, lines: str) -> None:
    project = runs.by_id(store, run).project
    plan = Plan(settings=replace(AUTHORS, subsets=3), lines=lines)  # type: ignore[arg-type]
    made = score_project(store, project, plan)
    kept = read_rehearsal(store, made.id)
    assert kept is not None
    strong = replace(kept, m=16, normals=50)  # no longer weak
    trial = strong.trial("eap")
    own, fixed = trial.lines, trial.fixed
    assert own is not None
    assert fixed is not None
    assert (fixed.looks, fixed.support) == (0.5, 0.5)
    assert strong.lines_of("eap", "data") == own
    assert strong.lines_of("eap") == fixed
    assert replace(strong, m=3).lines_of("eap", "data") == fixed
    used = lines_in_use(store, made, "eap")
    assert used == kept.lines_of("eap", lines)  # type: ignore[arg-type]


def test_by_another_evaluator_the_category_stays_eaps(store: Store, run: str) -> None:
    before = run_frame(store, run).set_index("item")["category"]
    choose_score(store, run, "rarity")
    after = run_frame(store, run)
    assert after["rarity"].is_monotonic_decreasing
    assert (after.set_index("item")["category"] == before[after["item"]]).all()


@pytest.mark.parametrize("chosen", ["eap", "reach"])
def test_the_parts_add_up(store: Store, run: str, chosen: str) -> None:
    choose_score(store, run, chosen)
    frame = add_parts(run_frame(store, run), chosen)
    made = frame["support"] * frame["looks"] + (1 - frame["support"]) * frame["prior"]
    np.testing.assert_allclose(made, frame["posterior"], atol=1e-12)
    np.testing.assert_array_equal(frame["posterior"], frame[chosen])


def test_ties_are_counted() -> None:
    import pandas as pd

    frame = pd.DataFrame({"eap": [0.5, 0.2, 0.2, 0.2], "p_y": 0.0, "weight": 0.0,
                          "observations": 0.0})  # fmt: skip
    assert add_parts(frame, "eap")["tied"].tolist() == [0, 2, 2, 2]


def test_what_cannot_be_chosen(store: Store, run: str) -> None:
    with pytest.raises(DataError, match="no score 'lava'"):
        choose_score(store, run, "lava")
    with pytest.raises(SettingsError, match="no evaluator 'best'"):
        choose_score(store, run, "best")
    assert runs.by_id(store, run).settings["chosen"] == "eap"


def test_a_choice_without_its_score_counts_as_none(store: Store, run: str) -> None:
    """A plan may choose what could not be computed."""
    again = score_project(
        store, runs.by_id(store, run).project, Plan(settings=AUTHORS, chosen="lava")
    )
    frame = run_frame(store, again.id)
    assert frame["eap"].is_monotonic_decreasing


def test_decisions_stay_and_the_bundle_follows(store: Store, run: str, tmp_path: Path) -> None:
    project = runs.by_id(store, run).project
    item = run_frame(store, run)["item"].iloc[0]
    made = [Decision("1", item, "accept", "Ada", None, "", seen=10**6)]
    decisions.append(store, project, made)
    choose_score(store, run, "reach")
    counts, path = write_bundle(
        store, project, ExportRequest(only="accepted"), tmp_path / "out.zip", silent
    )
    assert counts["accepted"] == 1
    with zipfile.ZipFile(path) as bundle:
        name = next(each for each in bundle.namelist() if each.endswith("manifest.json"))
        manifest = json.loads(bundle.read(name))
    assert manifest["run"]["settings"]["chosen"] == "reach"


def test_the_command(store: Store, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAP_HOME", str(store.home))
    monkeypatch.delenv("EAP_STORE", raising=False)
    done = CliRunner().invoke(commands, ["choose", "rows", "reach"])
    assert done.exit_code == 0, done.output
    assert runs.by_id(store, run).settings["chosen"] == "reach"
    failed = CliRunner().invoke(commands, ["choose", "rows", "lava"])
    assert failed.exit_code == 1
