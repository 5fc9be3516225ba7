"""The kinds of unrealistic candidates: each by what can be checked by hand, and kept apart."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.table import Floats
from eap_core.cli.study import Kind
from eap_core.study.data import Split, choose_datasets, find_datasets, split_dataset
from eap_core.study.plan import StudyPlan, claim_folder, plan_study
from eap_core.study.report import about, frame_of, write_outputs, write_report
from eap_core.study.results import name_unrealistic, summarise
from eap_core.study.run import CellOutcome, run, run_cells, run_locally
from eap_core.study.unrealistic import (
    KINDS,
    WORDS,
    Unrealistic,
    add_noise,
    fill_box,
    permute,
    rescale,
)
from tests.eap_core.command import command
from tests.eap_core.study.made_up import made_up

OTHERS = KINDS[1:]


def made(folder: Path, kind: Unrealistic, name: str = "tumours", seed: int = 3) -> Split:
    pool = find_datasets(folder)
    return split_dataset(choose_datasets(pool, [name])[0], pool, seed, kind)


def unrealistic(split: Split) -> Floats:
    return np.asarray(split.problem.x_candidates[split.kinds == 2])


def plan(folder: Path, kind: str = "foreign", points: int = 0, first_seed: int = 0) -> StudyPlan:
    given = (folder, folder / "features", ["ones", "threes"], ("eap", "random"), 1, points)
    return plan_study(*given, unrealistic=kind, first_seed=first_seed)


def test_rescaled_rows_have_the_normals_mean_and_deviation() -> None:
    rng = np.random.default_rng(0)
    foreign, normals = rng.gamma(1, 50, (40, 4)) + 1_000, rng.normal(3, (1, 2, 3, 0), (90, 4))
    foreign[:, 1] = 0.1  # one value, whose deviation is not quite zero in floating point
    found = rescale(foreign, normals)
    np.testing.assert_allclose(found.mean(axis=0), normals.mean(axis=0))
    np.testing.assert_allclose(found.std(axis=0)[[0, 2]], normals.std(axis=0)[[0, 2]])
    assert (found[:, 1] == normals.mean(axis=0)[1]).all()
    np.testing.assert_allclose(found[:, 3], 3)
    order = np.argsort(foreign[:, 0])  # moved and stretched, not mixed
    assert (np.diff(found[order, 0]) >= 0).all()


def test_permuted_values_come_from_their_own_column() -> None:
    train = np.arange(60.0).reshape(20, 3) * (1, 10, 100)
    found = permute(train, 500, np.random.default_rng(0))
    assert found.shape == (500, 3)
    for j in range(3):
        assert set(found[:, j]) == set(train[:, j])
    rows = {row.tobytes() for row in train}
    assert np.mean([row.tobytes() in rows for row in found]) < 0.05  # 1 of 400 by chance


def test_uniform_rows_fill_the_box_and_nothing_else() -> None:
    normals = np.array([[0.0, -5.0, 7.0], [1.0, 5.0, 7.0], [0.5, 0.0, 7.0]])
    found = fill_box(normals, 2_000, np.random.default_rng(0))
    assert (found >= normals.min(axis=0)).all()
    assert (found <= normals.max(axis=0)).all()
    np.testing.assert_allclose(found.mean(axis=0), [0.5, 0, 7], atol=0.2)
    np.testing.assert_allclose(np.ptp(found, axis=0), [1, 10, 0], atol=0.05)


def test_noise_is_one_deviation_of_each_column() -> None:
    normals = np.repeat([[0.0, 100.0, 4.0], [2.0, 300.0, 4.0]], 50, axis=0)
    found = add_noise(normals, 4_000, np.random.default_rng(0))
    # Two places one deviation from their mean, and as much again: √2 deviations.
    np.testing.assert_allclose(found.mean(axis=0), [1, 200, 4], rtol=0.06)
    np.testing.assert_allclose(found.std(axis=0)[:2], np.sqrt(2) * np.array([1, 100]), rtol=0.05)
    assert (found[:, 2] == 4).all()


@pytest.mark.parametrize("kind", OTHERS)
def test_only_the_unrealistic_candidates_differ(sets: Path, kind: Unrealistic) -> None:
    own, usual = made(sets, kind), made(sets, "foreign")
    np.testing.assert_array_equal(own.problem.x_train, usual.problem.x_train)
    np.testing.assert_array_equal(own.x_test, usual.x_test)
    for quality in (0, 1):
        rows = [
            {row.tobytes() for row in each.problem.x_candidates[each.kinds == quality]}
            for each in (own, usual)
        ]
        assert rows[0] == rows[1]
    assert len(unrealistic(own)) == len(unrealistic(usual))
    assert not np.isin(unrealistic(own)[:, 0], unrealistic(usual)[:, 0]).all()
    assert own.problem.fingerprint == made(sets, kind).problem.fingerprint
    assert bool(own.lenders) is (kind == "rescaled")


def test_a_split_is_made_of_its_own_training_rows(sets: Path) -> None:
    split = made(sets, "rescaled")
    normals = split.problem.x_train[split.problem.y_train == 0]
    found = unrealistic(split)
    np.testing.assert_allclose(found.mean(axis=0), normals.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.std(axis=0), normals.std(axis=0), atol=1e-9)

    split = made(sets, "permuted")
    for column, known in zip(unrealistic(split).T, split.problem.x_train.T, strict=True):
        assert np.isin(column, known).all()

    split = made(sets, "uniform")
    normals = split.problem.x_train[split.problem.y_train == 0]
    assert (unrealistic(split) >= normals.min(axis=0) - 1e-9).all()
    assert (unrealistic(split) <= normals.max(axis=0) + 1e-9).all()


def test_the_kind_is_in_the_key_and_in_the_file(sets: Path, tmp_path: Path) -> None:
    keys = [plan(sets, kind).cells()[0].key for kind in KINDS]
    assert len(set(keys)) == len(KINDS)
    assert plan(sets).cells()[0].key == keys[0]
    [cell, *_] = plan(sets, "noise").cells()
    run_cells([cell], tmp_path, partial(run_locally, 1))
    [file] = tmp_path.glob("*.json")
    assert json.loads(file.read_text())["unrealistic"] == "noise"


def test_seeds_are_counted_from_the_first(sets: Path) -> None:
    names = [cell.name for cell in plan(sets, first_seed=100).cells()]
    assert names == ["ones, seed 100", "threes, seed 100"]
    nothing = CellOutcome((), ())
    assert "1 seeds, from 100 on" in about(plan(sets, first_seed=100), nothing)["Data sets"]


def test_a_folder_is_of_one_kind(sets: Path, tmp_path: Path) -> None:
    permuted = plan(sets, "permuted")
    claim_folder(permuted, tmp_path / "out")
    claim_folder(permuted, tmp_path / "out")
    with pytest.raises(SettingsError, match=r"'out' holds .* 'permuted', not 'foreign'"):
        claim_folder(plan(sets), tmp_path / "out")
    # Of a time when there was one kind only.
    (tmp_path / "old" / "cells").mkdir(parents=True)
    claim_folder(permuted, tmp_path / "empty")
    (tmp_path / "old" / "cells" / "a.json").write_text("{}")
    with pytest.raises(SettingsError, match=r"'old' holds .* 'foreign', not 'permuted'"):
        claim_folder(permuted, tmp_path / "old")
    claim_folder(plan(sets), tmp_path / "old")


def test_cells_of_two_kinds_are_refused() -> None:
    usual = made_up({"tables": ["a"]}, seeds=1)
    other = made_up({"tables": ["b"]}, seeds=1).assign(unrealistic="noise")
    assert [name_unrealistic(each) for each in (usual, other)] == ["foreign", "noise"]
    with pytest.raises(DataError, match="several kinds: foreign, noise"):
        summarise(pd.concat([usual, other]))


def test_the_paper_is_left_out_beside_another_kind() -> None:
    usual = made_up(seeds=1)
    page = write_report(usual.assign(unrealistic="uniform"), {})
    assert WORDS["uniform"] in page
    assert "The paper reports" not in page
    assert 'class="paper"' not in page
    assert WORDS["foreign"] in write_report(usual, {})


def test_the_column_is_there_for_other_kinds_only(sets: Path, tmp_path: Path) -> None:
    for kind in ("foreign", "uniform"):
        chosen = plan(sets, kind)
        outcome = CellOutcome(tuple(run(cell) for cell in chosen.cells()), ())
        (tmp_path / kind).mkdir()
        write_outputs(chosen, outcome, tmp_path / kind)
        named = kind == "uniform"
        for name in ("table.csv", "sweep.csv"):
            assert ("unrealistic" in pd.read_csv(tmp_path / kind / name)) is named
        assert ("unrealistic" in frame_of(outcome.results)) is named
        assert (tmp_path / kind / "comparison.csv").exists() is not named


def test_the_default_is_foreign_to_the_byte(sets: Path, tmp_path: Path) -> None:
    given = ["--data", str(sets), "--datasets", "threes", "--seeds", "1", "--curve-points", "2"]
    given += ["--evaluators", "rarity,random", "--workers", "1"]
    assert command("study", *given, "--out", str(tmp_path / "a")).returncode == 0
    chosen = ("--unrealistic", "foreign", "--curves", "--first-seed", "0")
    assert command("study", *given, *chosen, "--out", str(tmp_path / "b")).returncode == 0
    for name in ("cells.parquet", "table.csv", "sweep.csv", "comparison.csv", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    names = [{file.name for file in (tmp_path / each / "cells").iterdir()} for each in "ab"]
    assert names[0] == names[1]
    ended = command("study", *given, "--unrealistic", "noise", "--out", str(tmp_path / "a"))
    assert ended.returncode == 2
    assert "keep each kind in a folder of its own" in ended.stderr


def test_the_command_knows_every_kind() -> None:
    assert get_args(Kind) == KINDS
    assert set(WORDS) == set(KINDS)


def test_an_unknown_kind_is_said(sets: Path) -> None:
    with pytest.raises(SettingsError, match=r"'odd' — choose from foreign, rescaled"):
        plan(sets, "odd")
