"""Greyness, brightness and contrast against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from eap_core.images.decode import decode
from tests.eap_core.images.samples import picture, saved


@pytest.mark.parametrize("seed", range(5))
def test_brightness_and_contrast_are_mean_and_deviation(seed: int) -> None:
    image = picture(seed)
    facts = decode(saved(image), "x").facts
    shades = np.asarray(image.convert("L")) / 255
    assert facts.brightness == pytest.approx(shades.mean())
    assert facts.contrast == pytest.approx(shades.std())


@pytest.mark.parametrize("shade", [1, 77, 255])
def test_an_even_picture_has_no_contrast(shade: int) -> None:
    facts = decode(saved(Image.new("L", (31, 17), shade)), "x").facts
    assert facts.contrast == pytest.approx(0)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_grey_is_found_also_when_stored_as_colour(kind: str) -> None:
    image = picture(3).convert("L").convert("RGB")
    assert decode(saved(image, kind), "x").facts.grey
    assert not decode(saved(picture(3), kind), "x").facts.grey


@pytest.mark.parametrize(("tint", "grey"), [(6, True), (7, False)])
@pytest.mark.parametrize("channel", range(3))
def test_a_slight_tint_is_grey(tint: int, grey: bool, channel: int) -> None:
    values = np.full((5, 5, 3), 100, dtype=np.uint8)
    values[2, 2, channel] += tint
    assert decode(saved(Image.fromarray(values)), "x").facts.grey is grey


def test_stored_mode_and_format_are_told() -> None:
    facts = decode(saved(picture().convert("CMYK"), "JPEG"), "x").facts
    assert (facts.mode, facts.format, facts.width, facts.height) == ("CMYK", "JPEG", 24, 16)
