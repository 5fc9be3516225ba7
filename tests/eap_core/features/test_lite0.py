"""Two-part features: learned from normals alone, the same whatever stands beside an image."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.files import FeatureCache
from eap_core.features import EMBEDDERS
from eap_core.features.base import Embedder, ImageSource
from eap_core.features.lite0 import Album, Lite0, WholeImageSettings
from eap_core.features.network import PatchSettings
from tests.eap_core.features.pictures import SMALL, SMALL_FAST, Shelf, first, texture

BOTH = pytest.mark.parametrize("embedder", [SMALL, SMALL_FAST], ids=lambda e: e.name)


@pytest.fixture
def cache(tmp_path: Path) -> FeatureCache:
    return FeatureCache(tmp_path)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> FeatureCache:
    """A cache for tests that do not ask what was computed."""
    return FeatureCache(tmp_path_factory.mktemp("known"))


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_embedder_is_registered_under_its_name(name: str) -> None:
    embedder: Embedder = EMBEDDERS[name]
    assert embedder.name == name
    assert embedder.title
    assert embedder.summary[0].islower()
    assert embedder.seconds > 0


def test_the_registered_ones_describe_an_image_of_the_default_size(cache: FeatureCache) -> None:
    images = Shelf().normals(3)
    full = EMBEDDERS["full"].embed(images, first(2, 3), cache)
    fast = EMBEDDERS["fast"].embed(images, first(2, 3), cache)
    assert full.heat is not None
    assert full.heat.shape == (3, 56, 56)
    assert full.values.shape == (3, 33)
    assert fast.heat is None
    assert fast.values.shape == (3, 1)


@BOTH
def test_shapes_names_and_read_only(embedder: Lite0, cache: FeatureCache) -> None:
    shelf = Shelf()
    images = shelf.normals(8) + shelf.defects(3)
    found = embedder.embed(images, first(8, 11), cache)
    assert found.values.shape == (11, len(found.columns))
    assert found.values.dtype == np.float64
    assert len(set(found.columns)) == len(found.columns)
    assert not found.values.flags.writeable
    if embedder.patches:
        assert found.heat is not None
        assert found.heat.shape == (11, 8, 8)
        assert found.heat.dtype == np.float32
        assert not found.heat.flags.writeable


def test_the_values_are_the_two_parts_by_the_formula(cache: FeatureCache) -> None:
    """From the cached parts, which have tests of their own: standardise on normals, then log."""
    shelf = Shelf()
    images = shelf.normals(8) + shelf.defects(3)
    found = SMALL.embed(images, first(8, 11), cache)
    fast = SMALL_FAST.embed(images, first(8, 11), cache)
    whole = fast.values.shape[1]
    np.testing.assert_array_equal(found.values[:, :whole], fast.values)
    z = np.sign(found.values) * np.expm1(np.abs(found.values))
    np.testing.assert_allclose(z[:8].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(z[:8].std(axis=0), 1, atol=1e-9)


def test_a_defect_is_warm_where_it_is(known: FeatureCache) -> None:
    clean = texture(500)
    spoiled = clean.copy()
    spoiled.paste((10, 10, 10), (30, 6, 42, 18))
    shelf = Shelf()
    images = [*shelf.normals(12), *shelf.sources([clean, spoiled])]
    found = SMALL.embed(images, first(12, 14), known)
    assert found.heat is not None
    rise = found.heat[13] - found.heat[12]
    y, x = np.unravel_index(rise.argmax(), rise.shape)
    assert (y * 6 <= 18, y * 6 + 6 >= 6, x * 6 <= 42, x * 6 + 6 >= 30) == (True,) * 4


@BOTH
def test_no_bit_depends_on_the_run_or_the_number_of_threads(
    embedder: Lite0, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = Shelf().normals(9)
    found = []
    for i, cores in enumerate(("1", "3", "3")):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", cores)  # what joblib counts
        found.append(embedder.embed(images, first(7, 9), FeatureCache(tmp_path / str(i))))
    for other in found[1:]:
        np.testing.assert_array_equal(other.values, found[0].values)
        if found[0].heat is not None:
            np.testing.assert_array_equal(other.heat, found[0].heat)


def test_threads_started_afterwards_find_torch_as_it_was(cache: FeatureCache) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        SMALL_FAST.embed(Shelf().normals(2), first(2, 2), cache)
        with ThreadPoolExecutor(1) as pool:  # the calling thread has a setting of its own
            found = pool.submit(torch.get_num_threads).result()
        assert (found, torch.get_num_threads()) == (3, 3)
    finally:
        torch.set_num_threads(before)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_row_depends_on_no_anomaly_or_other_candidate(
    known: FeatureCache, data: st.DataObject
) -> None:
    shelf = Shelf()
    normals, others = shelf.normals(8), shelf.defects(5)
    whole = SMALL.embed([*normals, *others], first(8, 13), known)
    kept = data.draw(st.lists(st.integers(0, 12), min_size=1, unique=True))
    images = [*normals, *([*normals, *others][i] for i in kept)]
    order = data.draw(st.permutations(range(len(images))))
    marks = first(8, len(images))[list(order)]
    fresh = FeatureCache(known.folder / f"fresh {data.draw(st.integers(0, 10**9))}")
    part = SMALL.embed([images[i] for i in order], marks, fresh)
    place = {i: at for at, i in enumerate(order)}
    for at, i in enumerate(kept):
        np.testing.assert_array_equal(part.values[place[8 + at]], whole.values[i])
        assert part.heat is not None
        assert whole.heat is not None
        np.testing.assert_array_equal(part.heat[place[8 + at]], whole.heat[i])


def test_a_copy_among_the_normals_changes_nothing(known: FeatureCache) -> None:
    normals = Shelf().normals(8)
    once = SMALL.embed(normals, first(8, 8), known)
    twice = SMALL.embed([*normals, normals[2]], first(9, 9), known)
    np.testing.assert_array_equal(twice.values[:8], once.values)
    np.testing.assert_array_equal(twice.values[8], once.values[2])


@BOTH
def test_a_second_run_opens_nothing_and_gives_the_same(
    embedder: Lite0, cache: FeatureCache
) -> None:
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(2), shelf.normals(1)[0]]
    one = embedder.embed(images, first(8, 11), cache)
    assert set(shelf.opened.values()) == {1}
    two = embedder.embed(images, first(8, 11), cache)
    assert shelf.opened.total() == 10
    np.testing.assert_array_equal(one.values, two.values)
    assert (one.columns, one.notes) == (two.columns, two.notes)
    if one.heat is not None:
        np.testing.assert_array_equal(one.heat, two.heat)


@BOTH
def test_only_added_candidates_are_opened(embedder: Lite0, cache: FeatureCache) -> None:
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(2)]
    before = embedder.embed(images, first(8, 10), cache)
    shelf.opened.clear()
    added = shelf.defects(3, start=2000)
    after = embedder.embed([*images, *added], first(8, 13), cache)
    assert shelf.opened == {source.sha256: 1 for source in added}
    np.testing.assert_array_equal(after.values[:10], before.values)


def test_whole_images_are_not_computed_again_for_other_normals(
    cache: FeatureCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf()
    images = [*shelf.normals(8), *shelf.defects(2)]
    SMALL.embed(images, first(8, 10), cache)
    kept: list[str] = []

    def keep_numbers(_: Album, image: str, *__: object) -> None:
        kept.append(image)

    monkeypatch.setattr(Album, "keep_numbers", keep_numbers)
    SMALL.embed(images, first(7, 10), cache)
    assert kept == []
    shelf.opened.clear()
    SMALL_FAST.embed(images, first(6, 10), cache)
    assert not shelf.opened


CHANGED = {
    "side": replace(SMALL, side=32),
    "patches": replace(SMALL, patches=PatchSettings(images=6, patches=200, components=8, bank=40)),
    "share": replace(
        SMALL, patches=PatchSettings(images=6, patches=200, components=8, bank=50, farthest=0.1)
    ),
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
def test_another_setting_is_computed_anew(changed: Lite0, tmp_path: Path) -> None:
    shelf = Shelf()
    images = [*shelf.normals(7), *shelf.defects(1)]
    SMALL.embed(images, first(7, 8), FeatureCache(tmp_path / "one"))
    after = changed.embed(images, first(7, 8), FeatureCache(tmp_path / "one"))
    alone = changed.embed(images, first(7, 8), FeatureCache(tmp_path / "two"))
    assert set(shelf.opened.values()) == {3}
    np.testing.assert_array_equal(after.values, alone.values)


def test_another_number_of_directions_needs_no_image(cache: FeatureCache) -> None:
    shelf = Shelf()
    images = shelf.normals(7)
    SMALL.embed(images, first(7, 7), cache)
    fewer = replace(SMALL, whole=WholeImageSettings(components_of_few=3))
    assert len(fewer.embed(images, first(7, 7), cache).columns) == 3 + 8
    assert set(shelf.opened.values()) == {1}


def test_a_changed_image_is_looked_at(cache: FeatureCache) -> None:
    shelf = Shelf()
    images = [*shelf.normals(7), *shelf.defects(1)]
    before = SMALL.embed(images, first(7, 8), cache)
    images[7] = shelf.defects(1, start=3000)[0]
    after = SMALL.embed(images, first(7, 8), cache)
    assert shelf.opened[images[7].sha256] == 1
    assert not np.array_equal(after.values[7], before.values[7])
    np.testing.assert_array_equal(after.values[:7], before.values[:7])


@BOTH
def test_damaged_entries_are_computed_again(embedder: Lite0, cache: FeatureCache) -> None:
    images = [*Shelf().normals(7), *Shelf().defects(1)]
    before = embedder.embed(images, first(7, 8), cache)
    for file in sorted(cache.folder.rglob("*.bin"))[::2]:
        file.write_bytes(file.read_bytes()[:-7])
    after = embedder.embed(images, first(7, 8), cache)
    np.testing.assert_array_equal(after.values, before.values)
    if before.heat is not None:
        np.testing.assert_array_equal(after.heat, before.heat)


def test_torch_and_the_app_are_not_loaded_by_the_package() -> None:
    code = "import sys, eap_core.features; print({'torch', 'streamlit'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_image_that_does_not_open_is_named(cache: FeatureCache) -> None:
    def opening() -> Image.Image:
        raise OSError("broken data stream")

    images = [*Shelf().normals(7), ImageSource("abc123", opening)]
    with pytest.raises(DataError, match=r"'abc123' cannot be opened — broken data stream — check"):
        SMALL.embed(images, first(7, 8), cache)


def test_an_openers_own_sentence_is_kept(cache: FeatureCache) -> None:
    def opening() -> Image.Image:
        raise DataError("a.png is no image — save it again")

    with pytest.raises(DataError, match=r"'abc123' cannot .* — a.png is no image — save it again$"):
        SMALL.embed([ImageSource("abc123", opening)], first(1, 1), cache)


def test_marks_must_fit_and_some_image_be_normal(cache: FeatureCache) -> None:
    with pytest.raises(DataError, match="3 marks for 2 images"):
        SMALL.embed(Shelf().normals(2), first(1, 3), cache)
    with pytest.raises(DataError, match="none of the 2 images is known to be normal"):
        SMALL.embed(Shelf().normals(2), first(0, 2), cache)


@pytest.mark.parametrize("side", [0, 16, 100, -32])
def test_a_side_the_network_cannot_halve_five_times_is_refused(side: int) -> None:
    with pytest.raises(SettingsError, match=f"side is {side} — a multiple of 32"):
        replace(SMALL, side=side)
