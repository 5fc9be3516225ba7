"""The image demo as a folder."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eap_core.base.errors import DataError
from eap_core.base.progress import Cancelled
from eap_core.images.layout import recognise
from tools.demo_images import tree
from tools.demo_images.album import drawn
from tools.demo_images.catalogue import Entry, catalogue

FEW = (
    "normal/flange-001.jpg",
    "anomaly/scratch/flange-201.jpg",
    "generated/careful-inpaint/scratch-01.jpg",
    "generated/timid-inpaint/scratch-01.jpg",
    "test_normal/flange-301.jpg",
    "test_anomaly/corrosion/flange-404.jpg",
)


def few(seed: int) -> tuple[Entry, ...]:
    return tuple(entry for entry in catalogue(seed) if entry.name in FEW)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tree, "catalogue", few)  # all of it would take long
    return tree.write_demo_images(tmp_path / "new" / "demo")


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_folder_holds_every_picture_and_its_row(written: Path) -> None:
    rows = rows_of(written)
    assert sorted(row["file_name"] for row in rows) == sorted(FEW)
    assert tuple(rows[0]) == tree.COLUMNS
    files = {path.relative_to(written).as_posix() for path in written.rglob("*.*")}
    masks = {row["mask"] for row in rows if row["mask"]}
    assert files == {*FEW, *masks, "metadata.csv"}
    assert masks == {
        "masks/anomaly/scratch/flange-201.png",
        "masks/generated/careful-inpaint/scratch-01.png",
        "masks/test_anomaly/corrosion/flange-404.png",
    }


def test_the_folders_alone_tell_roles_and_masks(written: Path) -> None:
    names = [path.relative_to(written).as_posix() for path in written.rglob("*.*")]
    layout = recognise(name for name in names if not name.endswith(".csv"))
    assert layout.notes == ()
    for row in rows_of(written):
        assert layout.places[row["file_name"]].role == row["role"]
        assert layout.masks.get(row["file_name"], "") == row["mask"]


def test_rows_say_what_is_known(written: Path) -> None:
    rows = {row["file_name"]: row for row in rows_of(written)}
    for entry in few(0):
        row = rows[entry.name]
        assert row["role"] == entry.role
        known = {key: value for key, value in row.items() if value}
        assert {**entry.metadata, **known} == known
    assert rows["normal/flange-001.jpg"]["truth"] == ""


def test_files_show_the_pictures(written: Path) -> None:
    for entry in few(0):
        picture = drawn(entry)
        with Image.open(written / entry.name) as image:
            apart = np.abs(
                np.asarray(image, dtype=np.float64) - np.asarray(picture.image, dtype=np.float64)
            )
            assert (image.format, image.mode) == ("JPEG", "RGB")
        assert apart.mean() < 1.5
        if picture.mask:
            mask = written / "masks" / Path(entry.name).with_suffix(".png")
            with Image.open(mask) as image:
                assert np.array_equal(np.asarray(image), np.asarray(picture.mask))


def test_pictures_are_small_files(written: Path) -> None:
    sizes = [(written / name).stat().st_size for name in FEW]
    assert max(sizes) * len(catalogue()) < 25_000_000


def test_two_folders_are_equal_byte_by_byte(written: Path, tmp_path: Path) -> None:
    again = tree.write_demo_images(tmp_path / "again")
    for path in sorted(written.rglob("*.*")):
        assert path.read_bytes() == (again / path.relative_to(written)).read_bytes()


@pytest.mark.usefixtures("written")
def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("mine")
    with pytest.raises(DataError, match="is not empty — the demo needs a new or empty one"):
        tree.write_demo_images(tmp_path)
    assert (tmp_path / "metadata.csv").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="'demo' cannot be written"):
        tree.write_demo_images(tmp_path / "file" / "demo")


def test_progress_is_told_and_can_stop_the_work(tmp_path: Path) -> None:
    told: list[float] = []

    def stop(share: float, step: str) -> None:
        assert step
        told.append(share)
        if len(told) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        tree.write_demo_images(tmp_path / "demo", progress=stop)
    assert told == sorted(told)
    assert not (tmp_path / "demo" / "metadata.csv").exists()


def test_progress_ends_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "catalogue", few)
    told: list[float] = []
    tree.write_demo_images(tmp_path / "demo", progress=lambda share, _: told.append(share))
    assert (told[0], told[-1]) == (0, 1)
    assert len(told) == len(FEW) + 1
