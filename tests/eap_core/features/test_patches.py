"""Patches and their distances against the obvious loops."""

from __future__ import annotations

import numpy as np
import pytest

from eap_core.features.network import (
    Maps,
    PatchSettings,
    fit_patches,
    patches_of,
    sample_normals,
    spread_patches,
)

CHANNELS = 96  # of the local maps
SETTINGS = PatchSettings(images=4, patches=120, components=6, bank=40, farthest=0.1)


def maps_of(seed: int, size: int = 7) -> Maps:
    rng = np.random.default_rng(seed)
    smooth = rng.normal(size=(CHANNELS, 1, 1)) + rng.normal(size=(CHANNELS, size, size))
    smooth[3] = 0  # a dead channel
    return smooth.astype(np.float16)


SAMPLE = {f"image {i}": maps_of(i) for i in range(4)}


def test_a_patch_is_the_mean_of_the_cells_around_that_exist() -> None:
    maps = maps_of(1, size=5)
    found = patches_of(maps).reshape(5, 5, CHANNELS)
    for y in range(5):
        for x in range(5):
            around = maps[:, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].astype(np.float64)
            np.testing.assert_allclose(found[y, x], around.mean(axis=(1, 2)), atol=1e-6)


@pytest.mark.parametrize("image", ["image 2", "a candidate"])
def test_distances_are_those_to_the_nearest_patch_of_another_image(image: str) -> None:
    bank = fit_patches(SAMPLE, SETTINGS)
    maps = SAMPLE.get(image, maps_of(99))
    patches = ((patches_of(maps) - bank.centre) / bank.spread).astype(float) @ bank.directions
    distances = np.array(
        [
            min(
                np.linalg.norm(patch - normal)
                for normal, owner in zip(bank.bank.astype(float), bank.owner, strict=True)
                if bank.images[owner] != image
            )
            for patch in patches
        ]
    )
    order = np.argsort(-distances)[:5]  # a tenth of 49
    found = bank.compare(maps, image)
    np.testing.assert_allclose(found.heat.ravel(), distances, rtol=1e-3)
    np.testing.assert_allclose(found.farthest, patches[order].mean(axis=0), atol=1e-5)


def test_a_patch_of_the_bank_is_at_distance_zero_for_another_image() -> None:
    bank = fit_patches(SAMPLE, SETTINGS)
    heat = bank.compare(SAMPLE["image 2"], "a copy under another name").heat
    assert np.sum(heat < 1e-5) == np.sum(bank.images[bank.owner] == "image 2")


def test_the_bank_has_patches_of_every_image_in_the_main_directions() -> None:
    bank = fit_patches(SAMPLE, SETTINGS)
    known = np.concatenate([patches_of(maps) for maps in SAMPLE.values()])
    settings = PatchSettings(images=4, patches=10_000, components=6, bank=40)
    everything = fit_patches(SAMPLE, settings)
    standard = (known - known.mean(0)) / np.where(known.std(0) > 0, known.std(0), 1)
    _, _, directions = np.linalg.svd(standard.astype(float), full_matrices=False)
    assert bank.bank.shape == (40, 6)
    assert set(bank.owner) == {0, 1, 2, 3}
    np.testing.assert_allclose(
        np.abs(np.diag(directions[:6] @ everything.directions)), 1.0, atol=1e-3
    )


def test_each_patch_of_the_bank_is_the_farthest_from_those_before_it() -> None:
    patches = np.random.default_rng(5).normal(size=(60, 3)).astype(np.float32)
    chosen = spread_patches(patches, 12)
    for i in range(1, 12):
        to_chosen = np.linalg.norm(patches[:, None] - patches[chosen[:i]], axis=2).min(axis=1)
        assert chosen[i] == to_chosen.argmax()


def test_one_image_alone_is_compared_with_itself() -> None:
    bank = fit_patches({"image 0": SAMPLE["image 0"]}, SETTINGS)
    heat = bank.compare(SAMPLE["image 0"], "image 0").heat
    assert np.isfinite(heat).all()
    assert np.sum(heat < 1e-5) == len(bank.bank)


def test_identical_patches_do_not_divide_by_zero() -> None:
    flat = np.ones((CHANNELS, 7, 7), dtype=np.float16)
    bank = fit_patches({"a": flat, "b": flat}, SETTINGS)
    found = bank.compare(flat, "a")
    assert (found.heat == 0).all()
    assert np.isfinite(found.farthest).all()


def test_the_sample_is_part_of_the_normals_and_always_the_same() -> None:
    normals = [f"{i:03d}" for i in range(50)]
    chosen = sample_normals(normals, PatchSettings(images=10))
    assert len(set(chosen)) == 10
    assert set(chosen) < set(normals)
    assert chosen == sample_normals(normals, PatchSettings(images=10))
    assert sample_normals(normals, PatchSettings(images=80)) == normals
