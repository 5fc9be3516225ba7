"""Projects from the command line, as a person without the app would use them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from eap_core.base.errors import EapError
from eap_core.cli import app
from eap_core.store.projects import list_overviews
from eap_core.store.store import open_store
from tests.conftest import SHARED
from tests.eap_core.project.conftest import archive, picture, table_text


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EAP_STORE", raising=False)
    monkeypatch.setenv("EAP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(*words: str, answers: str | None = None) -> Result:
    return CliRunner().invoke(app, words, input=answers)


def refused(*words: str) -> str:
    """The sentence with which a command is refused."""
    error = run(*words).exception
    assert isinstance(error, EapError), error
    return str(error)


@pytest.fixture
def made() -> Result:
    Path("good.csv").write_text(table_text(60, 1))
    Path("bad.csv").write_text(table_text(5, 2, 2.0))
    Path("made.csv").write_text(table_text(12, 3, 2.0, generator="gan"))
    return run("create", "fraud", "--normals", "good.csv", "--anomalies", "bad.csv",
               "--candidates", "made.csv")  # fmt: skip


def test_one_call_makes_a_scored_project(made: Result) -> None:
    assert made.exit_code == 0, made.output
    assert "60 normals, 5 real anomalies, 12 candidates" in made.stdout
    assert "12 candidates scored" in made.stdout
    (row,) = json.loads(run("projects", "--json").stdout)
    assert (row["name"], row["kind"], row["scored"]) == ("fraud", "table", True)


@pytest.mark.usefixtures("made")
def test_scores_are_shown_and_equal_those_of_the_files() -> None:
    assert "best 3 of 12 candidates" in run("scores", "fraud", "--top", "3").stdout
    assert run("scores", "fraud", "--out", "project.csv").exit_code == 0
    words = ("--normals", "good.csv", "--anomalies", "bad.csv", "--candidates", "made.csv")
    assert run("score", *words, "--out", "files.csv").exit_code == 0
    ours = pd.read_csv("project.csv").set_index("id")
    files = pd.read_csv("files.csv").set_index("id").loc[ours.index]
    np.testing.assert_array_equal(ours["eap"], files["eap"])
    assert list(ours["category"]) == list(files["category"])
    assert set(ours["generator"]) == {"gan"}


@pytest.mark.usefixtures("made")
def test_more_files_and_another_run() -> None:
    Path("more.csv").write_text(table_text(4, 9, 2.0))
    assert "4 candidates" in run("add", "fraud", "--candidates", "more.csv").stdout
    assert "nothing new" in run("add", "fraud", "--candidates", "more.csv").stdout
    again = run("run", "fraud", "--evaluators", "rarity", "--subsets", "5")
    assert "16 candidates scored" in again.stdout
    run("scores", "fraud", "--out", "all.csv")
    assert "rarity" in pd.read_csv("all.csv").columns


@pytest.mark.usefixtures("made")
def test_health_speaks_through_its_exit_code() -> None:
    assert run("health", "fraud").exit_code == 0
    rows = Path("made.csv").read_text() + table_text(60, 1, generator="gan").splitlines()[1] + "\n"
    Path("copied.csv").write_text(rows)
    run("add", "fraud", "--candidates", "copied.csv")
    warned = run("health", "fraud", "--json")
    assert warned.exit_code == 1
    assert "candidate-is-normal" in {finding["code"] for finding in json.loads(warned.stdout)}


@pytest.mark.usefixtures("made")
def test_a_project_survives_backup_bin_and_restore() -> None:
    assert run("backup", "fraud", "kept.zip").exit_code == 0
    assert "is there already" in refused("backup", "fraud", "kept.zip")
    assert "cannot be written" in refused("backup", "fraud", ".")
    assert "the names differ" in str(run("delete", "fraud", answers="y\nfrod\n").exception)
    assert run("delete", "fraud", answers="n\n").exit_code == 1
    assert run("delete", "fraud", answers="y\nfraud\n").exit_code == 0
    assert "no project" in refused("health", "fraud")
    assert run("undelete", "fraud").exit_code == 0
    assert run("restore", "kept.zip").exit_code == 0
    names = [row["name"] for row in json.loads(run("projects", "--json").stdout)]
    assert sorted(names) == ["fraud", "fraud (2)"]
    run("scores", "fraud", "--out", "one.csv")
    run("scores", "fraud (2)", "--out", "two.csv")
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    run("delete", "fraud", "--yes")
    assert run("empty-bin", answers="y\nn\n").exit_code == 1
    assert run("empty-bin", answers="y\ny\n").exit_code == 0
    assert "nothing to take back" in refused("undelete", "fraud")


def test_labels_and_ids_are_wanted_where_they_are(home: Path) -> None:
    rows = table_text(40, 1, is_fraud=0) + "\n".join(
        table_text(4, 2, 3.0, is_fraud=1).splitlines()[1:]
    )
    Path("train.csv").write_text(rows + "\n")
    Path("c.csv").write_text(table_text(5, 3, 2.0).replace("id,", "key,", 1))
    done = run("create", "f", "--data", "train.csv", "--candidates", "c.csv", "--label",
               "is_fraud", "--id", "key", "--exclude", "nonsense")  # fmt: skip
    assert done.exit_code == 0, done.exception
    assert "40 normals, 4 real anomalies, 5 candidates" in done.stdout
    assert "no column 'nonsense'" in done.stderr
    store = open_store(home)
    assert list_overviews(store)[0].candidates == 5
    store.close()


def test_a_failed_create_leaves_no_project() -> None:
    Path("bad.csv").write_text("id,a\nx,1\ny\n")
    assert "bad.csv" in refused("create", "x", "--normals", "bad.csv")
    assert json.loads(run("projects", "--json").stdout) == []
    assert "no files are named" in refused("create", "x")


def test_a_project_that_cannot_be_scored_is_kept_and_says_why() -> None:
    Path("good.csv").write_text(table_text(60, 1))
    done = run("create", "half", "--normals", "good.csv")
    assert done.exit_code == 1
    assert "stop: there are no candidates" in done.stderr
    assert "has no scores yet" in refused("scores", "half")


def test_a_whole_tree_taken_as_one_role_is_warned_of(tmp_path: Path) -> None:
    members = {f"normal/{i}.png": picture(i) for i in range(3)} | {"generated/c.png": picture(9)}
    archive(tmp_path / "all.zip", members)
    done = run("create", "x", "--normals", "all.zip", "--no-score")
    assert "has folders for candidates (1), but all 4 images were added as normals" in done.stderr


def test_images_are_checked_without_being_kept(tmp_path: Path, home: Path) -> None:
    members = {f"normal/{i}.png": picture(i) for i in range(3)}
    members |= {"generated/c.png": picture(1), "generated/bad.png": b"no image", "x.heic": b"x"}
    archive(tmp_path / "all.zip", members)
    done = run("check", "--images", "all.zip")
    assert done.exit_code == 1
    assert "3 normals, 1 candidates" in done.stdout
    for said in ("generated/bad.png", "x.heic is a HEIC photo", "exact copies of a normal"):
        assert said in done.stderr
    assert not home.exists()
    assert run("check", "--images", "normal").exception is not None


@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="needs ../shared/data/images")
def test_the_bottles_become_a_scored_project_by_one_call() -> None:
    folder = SHARED / "data" / "images" / "mvtec_bottle"
    done = run("create", "bottle", "--data", str(folder), "--features", "fast")
    assert done.exit_code == 0, done.output
    assert "5 real anomalies, 70 candidates, 5 normals" in done.stdout
    assert "70 candidates scored" in done.stdout
    assert "candidates differ in size from the normals" in done.stderr
    assert "5 normals show little of what normal can look like" in done.stderr
