"""The image demo lies ready in assets/: it fits the program, and nothing slow is left to do."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import roc_auc_score

from eap_core.analysis import Plan
from eap_core.base.files import FeatureCache
from eap_core.features import EMBEDDERS
from eap_core.features.base import ImageSource
from eap_core.project.demos import FEATURES, NAMES, PARTS
from eap_core.project.results import run_frame
from eap_core.store import projects
from eap_core.store.store import Store
from tools.demo_images.album import drawn
from tools.demo_images.catalogue import catalogue
from tools.make_demo import pack

STALE = "assets/ does not fit the program any more — run `make demo`"
ENTRIES = {entry.name: entry for entry in catalogue()}
UNTIL_IT_IS_CURRENT = """
import sys
from eap_core.base.progress import Cancelled
from eap_core.project.demos import NAMES, make_demo
from eap_core.store import projects
from eap_core.store.store import open_current_store

def stop(share, _step):
    if share > 0.3 and projects.find(store, NAMES["images"]).current_run is not None:
        raise Cancelled

with open_current_store() as store:
    try:
        make_demo(store, "images", stop)
    except Cancelled:
        print({"torch", "open_clip"} & set(sys.modules))
"""


def test_the_image_demo_is_scored_without_a_network_and_says_what_it_should(store: Store) -> None:
    command = [sys.executable, "-c", UNTIL_IT_IS_CURRENT]
    environment = {**os.environ, "EAP_HOME": str(store.home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()", STALE
    run = projects.find(store, NAMES["images"]).current_run
    assert run is not None
    frame = run_frame(store, run)
    assert len(frame) == 120
    assert (frame["category"] == frame["truth"]).mean() > 0.85
    assert roc_auc_score(frame["truth"] == "realistic", frame["eap"]) > 0.8
    mean = frame.groupby("generator")["eap"].mean()
    assert mean.idxmax() == "careful-inpaint"
    assert mean.idxmin() == "wild-dream"


def test_everything_about_every_image_is_known(tmp_path: Path) -> None:
    def unknown() -> Image.Image:
        pytest.fail(STALE)

    with zipfile.ZipFile(PARTS) as packed:
        hashes = {name: sha256(packed.read(name)).hexdigest() for name in ENTRIES}
    FeatureCache(tmp_path).adopt(FEATURES)
    found = EMBEDDERS[Plan().features].embed(
        [ImageSource(digest, unknown) for digest in hashes.values()],
        np.array([entry.role == "normal" for entry in ENTRIES.values()]),
        FeatureCache(tmp_path),
    )
    assert len(found.values) == len(ENTRIES)


def test_the_metadata_are_the_catalogue() -> None:
    with zipfile.ZipFile(PARTS) as packed:
        text = packed.read("metadata.csv").decode()
        members = set(packed.namelist()) - {"metadata.csv"}
    rows = {row["file_name"]: row for row in csv.DictReader(io.StringIO(text))}
    assert list(rows) == list(ENTRIES), STALE
    assert members == {*rows, *(row["mask"] for row in rows.values() if row["mask"])}, STALE
    for name, entry in ENTRIES.items():
        said = {key: value for key, value in rows[name].items() if value and key != "mask"}
        assert said == {"file_name": name, "role": entry.role, **entry.metadata}, STALE


@pytest.mark.parametrize("name", [*ENTRIES][::41])
def test_the_pictures_are_those_that_are_drawn(name: str) -> None:
    picture = drawn(ENTRIES[name])
    with zipfile.ZipFile(PARTS) as packed, Image.open(packed.open(name)) as image:
        packed_pixels = np.asarray(image, dtype=np.float64)
        apart = np.abs(packed_pixels - np.asarray(picture.image, dtype=np.float64))
        assert (image.format, image.mode) == ("JPEG", "RGB")
    assert apart.mean() < 3, STALE


def test_assets_are_not_heavy() -> None:
    assert PARTS.stat().st_size + FEATURES.stat().st_size < 9_000_000


def test_an_archive_is_the_same_whenever_it_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "b").mkdir(parents=True)
    for name, moment in (("b/1", 10**9), ("a", 2 * 10**9)):
        (folder / name).write_text(name)
        os.utime(folder / name, (moment, moment))
    pack(folder, tmp_path / "one.zip", zipfile.ZIP_STORED)
    (folder / "a").write_text("a")
    pack(folder, tmp_path / "two.zip", zipfile.ZIP_STORED)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as packed:
        assert packed.namelist() == ["a", "b/1"]
        assert packed.read("b/1") == b"b/1"
