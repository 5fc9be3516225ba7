"""8 bits are used where they keep the order of the images, and never unasked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eap_core.base.errors import SettingsError
from eap_core.base.files import FeatureCache
from eap_core.base.progress import silent
from eap_core.features.clip import Clip, InEightBits, image_vectors, same_order, try_int8
from eap_core.features.clip_hub import ModelSpec
from eap_core.features.clip_model import load, locate_weights
from tests.eap_core.features import tiny_clip
from tests.eap_core.features.pictures import Shelf, first


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    return tiny_clip.saved(tmp_path_factory.mktemp("model"))


def test_8_bits_are_close_and_in_fact_coarser(wanted: ModelSpec, tmp_path: Path) -> None:
    shelf, cache = Shelf(), FeatureCache(tmp_path)
    images = [*shelf.normals(12), *shelf.defects(4)]
    plain = Clip(wanted).embed(images, first(12, 16), cache).values
    found = Clip(wanted, int8=True).embed(images, first(12, 16), cache)
    lengths = np.linalg.norm(found.values, axis=1) * np.linalg.norm(plain, axis=1)
    alike = (found.values * plain).sum(axis=1) / lengths
    assert (alike > 0.99).all()
    assert (alike < 1).all()
    assert found.notes[1].startswith(
        "looked at in 8 bits, which keep the ranking: on 12 normals the ranks of their distances "
        "correlate by 0.99"
    )
    # what 32 bits have seen is not mixed with it, nor forgotten
    again = Clip(wanted).embed(images, first(12, 16), cache)
    np.testing.assert_array_equal(again.values, plain)
    assert len(again.notes) == 1


def test_no_bit_depends_on_company_and_what_is_kept_is_identical(
    wanted: ModelSpec, tmp_path: Path
) -> None:
    shelf, clip = Shelf(), Clip(wanted, int8=True)
    images = [*shelf.normals(9), *shelf.defects(2)]
    one = clip.embed(images, first(9, 11), FeatureCache(tmp_path / "a")).values
    other = clip.embed(images[::-1], first(9, 11)[::-1], FeatureCache(tmp_path / "b")).values
    np.testing.assert_array_equal(one, other[::-1])
    shelf.opened.clear()
    np.testing.assert_array_equal(
        clip.embed(images, first(9, 11), FeatureCache(tmp_path / "a")).values, one
    )
    assert shelf.opened.total() == 0


@pytest.mark.parametrize(
    ("loudness", "said"),
    [
        (100.0, "32 bits are used, for 8 would change the ranking: on 12 normals the ranks"),
        (1e5, "32 bits are used: this model cannot be used in 8 (the model 'tiny-clip-loud'"),
    ],
)
def test_a_model_that_8_bits_would_spoil_is_used_in_32(
    loudness: float, said: str, tmp_path: Path
) -> None:
    """One channel is so loud that in 8 bits the others are hardly heard, or not at all."""
    from safetensors.torch import save_file

    name = tiny_clip.register(tmp_path, "tiny-clip-loud")
    weights = tiny_clip.state(name)
    weights["visual.ln_post.weight"][0] = loudness
    weights["visual.proj"][0] = 0
    file = tmp_path / "loud.safetensors"
    save_file(weights, file)
    wanted, shelf, cache = ModelSpec(name, weights=file), Shelf(), FeatureCache(tmp_path / "cache")
    images = shelf.normals(12)
    whole = load(wanted).images([image.open() for image in images])
    found = Clip(wanted, int8=True).embed(images, first(12, 12), cache)
    np.testing.assert_array_equal(found.values, (whole * 4.0).astype(np.float64))
    assert found.notes[1].startswith(said)


def test_candidates_have_no_say(wanted: ModelSpec, tmp_path: Path) -> None:
    shelf, model = Shelf(), locate_weights(wanted)
    normals = shelf.normals(10)
    alone = try_int8(model, normals, first(10, 10), FeatureCache(tmp_path / "a"), silent)
    among = [*shelf.defects(5), *normals]
    marks = np.array([False] * 5 + [True] * 10)
    assert try_int8(model, among, marks, FeatureCache(tmp_path / "b"), silent).why == alone.why


def test_too_few_normals_for_a_trial(wanted: ModelSpec, tmp_path: Path) -> None:
    found = Clip(wanted, int8=True).embed(Shelf().normals(4), first(4, 4), FeatureCache(tmp_path))
    assert found.notes[1] == "32 bits are used: with 4 normals 8 cannot be tried"


def test_a_model_that_onnx_cannot_say(
    wanted: ModelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError("no such operator")

    monkeypatch.setattr("torch.onnx.export", refuse)
    found = Clip(wanted, int8=True).embed(Shelf().normals(9), first(9, 9), FeatureCache(tmp_path))
    assert "cannot be used in 8 (NotImplementedError)" in found.notes[1]
    np.testing.assert_array_equal(
        found.values,
        Clip(wanted).embed(Shelf().normals(9), first(9, 9), FeatureCache(tmp_path)).values,
    )


def test_without_the_packages_nothing_is_begun(
    wanted: ModelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eap_core.features.clip.PACKAGES", ("onnxruntime", "no_such_package"))
    shelf = Shelf()
    with pytest.raises(SettingsError, match="run pip install onnxruntime no_such_package"):
        Clip(wanted, int8=True).embed(shelf.normals(9), first(9, 9), FeatureCache(tmp_path))
    assert shelf.opened.total() == 0


def test_the_order_of_distances() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 5)).astype(np.float32)
    assert same_order(rows, rows) == 1
    # neither the scale of a column nor a shift of all rows is an order
    assert same_order(rows, rows * 2 ** np.arange(5, dtype=np.float32) + 1) == pytest.approx(
        1, abs=1e-3
    )
    assert same_order(rows, rng.permutation(rows)) < 0.5
    assert same_order(rows, np.ones_like(rows)) == 0


def test_a_conversion_is_made_once_and_quietly(
    wanted: ModelSpec, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    eye = InEightBits(locate_weights(wanted))
    assert eye.load() is eye.load()
    assert eye.key.startswith(locate_weights(wanted).key)
    assert image_vectors(eye, Shelf().normals(2), FeatureCache(tmp_path)).shape == (2, 16)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
