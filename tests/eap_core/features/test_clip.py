"""CLIP features of a model that the test builds: the same again, and each image looked at once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eap_core.base.errors import DataError
from eap_core.base.files import FeatureCache
from eap_core.base.progress import Cancelled
from eap_core.cli.output import error_words
from eap_core.features.clip import Clip
from eap_core.features.clip_hub import ModelSpec
from eap_core.features.clip_model import load
from tests.eap_core.features import tiny_clip
from tests.eap_core.features.pictures import Shelf, first, texture


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return Clip(tiny_clip.saved(tmp_path_factory.mktemp("model")))


def test_the_values_are_the_models_own(clip: Clip, tmp_path: Path) -> None:
    shelf = Shelf()
    found = clip.embed([*shelf.normals(3), *shelf.defects(2)], first(3, 5), FeatureCache(tmp_path))
    seen = [texture(i) for i in range(3)] + [texture(1000 + i, defect=True) for i in range(2)]
    expected = load(clip.wanted).images(seen) * 4.0  # sixteen columns
    np.testing.assert_array_equal(found.values, expected.astype(np.float64))
    assert found.heat is None
    assert len(found.columns) == 16
    assert not found.standardised
    assert found.notes == (
        "image features by the CLIP model tiny-clip, weights 'tiny-clip-0.safetensors'",
    )


def test_the_same_in_another_order_and_company(clip: Clip, tmp_path: Path) -> None:
    shelf = Shelf()
    images = [*shelf.normals(6), *shelf.defects(3)]
    one = clip.embed(images, first(6, 9), FeatureCache(tmp_path / "a")).values
    other = clip.embed(images[::-1], first(6, 9)[::-1], FeatureCache(tmp_path / "b")).values
    np.testing.assert_array_equal(one, other[::-1])
    fewer = clip.embed(images[4:], first(2, 5), FeatureCache(tmp_path / "c")).values
    np.testing.assert_array_equal(one[4:], fewer)


def test_what_is_kept_is_identical_and_is_not_looked_at_again(clip: Clip, tmp_path: Path) -> None:
    shelf = Shelf()
    images = shelf.normals(5)
    images.append(images[0])  # the same contents under another name
    computed = clip.embed(images, first(6, 6), FeatureCache(tmp_path)).values
    assert shelf.opened.total() == 5
    shelf.opened.clear()
    kept = clip.embed(images, first(6, 6), FeatureCache(tmp_path)).values
    assert shelf.opened.total() == 0
    np.testing.assert_array_equal(kept, computed)


def test_a_changed_image_or_model_is_looked_at(clip: Clip, tmp_path: Path) -> None:
    shelf, cache = Shelf(), FeatureCache(tmp_path / "cache")
    before = clip.embed(shelf.normals(4), first(4, 4), cache).values
    shelf.opened.clear()
    changed = texture(0)
    changed.putpixel((3, 3), (0, 0, 0))
    images = [shelf.source(changed), *shelf.normals(3, start=1)]
    after = clip.embed(images, first(4, 4), cache).values
    assert shelf.opened.total() == 1
    assert not np.array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1:], after[1:])
    shelf.opened.clear()
    other = Clip(tiny_clip.saved(tmp_path, seed=1)).embed(images, first(4, 4), cache).values
    assert shelf.opened.total() == 4
    assert not np.isclose(other, after).all(axis=1).any()


@pytest.mark.parametrize("at", [1, 7, 11])
def test_a_stopped_run_goes_on_where_it_was(at: int, clip: Clip, tmp_path: Path) -> None:
    shelf, cache = Shelf(), FeatureCache(tmp_path / "stopped")
    images = [*shelf.normals(8), *shelf.defects(4)]

    def stop(_: float, step: str) -> None:
        found = re.match(r"looking at image (\d+) of", step)
        if found and int(found[1]) > at:
            raise Cancelled

    with pytest.raises(Cancelled):
        clip.embed(images, first(8, 12), cache, stop)
    shelf.opened.clear()
    resumed = clip.embed(images, first(8, 12), cache).values
    assert shelf.opened.total() == 12 - at
    straight = clip.embed(images, first(8, 12), FeatureCache(tmp_path / "straight")).values
    np.testing.assert_array_equal(resumed, straight)


_KILLED = """
import os, re, signal, sys
from pathlib import Path
from eap_core.base.files import FeatureCache
from eap_core.features.clip import Clip
from tests.eap_core.features import tiny_clip as tiny
from tests.eap_core.features.pictures import Shelf, first

def die(_, step):
    found = re.match(r"looking at image (\\d+) of", step)
    if found and int(found[1]) > 7:
        os.kill(os.getpid(), signal.SIGKILL)

folder, shelf = Path(sys.argv[1]), Shelf()
images = [*shelf.normals(8), *shelf.defects(4)]
Clip(tiny.saved(folder)).embed(images, first(8, 12), FeatureCache(folder / "cache"), die)
"""


def test_a_killed_run_goes_on_where_it_was(clip: Clip, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)], cwd=Path(__file__).parents[3]
    )
    assert done.returncode == -signal.SIGKILL
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(4)]
    resumed = clip.embed(images, first(8, 12), FeatureCache(tmp_path / "cache")).values
    assert shelf.opened.total() == 12 - 7
    straight = clip.embed(images, first(8, 12), FeatureCache(tmp_path / "straight")).values
    np.testing.assert_array_equal(resumed, straight)


def test_progress_counts_images_and_never_goes_back(clip: Clip, tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    clip.embed(
        Shelf().normals(6), first(6, 6), FeatureCache(tmp_path), lambda *what: told.append(what)
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0 < shares[-1] <= 1
    steps = dict.fromkeys(step for _, step in told if step.startswith("looking at image"))
    assert list(steps) == [f"looking at image {i + 1} of 6" for i in range(6)]


def test_weights_that_were_given_and_are_bad_are_an_error(tmp_path: Path) -> None:
    wanted = tiny_clip.saved(tmp_path)
    assert wanted.weights is not None
    wanted.weights.write_bytes(wanted.weights.read_bytes()[:1000])
    with pytest.raises(DataError, match=r"damaged") as caught:
        Clip(wanted).embed(Shelf().normals(2), first(2, 2), FeatureCache(tmp_path))
    assert "--weights FILE" in error_words(caught.value)


def test_an_image_that_cannot_be_opened_is_named(clip: Clip, tmp_path: Path) -> None:
    from eap_core.features.base import ImageSource

    def torn() -> None:
        raise OSError("image file is truncated")

    images = [*Shelf().normals(2), ImageSource("abc", torn)]  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"'abc' cannot be opened — image file is truncated"):
        clip.embed(images, first(2, 3), FeatureCache(tmp_path))


def test_the_usual_model_is_the_papers() -> None:
    assert Clip().wanted == ModelSpec("ViT-B-16-SigLIP")
