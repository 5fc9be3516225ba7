"""A model that is built and saved by the test itself, read by the code that reads real ones."""

from __future__ import annotations

import logging
import os
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eap_core.base.errors import DataError, EapError, SettingsError
from eap_core.cli.output import error_words
from eap_core.features.clip_hub import ModelSpec, NoWeightsError
from eap_core.features.clip_model import load, locate_weights
from tests.eap_core.features import tiny_clip


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    return tiny_clip.saved(tmp_path_factory.mktemp("model"))


def pictures(count: int) -> list[Image.Image]:
    rng = np.random.default_rng(0)
    sizes = [(40, 52), (32, 32), (64, 20)]
    return [
        Image.fromarray(rng.integers(0, 255, (*sizes[i % 3], 3), dtype=np.uint8))
        for i in range(count)
    ]


def sentence_of(wanted: ModelSpec, kind: type[EapError]) -> str:
    with pytest.raises(kind) as caught:
        load(wanted)
    said = error_words(caught.value)
    assert "\n" not in said
    assert " — " in said
    return said


def test_pictures_and_sentences_become_unit_vectors(wanted: ModelSpec) -> None:
    model = load(wanted)
    for found in (model.images(pictures(4)), model.texts(["a photo", "ein „Foto“ {} é", ""])):
        assert found.dtype == np.float32
        assert found.shape[1] == model.dimension == 16
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert model.images([]).shape == model.texts([]).shape == (0, 16)
    assert model.scale == pytest.approx(1 / 0.07)
    assert model.bias == 0


def test_it_is_what_open_clip_itself_says(wanted: ModelSpec) -> None:
    """One batch through open_clip's own functions, without any of ours."""
    import open_clip
    import torch

    network, _, prepare = open_clip.create_model_and_transforms(
        wanted.model, pretrained=str(wanted.weights)
    )
    network.eval()
    words = open_clip.get_tokenizer("ViT-B-32")(["a photo", "a broken bottle"])
    with torch.inference_mode():
        stacked = torch.stack([prepare(picture) for picture in pictures(3)])
        seen = network.encode_image(stacked, normalize=True).numpy()
        said = network.encode_text(words, normalize=True).numpy()
    model = load(wanted)
    np.testing.assert_allclose(model.images(pictures(3)), seen, atol=2e-6)
    np.testing.assert_allclose(model.texts(["a photo", "a broken bottle"]), said, atol=2e-6)


def test_no_bit_depends_on_what_stands_beside(wanted: ModelSpec) -> None:
    model, given = load(wanted), pictures(5)
    together = model.images(given)
    np.testing.assert_array_equal(together[3:4], model.images(given[3:4]))
    np.testing.assert_array_equal(together[::-1], model.images(given[::-1]))
    again = replace(model, name="again").images(given)
    np.testing.assert_array_equal(together, again)


def test_loading_neither_moves_chance_nor_sets_up_logging(wanted: ModelSpec) -> None:
    import torch

    root = logging.getLogger()
    before, handlers, filters = torch.get_rng_state(), list(root.handlers), list(root.filters)
    tiny_clip.saved(Path(str(wanted.weights)).parent, seed=5)
    load(replace(wanted, weights=Path(str(wanted.weights)).with_name("tiny-clip-5.safetensors")))
    assert torch.equal(before, torch.get_rng_state())
    assert (root.handlers, root.filters) == (handlers, filters)


