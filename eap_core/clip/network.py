"""The network behind a model, with its weights, and how a picture is prepared for it.

Only weights are read from a file, never code: safetensors, or what torch reads as weights only.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from eap_core.clip.recipe import Recipe
from eap_core.errors import DataError, SettingsError, shown

_FIX = "give a file of its weights with --weights FILE"
_TORCH_READER = "PytorchStreamReader"  # what torch calls the reader of its own files


@dataclass(frozen=True, eq=False)
class Network:
    """open_clip's model, ready for use."""

    body: Any
    prepare: Callable[[Image.Image], Any]


def network_of(recipe: Recipe, weights: Path) -> Network:
    """A DataError that says which of three: the file is damaged, unsafe, or of another model."""
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2

    body = built(recipe)
    with _silent_root():
        try:
            open_clip.load_checkpoint(body, str(weights), strict=True, weights_only=True)
        except Exception as error:
            raise DataError(_sentence(recipe, weights, error)) from error
    body.eval()
    body.requires_grad_(False)
    prepare = image_transform_v2(PreprocessCfg(**recipe.preparation), is_train=False)
    return Network(body, prepare)


def built(recipe: Recipe) -> Any:
    """open_clip's model before it is given weights."""
    import open_clip
    import torch

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
            f"{shown(str(error))}) — choose another with --clip-model"
        ) from error


def _sentence(recipe: Recipe, weights: Path, error: Exception) -> str:
    name, model = shown(weights.name), shown(recipe.model)
    if isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error):
        return (
            f"{name} is damaged, or holds more than weights, which could do harm and is not "
            f"opened — {_FIX} in the format safetensors"
        )
    if _damaged(error):
        return f"the weights {name} are damaged or no weights — {_FIX} that is whole"
    return f"{name} does not hold weights of the model {model} but of another — {_FIX}"


def _damaged(error: Exception) -> bool:
    from safetensors import SafetensorError

    return isinstance(error, SafetensorError | EOFError | OSError) or _TORCH_READER in str(error)


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
