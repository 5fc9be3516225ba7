"""A further evaluator is one class and one line: nothing else has to be told of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from eap_core import evaluators, jobs
from eap_core.analysis import working_seconds
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.cli import app as commands
from eap_core.evaluators.base import Cost
from eap_core.scoring.settings import AUTHORS
from eap_core.scoring.workbench import Workbench
from eap_core.store import projects, runs
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.pages.conftest import until, visit
from tests.pages.test_score import filled, press


@dataclass(frozen=True)
class Toy:
    label: ClassVar[str] = "Toy2026"
    title: ClassVar[str] = "Length of a toy"
    summary: ClassVar[str] = "far from where all columns are zero"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 40.0
    in_paper: ClassVar[bool] = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        progress(1.0, self.label)
        return np.asarray(np.linalg.norm(bench.problem.x_candidates, axis=1))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line; and jobs are done in this process, for it is written in no file."""
    monkeypatch.setitem(evaluators._EVALUATORS, "toy", Toy())
    monkeypatch.setattr(jobs, "_spawn", jobs.work_on)


def command(*words: str) -> str:
    done = CliRunner().invoke(commands, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info)
    return " ".join(element.value for element in everything).replace("\\", "")


def test_the_command_line_scores_compares_and_lists_it(tmp_path: Path) -> None:
    command("demo", str(tmp_path))
    given = (
        "--train",
        str(tmp_path / "train.csv"),
        "--candidates",
        str(tmp_path / "candidates.csv"),
    )
    quick = ("--subsets", "0", "--evaluators", "toy,random", "--json")
    rows = json.loads(command("score", *given, *quick))
    assert rows[0]["toy"] > 0
    compared = json.loads(command("compare", *given, *quick))
    assert "toy" in json.dumps(compared)
    assert {
        "name": "toy",
        "label": "Toy2026",
        "summary": "far from where all columns are zero",
        "cost": "seconds",
    } in json.loads(command("list", "--json"))
    assert working_seconds("toy", AUTHORS, 2000, 2000) == pytest.approx(40.0, abs=0.1)


def test_the_pages_score_compare_and_export_it(store: Store, tmp_path: Path) -> None:
    project = filled(store, tmp_path)
    app = visit("pages/score.py", project.id)
    methods = app.multiselect[0]
    assert "Length of a toy" in methods.options
    methods.set_value(["rarity", "toy"])
    next(c for c in app.segmented_control if c.label == "Thoroughness").set_value(0)
    press(app.run(), "Score the candidates")
    until(app, lambda a: any(b.label == "Score again" for b in a.button))
    assert not app.exception
    run = str(projects.by_id(store, project.id).current_run)
    assert "toy" in runs.score_names(store, run)
    _compared(project)
    _exported(store, project, tmp_path)


def _compared(project: Project) -> None:
    app = visit("pages/compare.py", project.id)
    assert not app.exception
    assert "Length of a toy (Toy2026): far from where all columns are zero" in said(app)
    assert list(app.dataframe[0].value.columns) == ["id", "eap", "rarity", "toy"]
    app.selectbox(key="compare.with").set_value("toy").run()
    assert not app.exception
    assert "■ Length of a toy" in said(app)


def _exported(store: Store, project: Project, tmp_path: Path) -> None:
    app = visit("pages/export.py", project.id)
    app.button(key="export.make").click().run()
    assert not app.exception
    out = tmp_path / "rows.csv"
    command("export", project.name, "--out", str(out))
    table = pd.read_csv(out)
    scores = runs.scores_of(store, str(projects.by_id(store, project.id).current_run))
    assert sorted(table["toy"]) == pytest.approx(sorted(scores["toy"]))
