"""The command line as a person uses it: real files, real processes where it matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from eap_core.analysis.score import score
from eap_core.base.errors import EapError, SettingsError
from eap_core.base.prepare import problem_from_tables
from eap_core.cli import app
from eap_core.evaluators import EVALUATORS
from eap_core.evaluators.marginals import Loo
from eap_core.project.demos import demo_tables, write_demo
from eap_core.readers import read_table
from eap_core.scoring.settings import AUTHORS
from eap_core.scoring.workbench import Workbench
from tools import make_cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name the demo's files."""
    train, candidates = write_demo(tmp_path_factory.mktemp("demo"))
    return ["--train", str(train), "--candidates", str(candidates)]


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def spoken(*words: str) -> subprocess.CompletedProcess[str]:
    """The real program, with its exit code and both streams."""
    command = [sys.executable, "-m", "eap_core", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_two_files_become_a_file_of_scores(demo: list[str], tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = spoken("score", *demo, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "160 candidates scored → scores.csv" in done.stderr
    frame = pd.read_csv(out)
    expected = score(Workbench(problem_from_tables(*demo_tables()))).frame()
    assert list(frame.columns) == [*expected.columns, "generator"]
    np.testing.assert_array_equal(frame["eap"], expected["eap"])
    assert frame["id"].tolist() == list(expected["id"])


def test_parquet_json_and_a_pipe_say_the_same(demo: list[str], tmp_path: Path) -> None:
    out = tmp_path / "scores.parquet"
    assert run("score", *demo, "--subsets", "0", "--out", str(out)).exit_code == 0
    stored = pd.read_parquet(out)
    printed = json.loads(run("score", *demo, "--subsets", "0", "--json").stdout)
    np.testing.assert_array_equal([row["eap"] for row in printed], stored["eap"])
    piped = run("score", *demo, "--subsets", "0").stdout.splitlines()
    assert piped[0].split(",")[:3] == ["id", "eap", "rank"]
    assert len(piped) == 161


def test_two_training_files_equal_one_with_labels(demo: list[str], tmp_path: Path) -> None:
    train = pd.read_csv(demo[1])
    parts = []
    for label, option in ((0, "--normals"), (1, "--anomalies")):
        path = tmp_path / f"{label}.csv"
        train[train["label"] == label].drop(columns="label").to_csv(path, index=False)
        parts += [option, str(path)]
    one = json.loads(run("score", *demo, "--subsets", "5", "--json").stdout)
    two = json.loads(run("score", *parts, *demo[2:], "--subsets", "5", "--json").stdout)
    assert one == two


def test_options_reach_the_score(demo: list[str]) -> None:
    base = ["score", *demo, "--subsets", "3", "--json"]
    plain = run(*base).stdout
    for change in (
        ["--seed", "1"],
        ["--prior", "0.3"],
        ["--detector", "knn"],
        ["--convention", "paper"],
        ["--scale", "none"],
        ["--k", "20"],
        ["--refit"],
    ):
        changed = run(*base, *change)
        assert changed.exit_code == 0, changed.stderr
        assert changed.stdout != plain, change


def test_excluded_columns_travel_but_do_not_count(demo: list[str]) -> None:
    plain = json.loads(run("score", *demo, "--subsets", "0", "--json").stdout)
    words = ["score", *demo, "--subsets", "0", "--exclude", "mean area,generator", "--json"]
    left_out = json.loads(run(*words).stdout)
    assert left_out[0]["mean area"] != ""
    assert [row["eap"] for row in left_out] != [row["eap"] for row in plain]


def test_a_dialect_is_stated(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = []
    for name, rows, shift in (("normals", 40, 0), ("anomalies", 4, 5), ("candidates", 6, 4)):
        path = tmp_path / f"{name}.txt"
        cells = (rng.normal(size=(rows, 2)) + shift).round(3)
        lines = ["\t".join(f"{n}".replace(".", ",") for n in row) for row in cells]
        path.write_text("\n".join(lines), encoding="utf-16")
        words += [f"--{name}", str(path)]
    assert "a header is needed" in str(run("score", *words).exception)
    stated = ["--no-header", "--delimiter", "tab", "--decimal", ",", "--encoding", "utf-16"]
    done = run("score", *words, *stated, "--subsets", "0", "--json")
    assert done.exit_code == 0, done.exception
    assert len(json.loads(done.stdout)) == 6
    assert "read with '\\t' between columns and ',' as decimal mark" in done.stderr


def test_gaps_categories_and_metadata(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    good = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    good["colour"], good["batch"] = ["red", "blue"] * 30, range(60)
    bad = good.head(5).assign(a=9.0)
    made = good.head(8).assign(a=8.0, source_id=range(8))
    made.loc[2, "b"], made.loc[3, "colour"], made.loc[4, "colour"] = None, None, "pink"
    words = []
    for name, frame in (("normals", good), ("anomalies", bad), ("candidates", made)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        words += [f"--{name}", str(tmp_path / f"{name}.csv")]
    words = ["score", *words, "--metadata", "batch", "--subsets", "0", "--json"]
    assert "missing value — line 4, column 'b'" in str(run(*words).exception)

    dropped = run(*words, "--missing", "drop")
    rows = json.loads(dropped.stdout)
    assert [row["batch"] for row in rows] == ["0", "1", "4", "5", "6", "7"]
    assert [row["source_id"] for row in rows] == ["0", "1", "4", "5", "6", "7"]
    assert "1 of 8 rows are dropped because a value is missing — line 4" in dropped.stderr
    assert "because a category is missing in 'colour': 'candidates:4'" in dropped.stderr
    assert "1 of 6 rows have 'pink' in 'colour', which no training row has" in dropped.stderr

    filled = run(*words, "--missing", "median")
    assert len(json.loads(filled.stdout)) == 8
    assert "with the median of the training normals: 'b' (1 with" in filled.stderr
    coded = run(*words[:7], "--categorical", "batch", "--exclude", "colour", "--missing", "drop")
    assert "'batch' is read as 60 categories" in coded.stderr


def test_evaluators_are_compared(demo: list[str], tmp_path: Path) -> None:
    truth = pd.read_csv(demo[3])
    truth["good"] = (truth.pop("generator") == "interpolate").astype(int)
    truth.to_csv(tmp_path / "known.csv", index=False)
    words = [*demo[:2], "--candidates", str(tmp_path / "known.csv"), "--subsets", "5"]
    words = ["compare", *words, "--evaluators", "rarity,p_y"]
    found = json.loads(run(*words, "--json").stdout)
    assert found["evaluators"] == ["eap", "rarity", "p_y"]
    assert found["auc"]["eap"] > 0.7
    assert np.array(found["correlation"]).shape == (3, 3)
    assert len(found["most_disputed"]) == 10
    shown = run(*words).stdout
    assert "Most disputed candidates" in shown


def test_evaluators_are_further_columns(demo: list[str]) -> None:
    done = run("score", *demo, "--subsets", "0", "--evaluators", "rarity, sum", "--json")
    assert {"eap", "rarity", "sum"} <= set(json.loads(done.stdout)[0])


def test_a_sweep_is_summarised_and_written(demo: list[str], tmp_path: Path) -> None:
    out = tmp_path / "sweep.csv"
    words = ["sweep", *demo, "--subsets", "0", "--priors", "0.05,0.2", "--top", "10"]
    rows = json.loads(run(*words, "--out", str(out), "--json").stdout)
    assert [row["prior"] for row in rows] == [0.05, 0.2]
    assert all(-1 <= row["kendall"] <= 1 and row["top"] == 10 for row in rows)
    assert list(pd.read_csv(out).columns) == ["id", "eap at 0.05", "eap at 0.2"]
    assert "Kendall" in run(*words).stdout


def test_one_candidate_is_explained(demo: list[str]) -> None:
    words = ["explain", "exaggerate-03", *demo, "--subsets", "5"]
    assert "Too far" in run(*words).stdout
    found = json.loads(run(*words, "--json").stdout)
    assert found["category"] == "unrealistic"
    assert len(found["nearest_normals"]) == 3


def test_check_reports_without_scoring(demo: list[str], tmp_path: Path) -> None:
    fine = run("check", *demo)
    assert fine.exit_code == 0
    assert "train.csv: 310 rows, 30 columns" in fine.stdout
    assert run("check", *demo[2:]).exit_code == 0
    assert run("check", *demo[:2]).exit_code == 0

    copied = tmp_path / "copied.csv"
    pd.read_csv(demo[1]).drop(columns="label").head(5).to_csv(copied, index=False)
    warned = run("check", *demo[:2], "--candidates", str(copied))
    assert warned.exit_code == 1
    assert "all 5 candidates are exact copies of a normal" in warned.stderr
    listed = json.loads(run("check", *demo[:2], "--candidates", str(copied), "--json").stdout)
    assert len(listed["warnings"]) == 1

    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2\n3,x\n")
    rejected = spoken("check", "--candidates", str(broken))
    assert rejected.returncode == 2
    assert rejected.stdout == ""
    assert len(rejected.stderr.splitlines()) == 1
    assert "broken.csv" in rejected.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score"], "no training data are given"),
        (["score", "--train", "TRAIN"], "no candidates are given"),
        (["score", "--train", "TRAIN", "--normals", "TRAIN"], "give either --train or --normals"),
        (["score", "--train", "CANDIDATES", "--candidates", "CANDIDATES"], "has no label column"),
        (["score", "DEMO", "--evaluators", "magic"], "no evaluator 'magic'"),
        (["score", "DEMO", "--prior", "0.5"], "below 0.5"),
        (["score", "DEMO", "--detector", "magic"], "pyod has no detector 'magic'"),
        (["score", "DEMO", "--subsets", "-1"], "subsets is -1"),
        (["score", "DEMO", "--subsets", "0", "--out", "x.xlsx"], "must end in .csv or .parquet"),
        (["explain", "nobody", "DEMO"], "no candidate has the id 'nobody'"),
        (["sweep", "DEMO", "--priors", "a,b"], "give numbers such as"),
        (["check", "--normals", "missing.csv"], "missing.csv"),
        (["check", "DEMO", "--exclude", "nonsense"], "--exclude names 'nonsense'"),
        (["check", "DEMO", "--metadata", "nonsense"], "--metadata names 'nonsense'"),
        (["check", "DEMO", "--categorical", "nonsense"], "--categorical names 'nonsense'"),
        (["check", "DEMO", "--feature", "nonsense"], "--feature names 'nonsense'"),
        (["check", "DEMO", "--array", "X"], "--array has no meaning for .csv files"),
        (["check", "DEMO", "--delimiter", ";"], "the stated delimiter ';' is not on the first"),
        (["check", "DEMO", "--delimiter", ";;"], "a delimiter of ';;' is not possible"),
        (["check", "DEMO", "--delimiter", ",", "--decimal", ","], "cannot separate the columns"),
        (["check", "DEMO", "--encoding", "klingon"], "the encoding 'klingon' is not known"),
        (["check", "DEMO", "--no-header"], "is not a number"),
        (["check"], "no file is named"),
        (["score", "DEMO", "--out", "nowhere/s.csv"], "no such folder"),
        (["sweep", "DEMO", "--memory", "0.01", "--subsets", "5000"], "memory budget"),
        (["sweep", "DEMO", "--priors", "0.6"], "below 0.5"),
        (["sweep", "DEMO", "--top", "0"], "best 0 of 160"),
        (["demo", "TRAIN"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence(demo: list[str], words: list[str], message: str) -> None:
    names = {"TRAIN": [demo[1]], "CANDIDATES": [demo[3]], "DEMO": demo}
    given = [word for name in words for word in names.get(name, [name])]
    done = run(*given)
    assert isinstance(done.exception, EapError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_an_input_is_never_overwritten(demo: list[str], tmp_path: Path) -> None:
    candidates = tmp_path / "c.csv"
    candidates.write_bytes(Path(demo[3]).read_bytes())
    before = candidates.read_bytes()
    done = run("score", *demo[:2], "--candidates", str(candidates), "--out", str(candidates))
    assert "is one of the inputs" in str(done.exception)
    assert candidates.read_bytes() == before


def test_labelled_candidates_are_scored_with_a_warning(demo: list[str], tmp_path: Path) -> None:
    labelled = tmp_path / "c.csv"
    pd.read_csv(demo[3]).assign(label=[0, 1] * 80).to_csv(labelled, index=False)
    done = run("score", *demo[:2], "--candidates", str(labelled), "--subsets", "0", "--json")
    assert "80 of 160 candidates are labelled 0" in done.stderr
    assert json.loads(done.stdout)[1]["label"] == "1"


def test_no_anomalies_are_said_wherever_a_score_is_shown(demo: list[str], tmp_path: Path) -> None:
    normals = tmp_path / "n.csv"
    train = pd.read_csv(demo[1])
    train[train["label"] == 0].drop(columns="label").to_csv(normals, index=False)
    words = ["--normals", str(normals), *demo[2:], "--subsets", "0"]
    for command in (["score"], ["explain", "jitter-01"], ["sweep"]):
        assert "rate of 0.05 is assumed" in run(*command, *words).stderr


def test_old_terminals_and_full_disks_give_no_traceback(demo: list[str]) -> None:
    words = [sys.executable, "-m", "eap_core", "explain", "jitter-01", *demo, "--subsets", "0"]
    old = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, env=old, check=False)
    assert done.returncode == 0
    assert "φ" in done.stdout.decode()
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(words, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[-1].startswith("error: standard output cannot")


def test_mistakes_end_with_code_two_and_no_traceback(demo: list[str]) -> None:
    done = spoken("score", *demo, "--evaluators", "magic")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no evaluator 'magic'")
    assert "Traceback" not in done.stderr


def test_the_list_names_every_evaluator() -> None:
    shown = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in shown] == list(EVALUATORS)
    assert "rarity" in run("list").stdout


def test_the_demo_files_can_be_written_anywhere(tmp_path: Path) -> None:
    assert run("demo", str(tmp_path / "new" / "folder")).exit_code == 0
    assert len(pd.read_csv(tmp_path / "new" / "folder" / "train.csv")) == 310


def test_the_documentation_is_the_help() -> None:
    assert make_cli.PAGE.read_text(encoding="utf-8") == make_cli.page(), "run `make docs`"


def test_defaults_stand_in_one_place() -> None:
    assert f"({AUTHORS.subsets};" in make_cli.page()
    assert f"[default: {AUTHORS.detector}]" in make_cli.page()


def test_exact_refits_for_every_candidate(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = []
    for name, rows, shift in (("normals", 30, 0.0), ("anomalies", 4, 2.5), ("candidates", 3, 2.0)):
        path = tmp_path / f"{name}.csv"
        pd.DataFrame(rng.normal(shift, 1.0, (rows, 3)), columns=[*"abc"]).to_csv(path, index=False)
        given += [f"--{name}", str(path)]
    wanted = ["--subsets", "0", "--evaluators", "loo", "--json"]
    exact = json.loads(run("score", *given, *wanted, "--exact").stdout)
    tables = {each: read_table(tmp_path / f"{each}.csv") for each in ("normals", "candidates")}
    problem = problem_from_tables(
        tables["normals"], tables["candidates"], read_table(tmp_path / "anomalies.csv")
    )
    slow = Loo(exact=True).score(Workbench(problem))
    np.testing.assert_array_equal([row["loo"] for row in exact], slow)
    compared = run("compare", *given, *wanted, "--exact")
    assert compared.exit_code == 0
    refused = run("score", *given, "--exact")
    assert isinstance(refused.exception, SettingsError)
    assert "--exact has no meaning for eap" in str(refused.exception)
    assert "data_banzhaf" in str(refused.exception)
