"""The network behind a model, with its weights, and how a picture is prepared for it.

Only weights are read from a file, never code: safetensors, or what torch reads as weights only.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from eap_core.clip import hub
from eap_core.clip.recipe import Recipe
from eap_core.clip.wanted import NoWeightsError
from eap_core.errors import DataError, SettingsError, shown

_FIX = "give another file of the model's weights with --weights FILE"
_DESCRIPTION = "config.json"
_SAFE, _OF_NUMPY = ".safetensors", (".npz", ".npy")
_HEAD = 100_000_000  # bytes that safetensors allows for its own description


@dataclass(frozen=True, eq=False)
class Network:
    """open_clip's model, ready for use."""

    body: Any
    prepare: Callable[[Image.Image], Any]


def network_of(recipe: Recipe, weights: Path) -> Network:
    """A DataError that says which of three: the file is damaged, unsafe, or of another model."""
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2

    held = _held(weights)
    body = built(recipe)
    try:
        _check_fit(body, held)
        with _silent_root(), _by_its_kind(weights) as file:
            open_clip.load_checkpoint(body, str(file), strict=True, weights_only=True)
    except Exception as error:  # whatever it is that does not fit
        raise DataError(
            f"{shown(weights.name)} does not hold weights of the model {shown(recipe.model)} but "
            f"of another — {_FIX}"
        ) from error
    body.eval()
    body.requires_grad_(False)
    prepare = image_transform_v2(PreprocessCfg(**recipe.preparation), is_train=False)
    return Network(body, prepare)


def built(recipe: Recipe) -> Any:
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
            f"the model {shown(recipe.model)} cannot be built here ({type(error).__name__}: "
            f"{shown(str(error))}) — choose another with --model"
        ) from error


def _check_described(recipe: Recipe, tower: str) -> None:
    """Some models read sentences by a network that is only described on the hub."""
    if hub.kept(tower, _DESCRIPTION) is not None:
        return
    try:
        hub.ask()
    except hub.UnreachableError as error:
        raise NoWeightsError(
            f"the model {shown(recipe.model)} cannot be built without a file of {tower}, which "
            f"cannot be fetched ({error}) — choose another with --model, or run "
            f"hf download {tower} {_DESCRIPTION} here once there is a connection"
        ) from error


@dataclass(frozen=True)
class _Held:
    """What a file says of one of its arrays."""

    shape: tuple[int, ...]
    floating: bool


def _held(weights: Path) -> dict[str, _Held]:
    """What is in the file, by name; what cannot be read as weights is refused before it is used."""
    try:
        if _is_safetensors(weights):
            return _held_safely(weights)
        return {} if weights.suffix in _OF_NUMPY else _held_by_torch(weights)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{shown(weights.name)} is damaged, or holds more than weights, which could do harm "
            "and is not opened — give the model's weights in the format safetensors with --weights "
            "FILE"
        ) from error
    except Exception as error:  # a torn file fails in any way
        if "TorchScript" in str(error):
            raise DataError(
                f"{shown(weights.name)} is a program of TorchScript, which is not opened — give "
                "the model's weights in the format safetensors with --weights FILE"
            ) from error
        raise DataError(
            f"the weights {shown(weights.name)} are damaged, or are none — {_FIX}"
        ) from error


def _held_safely(weights: Path) -> dict[str, _Held]:
    from safetensors import safe_open

    with safe_open(weights, "pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 — no mapping
        return {
            name: _Held(tuple(one.get_shape()), "F" in one.get_dtype())
            for name, one in slices.items()
        }


def _held_by_torch(weights: Path) -> dict[str, _Held]:
    import torch

    found = torch.load(weights, map_location="cpu", weights_only=True)
    found = found.get("state_dict", found) if isinstance(found, dict) else {}
    return {
        str(name).removeprefix("module."): _Held(tuple(one.shape), one.is_floating_point())
        for name, one in found.items()
        if isinstance(one, torch.Tensor)
    }


def _check_fit(body: Any, held: Mapping[str, _Held]) -> None:
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
    root.addFilter(_refused)
    try:
        yield
    finally:
        root.removeFilter(_refused)
        root.removeHandler(handler)


def _refused(_: logging.LogRecord) -> bool:
    return False
