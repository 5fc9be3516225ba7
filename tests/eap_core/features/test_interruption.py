"""Progress can be followed and stopped, and what was done before stays done."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from eap_core.base.files import FeatureCache
from eap_core.base.progress import Cancelled
from eap_core.features.lite0 import Lite0
from tests.eap_core.features.pictures import SMALL, SMALL_FAST, Shelf, first

BOTH = pytest.mark.parametrize("embedder", [SMALL, SMALL_FAST], ids=lambda e: e.name)


@BOTH
def test_progress_counts_images_and_never_goes_back(embedder: Lite0, tmp_path: Path) -> None:
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(4)]
    told: list[tuple[float, str]] = []
    embedder.embed(images, first(8, 12), FeatureCache(tmp_path), lambda *what: told.append(what))
    shares = [share for share, _ in told]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    steps = [step for _, step in told]
    assert list(dict.fromkeys(s for s in steps if s.startswith("looking"))) == [
        f"looking at image {i + 1} of 12" for i in range(12)
    ]


def test_known_images_are_not_counted(tmp_path: Path) -> None:
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(4)]
    SMALL.embed(images[:10], first(8, 10), FeatureCache(tmp_path))
    told: list[str] = []
    SMALL.embed(images, first(8, 12), FeatureCache(tmp_path), lambda _, step: told.append(step))
    assert next(step for step in told if step.startswith("looking")) == "looking at image 1 of 2"
    told.clear()
    SMALL.embed(images, first(8, 12), FeatureCache(tmp_path), lambda _, step: told.append(step))
    assert not any(step.startswith("looking") for step in told)


@BOTH
@pytest.mark.parametrize("at", [9, 12, 17])
def test_a_stopped_run_goes_on_where_it_was(embedder: Lite0, at: int, tmp_path: Path) -> None:
    """Stopped beyond the sample that patches are learned from, nothing kept is opened again."""
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(12)]
    cache = FeatureCache(tmp_path / "stopped")

    def stop(_: float, step: str) -> None:
        found = re.match(r"looking at image (\d+) of", step)
        if found and int(found[1]) > at:
            raise Cancelled

    with pytest.raises(Cancelled):
        embedder.embed(images, first(8, 20), cache, stop)
    shelf.opened.clear()
    resumed = embedder.embed(images, first(8, 20), cache)
    assert shelf.opened.total() == 20 - at
    straight = embedder.embed(images, first(8, 20), FeatureCache(tmp_path / "straight"))
    np.testing.assert_array_equal(resumed.values, straight.values)


def test_stopped_while_learning_patches_the_numbers_stay(tmp_path: Path) -> None:
    shelf = Shelf()
    images = shelf.normals(8)

    def stop(_: float, step: str) -> None:
        if step.startswith("learning"):
            raise Cancelled

    with pytest.raises(Cancelled):
        SMALL.embed(images, first(8, 8), FeatureCache(tmp_path / "a"), stop)
    shelf.opened.clear()
    SMALL_FAST.embed(images, first(8, 8), FeatureCache(tmp_path / "a"))
    assert shelf.opened.total() == 2  # those outside the sample of six
    resumed = SMALL.embed(images, first(8, 8), FeatureCache(tmp_path / "a"))
    straight = SMALL.embed(images, first(8, 8), FeatureCache(tmp_path / "b"))
    np.testing.assert_array_equal(resumed.values, straight.values)
