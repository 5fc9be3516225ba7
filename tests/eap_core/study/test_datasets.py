"""Which data sets a folder holds, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.progress import silent
from eap_core.cli.output import error_words
from eap_core.study.data import DataSet, choose_datasets, find_datasets, fingerprint, with_rows
from eap_core.study.plan import plan_study


def test_names_and_tracks(sets: Path) -> None:
    assert [(one.name, one.track) for one in find_datasets(sets)] == [
        ("digits", "tables"),
        ("ones", "images"),
        ("threes", "images"),
        ("tumours", "tables"),
    ]


def test_two_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for place in ("1_pump.npz", "more/2_pump.npz", "valve.csv"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(b"")
    assert [one.name for one in find_datasets(tmp_path)] == [
        "1_pump.npz",
        "more/2_pump.npz",
        "valve",
    ]


def test_wrong_folders_and_names_are_said(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'nowhere' is no folder"):
        find_datasets(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no data set"):
        find_datasets(tmp_path)
    with pytest.raises(SettingsError, match="no data set 'pumps' — there are 'digits', 'ones'"):
        choose_datasets(find_datasets(sets), ["DIGITS", "pumps"])


def test_a_table_of_text_and_numbers(tmp_path: Path) -> None:
    lines = [f"{i % 7},{'red' if i % 3 else 'blue'},{int(i > 60)}" for i in range(90)]
    (tmp_path / "valves.csv").write_text("\n".join(["pressure,colour,broken", *lines]))
    rows = find_datasets(tmp_path, label="broken")[0].rows()
    assert rows.values.shape == (90, 3)
    assert rows.labels.sum() == 29
    (tmp_path / "valves.csv").write_text("pressure,flow\n1,2\n3,4\n")
    with pytest.raises(DataError, match=r"no label column") as caught:
        find_datasets(tmp_path)[0].rows()
    assert error_words(caught.value).endswith("name the column with --label")


def test_other_contents_are_another_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(b"one")
    data = DataSet("t", "tables", path)
    before = fingerprint(data)
    path.write_bytes(b"two")
    assert fingerprint(data) != before


def test_small_tables_lend_but_are_not_studied(sets: Path, tmp_path: Path) -> None:
    for file in sets.glob("*.npz"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    rows = np.random.default_rng(0).normal(size=(300, 3))
    np.savez(tmp_path / "small.npz", X=rows, y=np.repeat([0, 1], [240, 60]))
    plan = plan_study(tmp_path, tmp_path / "features", [], ["eap"], 2, 5)
    assert [one.name for one in plan.datasets] == ["digits", "tumours"]
    assert [one.name for one in plan.pool] == ["digits", "small", "tumours"]
    assert "1 tables with fewer than 100 anomalies" in plan.notes[0]
    asked = plan_study(tmp_path, tmp_path / "features", ["small"], ["eap"], 2, 5)
    assert [one.name for one in asked.datasets] == ["small"]
    assert len(asked.cells()) == 2


def picture(path: Path, seed: int, spot: bool) -> None:
    pixels = np.random.default_rng(seed).integers(90, 110, size=(64, 64, 3))
    if spot:
        pixels[20:40, 20:40] = 250
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)


def test_folders_of_images_become_rows_once(tmp_path: Path) -> None:
    for i in range(6):
        picture(tmp_path / "bolts" / "train" / "good" / f"{i}.png", i, spot=False)
    for i in range(4):
        picture(tmp_path / "bolts" / "test" / "hole" / f"{i}.png", 10 + i, spot=True)
    picture(tmp_path / "bolts" / "generated" / "gan" / "0.png", 20, spot=True)
    [data] = find_datasets(tmp_path)
    assert (data.name, data.track, data.is_folder) == ("bolts", "images", True)
    said: list[str] = []
    made = with_rows(data, tmp_path / "features", lambda _share, step: said.append(step))
    rows = made.rows()
    assert rows.labels.tolist() == [1] * 4 + [0] * 6  # by name: test comes before train
    assert rows.values.shape[1] > 500
    assert said
    before = made.path.stat().st_mtime_ns
    assert with_rows(data, tmp_path / "features", silent) == made
    assert made.path.stat().st_mtime_ns == before
    apart = np.linalg.norm(rows.values[:4].mean(axis=0) - rows.values[4:].mean(axis=0))
    assert apart > np.linalg.norm(rows.values[4:] - rows.values[4:].mean(axis=0), axis=1).max()


def test_a_folder_of_good_images_alone_is_said(tmp_path: Path) -> None:
    picture(tmp_path / "bolts" / "good" / "0.png", 0, spot=False)
    (tmp_path / "bolts" / "defect").mkdir()
    with pytest.raises(DataError, match="bolts does not hold both normal images and real anom"):
        with_rows(find_datasets(tmp_path)[0], tmp_path / "features")
