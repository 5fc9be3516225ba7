"""The command that tries scores out, on files and on a project."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from eap_core.analysis.trust import Rehearsal
from eap_core.base.errors import EapError
from eap_core.cli import app
from eap_core.store.cleanup import rehearsal_file
from eap_core.store.projects import find
from eap_core.store.store import open_current_store
from tests.eap_core.project.conftest import table_text


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(table_text(60, 1))
    Path("bad.csv").write_text(table_text(6, 2, 2.5))
    Path("made.csv").write_text(table_text(12, 3, 2.0))
    return tmp_path / "home"


FILES = ("--normals", "good.csv", "--anomalies", "bad.csv")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["rehearse", *words])


def refused(*words: str) -> str:
    error = run(*words).exception
    assert isinstance(error, EapError), error
    return str(error)


def test_files_are_rehearsed_without_candidates() -> None:
    done = run(*FILES, "--subsets", "3")
    assert done.exit_code == 0, done.output
    assert "6 real anomalies among 60 unseen normals and 150 impossible rows" in done.stdout
    for name in ("eap", "reach", "near_real"):
        assert name in done.stdout
    assert "EAP-Reach: " in done.stdout
    assert "of your 6 real anomalies rank above 90 % of unseen normals" in done.stdout


def test_machines_get_all_figures_and_candidates_change_nothing() -> None:
    alone = json.loads(run(*FILES, "--subsets", "0", "--json").stdout)
    found = Rehearsal.from_record(alone)
    assert (found.m, found.normals) == (6, 60)
    assert set(alone["sentences"]) == {"eap", "reach", "near_real"}
    assert alone["better_than_eap"] in (None, "reach", "near_real")
    beside = run(*FILES, "--candidates", "made.csv", "--subsets", "0", "--json")
    assert json.loads(beside.stdout) == alone


def test_the_scores_to_try_out_are_chosen() -> None:
    done = json.loads(run(*FILES, "--subsets", "0", "--evaluators", "rarity", "--json").stdout)
    assert [each["name"] for each in done["trials"]] == ["eap", "rarity"]
    assert done["trials"][1]["lines"] is None
    assert "no evaluator 'dance'" in refused(*FILES, "--evaluators", "dance")


def test_what_cannot_be_rehearsed_is_one_sentence() -> None:
    assert "no training data are given" in refused()
    assert "no real anomaly to rehearse with" in refused("--normals", "good.csv")
    assert "leave out the project" in refused("fraud", *FILES)
    assert "leave out the project" in refused("fraud", "--seed", "3")
    assert "no project" in refused("fraud")


def test_a_project_has_been_rehearsed_by_its_run(home: Path) -> None:
    words = ("create", "fraud", *FILES, "--candidates", "made.csv", "--subsets", "3")
    assert CliRunner().invoke(app, words).exit_code == 0
    kept = run("fraud", "--json")
    assert kept.exit_code == 0, kept.output
    with open_current_store() as store:
        current = find(store, "fraud").current_run
    assert current is not None
    rehearsal_file(home, current).unlink()
    again = json.loads(run("fraud", "--json").stdout)  # it is made where it is lost
    assert again == json.loads(kept.stdout)
    assert rehearsal_file(home, current).exists()
    # The same rows as files, in the same order, give the same.
    files = json.loads(run(*FILES, "--subsets", "3", "--json").stdout)
    own, other = (each["trials"][0]["above_normals"] for each in (again, files))
    assert np.allclose(list(own.values()), list(other.values()))


def test_a_project_without_scores_says_so() -> None:
    words = ("create", "raw", *FILES, "--candidates", "made.csv", "--no-score")
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "has no scores yet" in refused("raw")
