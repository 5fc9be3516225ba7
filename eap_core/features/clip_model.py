"""Models that know images and sentences alike (CLIP), by open_clip; torch is loaded when used."""

from __future__ import annotations

import hashlib
import logging
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, SettingsError, quote, require
from eap_core.base.progress import Progress, silent
from eap_core.features import clip_hub
from eap_core.features.clip_hub import ModelSpec, NoWeightsError, Recipe, recipe_of

if TYPE_CHECKING:
    from PIL import Image

WEIGHTS_WANTED: Final = "weights-wanted"
WEIGHTS_LOST: Final = "weights-lost"
WORDS_LOST: Final = "words-lost"

# A loaded model: pictures and sentences as unit vectors that can be compared with each other.

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ClipModel:
    """``key`` is the same for the same model, preprocessing and weights.

    A picture and a sentence belong together as much as ``scale · picture·sentence + bias`` is
    large. ``tokenizer`` is asked for only when there are sentences, for it may have to be fetched.
    ``failure`` is what it is if its numbers turn out to be none.
    """

    name: str
    key: str
    scale: float
    bias: float
    dimension: int
    network: Any
    prepare: Callable[[Image.Image], Any]
    tokenizer: Callable[[], Callable[[list[str]], Any]]
    failure: type[DataError] = DataError

    def images(self, pictures: Sequence[Image.Image]) -> Vectors:
        """A unit vector for each, one after the other: no bit depends on what stands beside."""
        return self._vectors(pictures, self._of_picture)

    def texts(self, sentences: Sequence[str]) -> Vectors:
        """A unit vector for each sentence; a DataError where the model's words are not at hand."""
        if not sentences:
            return self._vectors((), self._of_picture)
        tokens = self.tokenizer()
        try:
            return self._vectors(
                sentences, lambda sentence: self.network.encode_text(tokens([sentence]))
            )
        except IndexError as error:
            raise DataError(
                f"the words beside the weights are not those of the model {quote(self.name)}",
                advice="put its own there",
            ) from error

    def cut(self, sentences: Sequence[str]) -> int:
        """How many of them fill all the words that the model reads, so that an end may be lost.

        One word more changes nothing then; what fills up a short sentence may be the very sign
        that ends a long one, as SigLIP has it, and so tells nothing.
        """
        tokens = self.tokenizer()
        return sum(bool((tokens([one]) == tokens([f"{one} a"])).all()) for one in sentences)

    def _of_picture(self, picture: Image.Image) -> Any:
        return self.network.encode_image(self.prepare(picture.convert("RGB"))[None])

    def _vectors(self, given: Sequence[Any], encode: Callable[[Any], Any]) -> Vectors:
        import torch

        found = np.zeros((len(given), self.dimension), np.float32)
        with torch.inference_mode():
            for row, one in zip(found, given, strict=True):
                row[:] = encode(one)[0].float().numpy()
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise self.failure(
                f"the model {quote(self.name)} gives numbers that cannot be used",
                advice="its weights are damaged, give others",
                code=WEIGHTS_WANTED,
            )
        unit: Vectors = (found / lengths).astype(np.float32)
        return unit


# The network behind a model, with its weights, and how a picture is prepared for it.
#
# Only weights are read from a file, never code: safetensors, or what torch reads as weights only.

_FIX = "give another file of the model's weights"
_SAFE_FORMAT = "give the model's weights in the format safetensors"
_DESCRIPTION = "config.json"
_SAFE, _OF_NUMPY = ".safetensors", (".npz", ".npy")
_HEAD = 100_000_000  # bytes that safetensors allows for its own description


@dataclass(frozen=True, eq=False)
class ClipNetwork:
    """open_clip's model, ready for use."""

    body: Any
    prepare: Callable[[Image.Image], Any]


def network_of(recipe: Recipe, weights: Path) -> ClipNetwork:
    """A DataError that says which of three: the file is damaged, unsafe, or of another model."""
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2

    held = _read_weights(weights)
    body = build_model(recipe)
    try:
        _check_fit(body, held)
        with _silent_root(), _by_its_kind(weights) as file:
            open_clip.load_checkpoint(body, str(file), strict=True, weights_only=True)
    except Exception as error:  # whatever it is that does not fit
        raise DataError(
            f"{quote(weights.name)} does not hold weights of the model {quote(recipe.model)} but "
            "of another",
            advice=_FIX,
            code=WEIGHTS_WANTED,
        ) from error
    body.eval()
    body.requires_grad_(False)
    prepare = image_transform_v2(PreprocessCfg(**recipe.preparation), is_train=False)
    return ClipNetwork(body, prepare)


