"""Words that are no part of open_clip: files as the hub has them, made by the test itself."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eap_core.base.errors import DataError
from eap_core.features.clip_hub import ModelSpec, NoWeightsError, weights_command, words_command
from eap_core.features.clip_model import load, locate_weights
from tests.eap_core.features import tiny_clip
from tests.eap_core.features.hub_server import hub

SENTENCES = ["a photo of a broken bottle", "a photo {} of a", "bottle"]
LENGTH = 12
TEXT = {"context_length": LENGTH, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}


@dataclass(frozen=True)
class Carried:
    """A folder as one carries it to a machine without a connection."""

    wanted: ModelSpec
    tokenizer: Path


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """Weights of a model that asks for words of its own, and these words beside them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("carried")
    words = Tokenizer(models.Unigram())
    words.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    words.train_from_iterator([*SENTENCES, "normal photo bottle broken of a"] * 5, trainer)
    words.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"})
    )
    name = tiny_clip.register(
        folder,
        "tiny-clip-of-own-words",
        text_cfg={**TEXT, "hf_tokenizer_name": "nobody/words", "tokenizer_kwargs": {}},
    )
    made = tiny_clip.weights_of(folder, name)
    return Carried(made, folder / "tokenizer.json")


def test_words_beside_the_weights_need_no_hub(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the tokens of the file itself, padded by hand."""
    import torch
    from tokenizers import Tokenizer

    monkeypatch.setattr("eap_core.features.clip_hub.ask", lambda: pytest.fail("the hub was asked"))
    model = load(carried.wanted)
    words = Tokenizer.from_file(str(carried.tokenizer))
    rows = [words.encode(sentence).ids[:LENGTH] for sentence in SENTENCES]
    tokens = torch.tensor([row + [0] * (LENGTH - len(row)) for row in rows])
    with torch.inference_mode():
        expected = model.network.encode_text(tokens, normalize=True).numpy()
    np.testing.assert_allclose(model.texts(SENTENCES), expected, atol=2e-6)
    assert len({tuple(row) for row in rows}) == len(SENTENCES)


def test_a_sentence_that_is_too_long_is_known_though_it_ends_as_short_ones_are_filled_up(
    carried: Carried, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer, processors

    weights = Path(str(carried.wanted.weights))
    (tmp_path / weights.name).write_bytes(weights.read_bytes())
    words = Tokenizer.from_file(str(carried.tokenizer))
    end = words.token_to_id("</s>")
    words.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", end)])
    words.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "</s>"})
    )
    model = load(ModelSpec(carried.wanted.model, weights=tmp_path / weights.name))
    lengths = [len(words.encode(sentence).ids) for sentence in SENTENCES]
    assert min(lengths) < LENGTH < max(lengths)
    assert [model.cut([one]) for one in SENTENCES] == [int(n >= LENGTH) for n in lengths]


def test_words_that_would_run_a_program_are_refused(carried: Carried, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    weights = Path(str(carried.wanted.weights))
    (tmp_path / weights.name).write_bytes(weights.read_bytes())
    (tmp_path / "harm.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Words: pass\n")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["harm.Words", None]}})
    )
    model = load(ModelSpec(carried.wanted.model, weights=tmp_path / weights.name))
    with pytest.raises(NoWeightsError, match="cannot read sentences here: "):
        model.texts(["bottle"])
    assert not ran.exists()


def test_words_of_another_model_are_told_of(carried: Carried, tmp_path: Path) -> None:
    name = tiny_clip.register(
        tmp_path,
        "tiny-clip-of-few-words",
        text_cfg={**TEXT, "vocab_size": 4, "hf_tokenizer_name": "n/w"},
    )
    wanted = tiny_clip.weights_of(tmp_path, name)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes(carried.tokenizer.with_name(file).read_bytes())
    with pytest.raises(DataError, match="words beside the weights are not those of the model"):
        load(wanted).texts(["a photo of a broken bottle"])


def test_damaged_words_are_told_of(carried: Carried, tmp_path: Path) -> None:
    weights = Path(str(carried.wanted.weights))
    (tmp_path / weights.name).write_bytes(weights.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text("{")
    (tmp_path / "tokenizer.json").write_text("[]")
    model = load(ModelSpec(carried.wanted.model, weights=tmp_path / weights.name))
    with pytest.raises(NoWeightsError) as caught:
        model.texts(["bottle"])
    assert "\n" not in str(caught.value)
    assert words_command("nobody/words") in str(caught.value)


@pytest.mark.parametrize("kind", ["T5Tokenizer", "BertTokenizer", "GemmaTokenizer"])
def test_a_reader_without_a_word_is_told_of(carried: Carried, tmp_path: Path, kind: str) -> None:
    """Such files alone make a tokenizer to which all words are the same, without complaint."""
    weights = Path(str(carried.wanted.weights))
    (tmp_path / weights.name).write_bytes(weights.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    model = load(ModelSpec(carried.wanted.model, weights=tmp_path / weights.name))
    with pytest.raises(
        NoWeightsError, match="the file with its words is missing — run hf download"
    ):
        model.texts(["bottle"])


_READ = """
import json, sys, time
from pathlib import Path
from eap_core.features.clip_hub import ModelSpec, import_torchvision
from eap_core.features.clip_model import load
import_torchvision()
import open_clip
open_clip.add_model_config(Path(sys.argv[1]))
model = load(ModelSpec(Path(sys.argv[1]).stem, weights=Path(sys.argv[2])))
started = time.monotonic()
vectors = model.texts(["a photo of a broken bottle"]).tolist()
print(json.dumps({"vectors": vectors, "seconds": time.monotonic() - started}))
"""


def test_words_are_fetched_once_and_then_need_no_connection(
    carried: Carried, tmp_path: Path
) -> None:
    """Where nobody answers, the hub's client would try for many minutes."""
    weights = Path(str(carried.wanted.weights))
    alone = tmp_path / weights.name
    alone.write_bytes(weights.read_bytes())
    config = weights.with_name(f"{carried.wanted.model}.json")
    named = ("tokenizer.json", "tokenizer_config.json")
    files = {name: carried.tokenizer.with_name(name).read_bytes() for name in named}
    home = tmp_path / "home"
    variables = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "0", "NO_PROXY": "*"}

    def read(place: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", _READ, str(config), str(alone)],
            cwd=Path(__file__).parents[3],
            env={**os.environ, **variables, "HF_ENDPOINT": place},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        return json.loads(done.stdout)

    with hub("nobody/words", files) as place:
        first = read(place)
        for file in home.glob("hub/**/tokenizer.json"):  # as if it had been stopped halfway
            file.unlink()
        assert read(place)["vectors"] == first["vectors"]
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        again = read(f"http://127.0.0.1:{deaf.getsockname()[1]}")
    assert again["vectors"] == first["vectors"]
    assert again["seconds"] < 60  # less than one; with a question it would be many minutes
    expected = load(carried.wanted).texts(["a photo of a broken bottle"])
    np.testing.assert_array_equal(first["vectors"], expected)


def test_the_command_that_is_offered_fetches_weights_and_words(
    carried: Carried, tmp_path: Path
) -> None:
    """By the hub's own program, from a hub of the test's; its folder is then all that is needed."""
    weights = Path(str(carried.wanted.weights)).read_bytes()
    files = {
        "open_clip_model.safetensors": weights,
        "open_clip_pytorch_model.bin": b"left where it is",
        "tokenizer.json": carried.tokenizer.read_bytes(),
        "tokenizer_config.json": carried.tokenizer.with_name("tokenizer_config.json").read_bytes(),
    }
    command, file = weights_command("nobody/model/")
    program, *words = shlex.split(command)
    with hub("nobody/model", files) as place:
        subprocess.run(
            [str(Path(sys.executable).with_name(program)), *words],
            cwd=tmp_path,
            env={"HF_ENDPOINT": place, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "*"},
            check=True,
            capture_output=True,
        )
    folder = (tmp_path / file).parent
    fetched = {path.name for path in folder.iterdir() if path.is_file()}
    assert fetched == set(files) - {"open_clip_pytorch_model.bin"}
    there = ModelSpec(carried.wanted.model, weights=tmp_path / file)
    assert locate_weights(there).key == locate_weights(carried.wanted).key
    np.testing.assert_array_equal(
        load(there).texts(SENTENCES), load(carried.wanted).texts(SENTENCES)
    )
