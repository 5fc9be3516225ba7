"""The whole study in small, on real data: all evaluators, both tracks, through the command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from eap_core.evaluators import PAPER_EVALUATORS
from tests.eap_core.command import command

POINTS = ("--curve-points", "2")  # as few as there may be: forests are the dear part


@pytest.fixture(scope="module")
def out(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    given = ["--data", str(sets), "--out", str(folder), "--seeds", "2"]
    ended = command("study", *given, *POINTS)
    assert ended.returncode == 0, ended.stderr
    assert "8 of 8 cells" in ended.stderr
    assert "EAP" in ended.stdout
    return folder


def test_every_cell_has_every_method(out: Path) -> None:
    cells = pd.read_parquet(out / "cells.parquet")
    assert len(cells) == 4 * 2 * (13 + 7)
    assert set(cells.loc[cells["kind"] == "evaluator", "method"]) == set(PAPER_EVALUATORS)
    priors = cells[cells["kind"] == "prior"]
    assert set(priors["method"]) == {"0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "m/n"}
    figures = cells[["AUC_qlt", "AULC_g", "ACC_g", "AULC_p"]]
    assert figures.notna().all(axis=None)
    assert figures.ge(0).all(axis=None)
    assert figures.le(1).all(axis=None)


def test_the_default_prior_is_eap_itself(out: Path) -> None:
    cells = pd.read_parquet(out / "cells.parquet")
    columns = ["dataset", "seed", "AUC_qlt", "AULC_g", "ACC_g", "AULC_p"]
    eap, prior = (
        cells.loc[cells["method"] == name, columns].reset_index(drop=True)
        for name in ("eap", "m/n")
    )
    pd.testing.assert_frame_equal(eap, prior, check_exact=True)


def test_eap_tells_the_realistic_ones_and_chance_does_not(out: Path) -> None:
    table = pd.read_csv(out / "table.csv")
    for track in ("tables", "images"):
        auc = table[table["data"] == track].set_index("evaluator")["AUC_qlt"]
        assert auc["EAP"] > 0.7
        assert abs(auc["RandomEv"] - 0.5) < 0.15


def test_the_outputs_are_there_and_name_no_machine(out: Path, sets: Path) -> None:
    wanted = {"cells.parquet", "table.csv", "sweep.csv", "comparison.csv", "times.csv"}
    assert wanted | {"report.html"} <= {file.name for file in out.iterdir()}
    assert not (out / "failed.txt").exists()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "tumours" in page
    for private in (str(out), str(sets), str(Path.home())):
        assert private not in page
    paper = pd.read_csv(out / "comparison.csv")
    assert {"tables", "images"} == set(paper["data"])


def test_one_cell_of_another_run_is_the_same_bit_for_bit(
    out: Path, sets: Path, tmp_path: Path
) -> None:
    given = ["--data", str(sets), "--out", str(tmp_path), "--datasets", "threes", "--seeds", "1"]
    assert command("study", *given, *POINTS, "--workers", "1").returncode == 0
    alone = pd.read_parquet(tmp_path / "cells.parquet")
    among = pd.read_parquet(out / "cells.parquet")
    among = among[(among["dataset"] == "threes") & (among["seed"] == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among, check_exact=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--data nowhere --out {out}", "'nowhere' is no folder"),
        ("--data {sets} --out {out} --datasets pumps", "there is no data set 'pumps'"),
        ("--data {sets} --out {out} --evaluators luck", "there is no evaluator 'luck'"),
        (
            "--data {sets} --out {out} --workers 2 --scheduler tcp://127.0.0.1:1",
            "--workers and --scheduler are both given",
        ),
    ],
)
def test_a_mistake_is_one_sentence(sets: Path, tmp_path: Path, given: str, said: str) -> None:
    arguments = given.format(sets=sets, out=tmp_path / "out").split()
    ended = command("study", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