def build_model(recipe: Recipe) -> Any:
    """open_clip's model before it is given weights."""
    import open_clip
    import torch

    tower = recipe.config["text_cfg"].get("hf_model_name")
    if tower:
        _check_described(recipe, tower)
    try:
        # It starts from chance, which must not move torch's global seed.
        with torch.random.fork_rng(devices=[]), _silent_root():
            return open_clip.create_model(
                recipe.model,
                load_weights=False,
                pretrained_text=False,
                force_quick_gelu=recipe.quick_gelu,
            )
    except Exception as error:  # some need packages that others do not
        raise SettingsError(
            f"the model {quote(recipe.model)} cannot be built here ({type(error).__name__}: "
            f"{quote(str(error))})",
            advice="choose another",
            code="model-unbuildable",
        ) from error


def _check_described(recipe: Recipe, tower: str) -> None:
    """Some models read sentences by a network that is only described on the hub."""
    if clip_hub.find_fetched(tower, _DESCRIPTION) is not None:
        return
    try:
        clip_hub.ask()
    except clip_hub.UnreachableError as error:
        command = f"hf download {tower} {_DESCRIPTION}"
        raise NoWeightsError(
            f"the model {quote(recipe.model)} cannot be built without a file of {tower}, which "
            f"cannot be fetched ({error})",
            advice=f"choose another, or run {command} here once there is a connection",
            code="model-undescribed",
            facts={"command": command},
        ) from error


@dataclass(frozen=True)
class _Tensor:
    """What a file says of one of its arrays."""

    shape: tuple[int, ...]
    floating: bool


def _read_weights(weights: Path) -> dict[str, _Tensor]:
    """What is in the file, by name; what cannot be read as weights is refused before it is used."""
    try:
        if _is_safetensors(weights):
            return _read_safetensors(weights)
        return {} if weights.suffix in _OF_NUMPY else _read_by_torch(weights)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{quote(weights.name)} is damaged, or holds more than weights, which could do harm "
            "and is not opened",
            advice=_SAFE_FORMAT,
            code=WEIGHTS_WANTED,
        ) from error
    except Exception as error:  # a torn file fails in any way
        if "TorchScript" in str(error):
            raise DataError(
                f"{quote(weights.name)} is a program of TorchScript, which is not opened",
                advice=_SAFE_FORMAT,
                code=WEIGHTS_WANTED,
            ) from error
        raise DataError(
            f"the weights {quote(weights.name)} are damaged, or are none",
            advice=_FIX,
            code=WEIGHTS_WANTED,
        ) from error


def _read_safetensors(weights: Path) -> dict[str, _Tensor]:
    from safetensors import safe_open

    with safe_open(weights, "pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 — no mapping
        return {
            name: _Tensor(tuple(one.get_shape()), "F" in one.get_dtype())
            for name, one in slices.items()
        }


def _read_by_torch(weights: Path) -> dict[str, _Tensor]:
    import torch

    found = torch.load(weights, map_location="cpu", weights_only=True)
    found = found.get("state_dict", found) if isinstance(found, dict) else {}
    return {
        str(name).removeprefix("module."): _Tensor(tuple(one.shape), one.is_floating_point())
        for name, one in found.items()
        if isinstance(one, torch.Tensor)
    }


def _check_fit(body: Any, held: Mapping[str, _Tensor]) -> None:
    """Refuse what open_clip would make fit: images of another size, sentences of another length,
    numbers without fractions. What is missing, or of another width, it refuses itself."""
    for name, own in body.state_dict().items():
        one = held.get(name) or held.get(name.removeprefix("text."))
        if one is None:
            continue
        resized = name.endswith("positional_embedding") and one.shape != tuple(own.shape)
        if resized or (own.is_floating_point() and not one.floating):
            raise ValueError(name)


def _is_safetensors(weights: Path) -> bool:
    """By its contents too, for the hub keeps files under names without an ending."""
    with weights.open("rb") as file:
        head = file.read(9)
    return weights.suffix == _SAFE or (
        head[8:] == b"{" and int.from_bytes(head[:8], "little") < _HEAD
    )


@contextmanager
def _by_its_kind(weights: Path) -> Iterator[Path]:
    """The file under a name by which open_clip knows what it is."""
    if weights.suffix == _SAFE or not _is_safetensors(weights):
        yield weights
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, f"weights{_SAFE}")
        link.symlink_to(weights.resolve())
        yield link


