"""A model small enough to be built by a test: open_clip's own classes, words and file formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eap_core.features.clip_hub import ModelSpec, import_torchvision, recipe_of
from eap_core.features.clip_model import build_model

NAME = "tiny-clip"
SHAPE: Mapping[str, Any] = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32,
        "layers": 2,
        "width": 32,
        "head_width": 16,
        "patch_size": 8,
    },
    # The words are those of ViT-B-32, which come with open_clip.
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 2,
    },
}


def register(folder: Path, name: str = NAME, **changes: Any) -> str:
    """Make open_clip know the model, with changes to its description."""
    import_torchvision()
    import open_clip

    path = folder / f"{name}.json"
    path.write_text(json.dumps({**SHAPE, **changes}))
    open_clip.add_model_config(path)
    return name


def state(name: str = NAME, seed: int = 0) -> dict[str, Any]:
    """The weights that such a model starts with."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build_model(recipe_of(ModelSpec(name)))
    return {key: value.contiguous() for key, value in network.state_dict().items()}


def saved(folder: Path, name: str = NAME, seed: int = 0) -> ModelSpec:
    """A model of random weights in a file of its own, as one would ask for it."""
    register(folder, name)
    return weights_of(folder, name, seed)


def weights_of(folder: Path, name: str, seed: int = 0) -> ModelSpec:
    """Random weights of a model that open_clip knows, in a file."""
    from safetensors.torch import save_file

    path = folder / f"{name}-{seed}.safetensors"
    save_file(state(name, seed), path)
    return ModelSpec(name, weights=path)