def test_the_key_follows_the_contents(wanted: ModelSpec, tmp_path: Path) -> None:
    key = locate_weights(wanted).key
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(Path(str(wanted.weights)).read_bytes())
    assert locate_weights(replace(wanted, weights=copy)).key == key
    assert locate_weights(tiny_clip.saved(tmp_path, seed=1)).key != key
    larger = {"image_size": 64, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
    name = tiny_clip.register(tmp_path, "tiny-clip-of-larger-pictures", vision_cfg=larger)
    assert locate_weights(ModelSpec(name, weights=copy)).key != key


def test_a_file_for_siglip_is_prepared_for_as_the_published_weights_are(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    file.write_bytes(b"any")
    preparation = locate_weights(ModelSpec(weights=file)).recipe.preparation
    assert preparation["resize_mode"] == "squash"
    assert tuple(preparation["mean"]) == (0.5, 0.5, 0.5)
    assert locate_weights(ModelSpec("ViT-B-32", "openai", file)).recipe.quick_gelu
    assert not locate_weights(ModelSpec("ViT-B-32", "laion2b_e16", file)).recipe.quick_gelu


def test_the_key_follows_how_pictures_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    file.write_bytes(b"any")
    keys = {
        locate_weights(ModelSpec("ViT-B-32", tag, file)).key for tag in ("openai", "laion2b_e16")
    }
    assert len(keys) == 2  # they differ in their activation alone
    keys = {
        locate_weights(ModelSpec("ViT-H-14", tag, file)).key
        for tag in ("laion2b_s32b_b79k", "metaclip_fullcc")
    }
    assert len(keys) == 2


def test_the_training_is_asked_for_where_it_matters(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    file.write_bytes(b"any")
    said = sentence_of(ModelSpec("ViT-B-32", weights=file), SettingsError)
    assert "--model ViT-B-32:TRAINING, for example 'openai', 'laion" in said
    assert "trained as laion2b_e16, weights 'w.safetensors'" in (
        locate_weights(ModelSpec("ViT-B-32", "laion2b_e16", file)).in_words
    )


def test_the_activation_of_the_training_is_used(tmp_path: Path) -> None:
    """Published weights of one model, trained in two ways; without their names they look alike."""
    file = tiny_clip.weights_of(tmp_path, "ViT-B-32").weights
    one, other = (
        load(ModelSpec("ViT-B-32", tag, file)).images(pictures(1))
        for tag in ("openai", "laion2b_e16")
    )
    assert not np.array_equal(one, other)


def test_nothing_is_left_to_chance_while_looking(tmp_path: Path) -> None:
    """A model that drops patches while it learns."""
    vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
    name = tiny_clip.register(
        tmp_path, "tiny-clip-that-drops", vision_cfg={**vision, "patch_dropout": 0.5}
    )
    model = load(tiny_clip.weights_of(tmp_path, name))
    np.testing.assert_array_equal(model.images(pictures(3)), model.images(pictures(3)))


@pytest.mark.parametrize("name", ["0123abcd", "W.SAFETENSORS"])
def test_safetensors_are_known_by_their_contents(
    name: str, wanted: ModelSpec, tmp_path: Path
) -> None:
    """The hub keeps files under their hashes, and links to them."""
    file = tmp_path / name
    file.write_bytes(Path(str(wanted.weights)).read_bytes())
    found = locate_weights(replace(wanted, weights=file))._read()
    np.testing.assert_array_equal(found.images(pictures(1)), load(wanted).images(pictures(1)))


def test_what_is_no_file_is_not_waited_for(wanted: ModelSpec, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "(it is a folder, or no file)" in sentence_of(
        replace(wanted, weights=tmp_path / "pipe"), DataError
    )
    assert "cannot be read" in sentence_of(replace(wanted, weights=Path("a\0b")), DataError)


def test_a_scale_that_is_no_number_is_told_of(wanted: ModelSpec, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    weights = tiny_clip.state()
    weights["logit_scale"].fill_(float("nan"))
    file = tmp_path / "scale.safetensors"
    save_file(weights, file)
    assert "cannot be used" in sentence_of(replace(wanted, weights=file), DataError)


def test_sentences_that_fill_all_the_model_reads(wanted: ModelSpec) -> None:
    model = load(wanted)
    assert model.cut(["", "a photo", "word " * 70]) == 0
    assert model.cut(["word " * 80, "a photo", "瓶" * 60]) == 2


def test_weights_of_torch_are_read_as_weights_only(wanted: ModelSpec, tmp_path: Path) -> None:
    import torch

    file = tmp_path / "weights.pt"
    torch.save(tiny_clip.state(), file)
    expected = load(wanted).images(pictures(2))
    np.testing.assert_array_equal(load(replace(wanted, weights=file)).images(pictures(2)), expected)


class _Harm:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("name", ["model.pt", "model.bin", "model.safetensors"])
def test_a_file_that_would_run_a_program_is_refused(
    name: str, wanted: ModelSpec, tmp_path: Path
) -> None:
    ran, file = tmp_path / "ran", tmp_path / name
    file.write_bytes(pickle.dumps({"state_dict": _Harm(ran)}))
    said = sentence_of(replace(wanted, weights=file), DataError)
    assert "--weights FILE" in said
    assert name in said
    assert not ran.exists()
    pickle.loads(file.read_bytes())
    assert ran.exists(), "the file was harmless to begin with"


@pytest.mark.parametrize("name", ["model.safetensors", "model.pt"])
@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_file_is_said_to_be(
    name: str, damage: str, wanted: ModelSpec, tmp_path: Path
) -> None:
    import torch

    file = tmp_path / name
    if name.endswith(".pt"):
        torch.save(tiny_clip.state(), file)
        whole = file.read_bytes()
    else:
        whole = Path(str(wanted.weights)).read_bytes()
    file.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"hello"}[damage])
    said = sentence_of(replace(wanted, weights=file), DataError)
    assert "damaged" in said
    assert "--weights FILE" in said


def test_weights_that_are_not_finite_are_told_of(wanted: ModelSpec, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    weights = tiny_clip.state()
    weights["visual.proj"][:] = float("nan")
    file = tmp_path / "nan.safetensors"
    save_file(weights, file)
    with pytest.raises(DataError) as caught:
        load(replace(wanted, weights=file)).images(pictures(1))
    assert error_words(caught.value).endswith("--weights FILE")


def test_weights_of_another_model_are_told_from_damaged_ones(
    wanted: ModelSpec, tmp_path: Path
) -> None:
    wide = {"image_size": 32, "layers": 3, "width": 64, "head_width": 16, "patch_size": 8}
    name = tiny_clip.register(tmp_path, "tiny-clip-but-wider", vision_cfg=wide)
    said = sentence_of(ModelSpec(name, weights=wanted.weights), DataError)
    assert "of another" in said
    assert name in said
    assert "damaged" not in said


@pytest.mark.parametrize(
    "changes",
    [
        {"vision_cfg": {**tiny_clip.SHAPE["vision_cfg"], "image_size": 64}},
        {"text_cfg": {**tiny_clip.SHAPE["text_cfg"], "context_length": 20}},
    ],
)
@pytest.mark.parametrize("ending", ["safetensors", "pt"])
def test_weights_that_open_clip_would_stretch_are_of_another_model(
    changes: dict[str, Any], ending: str, wanted: ModelSpec, tmp_path: Path
) -> None:
    """It would do so without a word, and see something else than the model does."""
    import torch
    from safetensors.torch import save_file

    other = tiny_clip.register(tmp_path, f"tiny-clip-stretched-{next(iter(changes))}", **changes)
    file = tmp_path / f"other.{ending}"
    if ending == "pt":
        torch.save(
            {"state_dict": {f"module.{k}": v for k, v in tiny_clip.state(other).items()}}, file
        )
    else:
        save_file(tiny_clip.state(other), file)
    assert "of another" in sentence_of(replace(wanted, weights=file), DataError)
    load(ModelSpec(other, weights=file))


def test_numbers_without_fractions_are_no_weights(wanted: ModelSpec, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    for kind, fits in ((torch.float16, True), (torch.int8, False), (torch.bool, False)):
        file = tmp_path / f"{kind}.safetensors"
        save_file({name: value.to(kind) for name, value in tiny_clip.state().items()}, file)
        if fits:
            load(replace(wanted, weights=file))
        else:
            assert "of another" in sentence_of(replace(wanted, weights=file), DataError)


def test_a_program_of_torchscript_is_called_so(wanted: ModelSpec, tmp_path: Path) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "m.pt")
        said = sentence_of(replace(wanted, weights=tmp_path / "m.pt"), DataError)
    assert "is a program of TorchScript, which is not opened" in said


def test_a_file_that_is_exchanged_before_it_is_read(tmp_path: Path) -> None:
    """What the other sees must not be kept under the name of the first."""
    found = locate_weights(tiny_clip.saved(tmp_path))
    found.path.write_bytes(Path(str(tiny_clip.saved(tmp_path, seed=1).weights)).read_bytes())
    with pytest.raises(DataError, match="changed while they were read — start again"):
        found.load()


def test_published_weights_that_are_none_are_missed_and_no_mistake(
    wanted: ModelSpec, tmp_path: Path
) -> None:
    from safetensors.torch import save_file

    for name in ("logit_scale", "visual.proj"):
        weights = tiny_clip.state()
        weights[name].fill_(float("nan"))
        save_file(weights, tmp_path / f"{name}.safetensors")
        here = locate_weights(replace(wanted, weights=tmp_path / f"{name}.safetensors"))
        with pytest.raises(NoWeightsError, match="cannot be used"):
            replace(here, given=False).load().images(pictures(1))


def test_a_model_that_is_described_elsewhere(wanted: ModelSpec) -> None:
    said = sentence_of(ModelSpec("roberta-ViT-B-32", weights=wanted.weights), NoWeightsError)
    assert "cannot be built without a file of roberta-base" in said


def test_whoever_cancels_while_a_large_file_is_looked_at_is_heard(
    wanted: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eap_core.features.clip_model._PIECE", 10_000)
    told: list[str] = []
    assert (
        locate_weights(wanted, lambda _, step: told.append(step)).key == locate_weights(wanted).key
    )
    assert len(told) > 10


def test_weights_of_something_else_altogether(wanted: ModelSpec, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    torch.save([torch.zeros(2)], tmp_path / "list.pt")
    for name in ("other.safetensors", "list.pt"):
        said = sentence_of(replace(wanted, weights=tmp_path / name), DataError)
        assert "--weights FILE" in said


def test_a_file_that_is_not_there(wanted: ModelSpec, tmp_path: Path) -> None:
    for place in (tmp_path / "no.safetensors", tmp_path):
        assert "cannot be read" in sentence_of(replace(wanted, weights=place), DataError)


def test_names_that_are_almost_right_are_suggested() -> None:
    assert "'ViT-B-16-SigLIP'" in sentence_of(ModelSpec("vit-b16-siglip"), SettingsError)
    said = sentence_of(ModelSpec.named("ViT-B-32:laion2b"), SettingsError)
    assert "'laion2b_e16'" in said
    sentence_of(ModelSpec("../../etc/passwd\x1b[0m"), SettingsError)


def test_a_model_that_nobody_has_published(wanted: ModelSpec) -> None:
    assert "--weights FILE" in sentence_of(replace(wanted, weights=None), NoWeightsError)


def test_a_model_whose_words_are_not_here_still_sees(wanted: ModelSpec, tmp_path: Path) -> None:
    words = {"vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
    name = tiny_clip.register(
        tmp_path, "tiny-clip-of-other-words", text_cfg={**words, "hf_tokenizer_name": "no/words"}
    )
    model = load(ModelSpec(name, weights=wanted.weights))
    np.testing.assert_array_equal(model.images(pictures(2)), load(wanted).images(pictures(2)))
    with pytest.raises(NoWeightsError, match=r"cannot read sentences here: ") as caught:
        model.texts(["a photo"])
    assert error_words(caught.value).endswith(" --model ViT-B-32")