@contextmanager
def _silent_root() -> Iterator[None]:
    """open_clip logs by the root logger, which would set up logging for the whole program; and what
    it says of weights, which it is not given here, would mislead."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    root.addFilter(_refuse_pickles)
    try:
        yield
    finally:
        root.removeFilter(_refuse_pickles)
        root.removeHandler(handler)


def _refuse_pickles(_: logging.LogRecord) -> bool:
    return False


# How a model cuts sentences into words: by a list inside open_clip, or by files of the hub.
#
# Such files may also lie beside a file of weights, so that both can be carried to a machine that
# has no connection.

_BUNDLED = "ViT-B-32"  # the best known of the models whose words come with open_clip
_FIRST_FILE = "tokenizer_config.json"
_DIFFERENT = ("normal", "broken", "bottle")  # whoever reads at all tells them apart
_USUAL_LENGTH = 77  # open_clip's own, where a model says nothing


def tokenizer_of(recipe: Recipe, beside: Path | None = None) -> Any:
    """What open_clip makes tokens with; a NoWeightsError where it lacks what that needs.

    ``beside`` is the folder of the weights that a person has given.
    """
    import open_clip

    text = recipe.config["text_cfg"]
    source = text.get("hf_tokenizer_name")
    if not source:
        return open_clip.get_tokenizer(recipe.model)
    require("transformers", "clip")
    try:
        if beside is not None and (beside / _FIRST_FILE).is_file():
            return _read(text, str(beside))
        with clip_hub.quieten_hub():
            return _load_fetched(text, source) or _fetch_tokenizer(text, source)
    except clip_hub.UnreachableError as error:
        raise _missing(recipe, str(error), source) from error
    except Exception as error:  # whatever it is that such files lack
        raise _missing(recipe, clip_hub.first_line(error), source) from error


def _load_fetched(text: dict[str, Any], source: str) -> Any | None:
    """What was fetched before: the hub is asked nothing, whose client would try for minutes."""
    if clip_hub.find_fetched(source, _FIRST_FILE) is None:
        return None
    try:
        return _read(text, source, local_files_only=True)
    except Exception:  # in any way, where fetching was stopped halfway
        return None


def _fetch_tokenizer(text: dict[str, Any], source: str) -> Any:
    clip_hub.ask()
    return _read(text, source)


def _read(text: dict[str, Any], place: str, **how: bool) -> Any:
    from open_clip.tokenizer import HFTokenizer

    found = HFTokenizer(
        place,
        context_length=text.get("context_length", _USUAL_LENGTH),
        tokenizer_mode=text.get("tokenizer_mode"),
        trust_remote_code=False,  # or its code would be offered to run
        **how,
        **text.get("tokenizer_kwargs", {}),
    )
    # Without the file of words, most kinds make one that knows none, and say nothing.
    if len({tuple(tokens) for tokens in found(list(_DIFFERENT)).tolist()}) < len(_DIFFERENT):
        raise clip_hub.UnreachableError("the file with its words is missing")
    return found


def _missing(recipe: Recipe, reason: str, source: str) -> NoWeightsError:
    command = clip_hub.words_command(source)
    return NoWeightsError(
        f"the model {quote(recipe.model)} cannot read sentences here: {reason}",
        advice=f"run {command} where there is a connection, FOLDER being that of the file of "
        f"weights, or choose a model whose words come with the program, such as {_BUNDLED}",
        code=WORDS_LOST,
        facts={"command": command, "model": _BUNDLED},
    )


# From the name of a model to the model: its weights are found first, and read when needed.

_RECIPE: Final = "1"  # counted up whenever the same model comes to mean other numbers
_HELP: Final = "give another file of weights"
_PIECE: Final = 2**24
Stamp = tuple[int, int, int]
_latest: dict[
    tuple[str, Path], ClipModel
] = {}  # at most one: it is large, and loading it takes long


@dataclass(frozen=True, eq=False)
class WeightsFile:
    """A model whose weights are here; ``key`` tells it from all others without loading it.

    ``given`` says whether a person named the file, who then wants to know what is wrong with it;
    ``stamp`` is that of the file whose contents the key tells.
    """

    recipe: Recipe
    path: Path
    given: bool
    key: str
    stamp: Stamp

    @property
    def in_words(self) -> str:
        """Which model, and whose weights."""
        parts = [f"the CLIP model {self.recipe.model}"]
        if self.recipe.pretrained:
            parts.append(f"trained as {self.recipe.pretrained}")
        if self.given:
            parts.append(f"weights {quote(self.path.name)}")
        return ", ".join(parts)

    def load(self) -> ClipModel:
        """The model itself, from memory if it was the latest."""
        place = self.key, self.path  # of equal weights some may have words beside them
        if place not in _latest:
            _latest.clear()
            _latest[place] = self._read()
        return _latest[place]

    def _read(self) -> ClipModel:
        try:
            network = network_of(self.recipe, self.path)
            self._check_scale(network)
        except NoWeightsError:
            raise
        except DataError as error:
            if self.given:
                raise
            # The hub's folder has links to the file itself: deleting one would not help.
            command = clip_hub.again_command(self.recipe.published or "")
            raise NoWeightsError(
                error.what,
                where=error.where,
                advice=f"{error.advice}, or run {command}",
                code="weights-damaged",
                facts={"first": error.advice, "command": command},
            ) from error
        self._check_same()
        bias, scale = network.body.logit_bias, float(network.body.logit_scale.detach().exp())
        beside = self.path.parent if self.given else None
        return ClipModel(
            name=self.recipe.model,
            key=self.key,
            scale=scale,
            bias=0.0 if bias is None else float(bias.detach()),
            dimension=int(self.recipe.config["embed_dim"]),
            network=network.body,
            prepare=network.prepare,
            tokenizer=cache(partial(tokenizer_of, self.recipe, beside)),
            failure=DataError if self.given else NoWeightsError,
        )

    def _check_scale(self, network: ClipNetwork) -> None:
        if not math.isfinite(float(network.body.logit_scale.detach().exp())):
            raise DataError(
                f"the weights {quote(self.path.name)} hold numbers that cannot be used",
                advice=_HELP,
                code=WEIGHTS_WANTED,
            )

    def _check_same(self) -> None:
        """Or what another file sees would be kept under the name of this one."""
        if _stamp(self.path) != self.stamp:
            raise DataError(
                f"the weights {quote(self.path.name)} changed while they were read",
                advice="start again",
            )


def load(wanted: ModelSpec, progress: Progress = silent) -> ClipModel:
    """The model; a NoWeightsError where its weights cannot be had, else a plain EapError."""
    return locate_weights(wanted, progress).load()


def locate_weights(wanted: ModelSpec, progress: Progress = silent) -> WeightsFile:
    """Where the weights are, fetched if they must be; whether they are sound is not known yet."""
    recipe = recipe_of(wanted)
    path = wanted.weights or _fetch_published(recipe, progress)
    try:
        if path.exists() and not path.is_file():  # what never ends would be read for ever
            raise OSError(0, "it is a folder, or no file")
        stamp, contents = _stamp(path), _digest(path, progress)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        failure = DataError if wanted.weights else NoWeightsError
        raise failure(
            f"the weights {quote(str(path))} cannot be read ({reason})",
            advice=_HELP,
            code=WEIGHTS_WANTED,
        ) from error
    key = hashlib.sha256("\n".join((_RECIPE, recipe.text, contents)).encode()).hexdigest()
    return WeightsFile(recipe, path, wanted.weights is not None, f"clip-{key}", stamp)


def _stamp(path: Path) -> Stamp:
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _digest(path: Path, progress: Progress) -> str:
    """In pieces: a large file takes long, and whoever cancels is heard meanwhile."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            progress(0.0, "looking at the model's weights")
            digest.update(piece)
    return digest.hexdigest()


def _fetch_published(recipe: Recipe, progress: Progress) -> Path:
    name = quote(recipe.model)
    if recipe.published is None:
        raise NoWeightsError(
            f"nobody has published weights of the model {name}",
            advice="give a file of weights",
            code=WEIGHTS_WANTED,
        )
    progress(0.0, "looking for the model's weights")
    try:
        return clip_hub.fetch_weights(recipe.published, progress)
    except clip_hub.UnreachableError as error:
        command, file = clip_hub.weights_command(recipe.published)
        raise NoWeightsError(
            f"the weights of the model {name} are not here and cannot be fetched ({error})",
            advice=f"run {command} where there is a connection, and give the weights {file}",
            code=WEIGHTS_LOST,
            facts={"command": command, "file": file},
        ) from error
