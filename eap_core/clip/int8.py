"""A model's eye in whole numbers of 8 bits, by ONNX Runtime: about half the time for an image.

What it sees is a little coarser, so whoever uses it finds out first whether that matters for the
images at hand.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from eap_core.clip.loading import Located
from eap_core.clip.model import ClipModel
from eap_core.errors import SettingsError

PACKAGES: Final = ("onnx", "onnxruntime", "onnxscript")
_RECIPE: Final = "1"  # counted up whenever the same model comes to mean other numbers
_PICTURE, _VECTOR = "picture", "vector"


class NotConvertibleError(Exception):
    """ONNX has no word for something in this model."""


def installed() -> bool:
    """Whether the packages are here, which are no part of the usual installation."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def check_installed() -> None:
    """Refuse what would fail after the long work."""
    if not installed():
        raise SettingsError(
            f"8 bits need packages that are not installed — run pip install {' '.join(PACKAGES)}, "
            "or do without --int8"
        )


class InEightBits:
    """A located model whose images are looked at in 8 bits; its sentences are not its business."""

    def __init__(self, model: Located) -> None:
        self.model = model
        self.key = f"{model.key}-int8-{_RECIPE}"

    @cached_property
    def _loaded(self) -> ClipModel:
        whole = self.model.load()
        return replace(whole, key=self.key, network=_converted(whole.network, self._size))

    @property
    def _size(self) -> tuple[int, int]:
        size = self.model.recipe.preparation["size"]
        return (size, size) if isinstance(size, int) else tuple(size)

    def load(self) -> ClipModel:
        """The model, converted once; a NotConvertibleError where that is not possible."""
        return self._loaded


@dataclass(frozen=True, eq=False)
class _Eye:
    """As much of a network as looking at an image takes."""

    session: Any

    def encode_image(self, picture: Any) -> Any:
        import torch

        (found,) = self.session.run([_VECTOR], {_PICTURE: picture.numpy()})
        return torch.from_numpy(found)


def _converted(network: Any, size: tuple[int, int]) -> _Eye:
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Looking(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, picture: Any) -> Any:
            return self.network.encode_image(picture)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a thread for each image
    with tempfile.TemporaryDirectory() as folder, _silently():
        whole, eight = Path(folder, "whole.onnx"), Path(folder, "eight.onnx")
        try:
            torch.onnx.export(
                Looking().eval(),
                (torch.zeros(1, 3, *size),),
                whole,
                input_names=[_PICTURE],
                output_names=[_VECTOR],
                dynamo=True,
                verbose=False,
            )
            # A range of 7 bits: processors without the newest instructions overflow at 8.
            quantize_dynamic(
                whole, eight, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
            )
            return _Eye(
                onnxruntime.InferenceSession(eight, options, providers=["CPUExecutionProvider"])
            )
        except Exception as error:  # each model may stumble in a way of its own
            raise NotConvertibleError(type(error).__name__) from error


@contextmanager
def _silently() -> Iterator[None]:
    """All three packages talk of their steps, in every way there is."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
