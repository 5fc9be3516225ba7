"""What the library promises: every public name is there, documented, and its examples run."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import eap_core as eap
from eap_core.analysis.compare import compare_scores, sweep_priors
from eap_core.analysis.score import score as score_bench
from eap_core.base.errors import DataError, SettingsError
from eap_core.project.demos import demo_tables, write_demo
from eap_core.scoring.workbench import Workbench

NAMES = {
    "EAP", "EVALUATORS", "EapError", "Plan", "Prior", "Problem", "Reading", "Result", "Settings",
    "open_store", "read_table", "score",
}  # fmt: skip
WITH_EXAMPLES = ("eap_core", "eap_core.readers", "eap_core.analysis.result", "eap_core.analysis.result", "eap_core.workspace")  # fmt: skip  # noqa: E501


def test_the_public_names_are_just_these_and_documented() -> None:
    assert set(eap.__all__) == NAMES
    assert set(eap.__all__) <= set(dir(eap))
    for name in NAMES - {"EVALUATORS"}:  # a mapping; each evaluator in it has a summary
        assert getattr(eap, name).__doc__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'scoer'"):
        _ = eap.scoer


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_run(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_importing_the_library_loads_nothing_slow() -> None:
    code = "import sys, eap_core; print({'numpy', 'sklearn', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_result_says_what_the_functions_behind_it_say(tmp_path: Path) -> None:
    train, made = (eap.read_table(str(path)) for path in write_demo(tmp_path))
    settings = eap.Settings(subsets=3)
    result = eap.score(train, made, evaluators=["rarity"], settings=settings, seed=4)
    assert result.evaluators == ("eap", "rarity")
    bench = Workbench(result.problem, settings, 4)
    table = score_bench(bench, result.evaluators)
    frame = result.frame()
    for name, values in table.columns.items():
        np.testing.assert_array_equal(frame[name], values)
    assert set(made.extras) <= {str(name).removesuffix(" (given)") for name in frame.columns}
    scores = {name: table.columns[name] for name in result.evaluators}
    np.testing.assert_array_equal(result.compare().correlation, compare_scores(scores).correlation)
    swept = sweep_priors(result.problem, bench.evidence(), [0.02, 0.1])
    np.testing.assert_array_equal(result.sweep([0.02, 0.1]).scores, swept.scores)
    first = result.problem.ids[0]
    assert result.explain(first).eap == pytest.approx(float(frame["eap"].iloc[0]))


def test_what_cannot_be_scored_is_a_sentence() -> None:
    train, made = demo_tables()
    with pytest.raises(SettingsError, match="no candidates"):
        eap.score(train)
    problem = eap.score(train, made, settings=eap.Settings(subsets=1)).problem
    with pytest.raises(SettingsError, match="in it"):
        eap.score(problem, made)


def test_a_project_by_the_library_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    train, made = write_demo(tmp_path / "files")
    with eap.open_store(tmp_path / "home") as store:
        project = store.create("cells", kind="table")
        with pytest.raises(SettingsError, match="no scores yet"):
            project.frame()
        project.add(train, role="train")
        project.add(made, role="candidate")
        assert not [one for one in project.health() if one.severity == "stop"]
        frame = project.score(eap.Plan(settings=eap.Settings(subsets=1)))
        assert project.frame()["id"].tolist() == frame["id"].tolist()
        with pytest.raises(DataError, match="nobody"):
            project.decide("accept", ["nobody"], reviewer="Ada")
        best = frame["id"].tolist()[:3]
        assert project.decide("accept", best, reviewer="Ada") == 3
        assert project.export(tmp_path / "set.csv")["accepted"] == 3
        with pytest.raises(SettingsError, match="there already"):
            project.export(tmp_path / "set.csv")
        assert store.names() == ["cells"]
    with eap.open_store(tmp_path / "home") as store:
        assert store.open("cells").name == "cells"
