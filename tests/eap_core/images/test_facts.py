"""Greyness, brightness, contrast and the perceptual hash against plain numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageEnhance
from scipy.fft import dctn

from eap_core.images.decode import decode
from eap_core.images.facts import perceptual_hash
from tests.eap_core.images.samples import picture, saved


def differing_bits(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


@pytest.mark.parametrize("seed", range(5))
def test_brightness_and_contrast_are_mean_and_deviation(seed: int) -> None:
    image = picture(seed)
    facts = decode(saved(image), "x").facts
    shades = np.asarray(image.convert("L")) / 255
    assert facts.brightness == pytest.approx(shades.mean())
    assert facts.contrast == pytest.approx(shades.std())


@pytest.mark.parametrize("seed", range(5))
def test_the_hash_is_the_sign_of_low_frequencies(seed: int) -> None:
    shades = picture(seed).convert("L").resize((32, 32))
    low = dctn(np.asarray(shades, dtype=float), type=2)[:8, :8]
    bits = (low > np.median(low)).ravel()
    assert perceptual_hash(shades) == np.packbits(bits).tobytes().hex()


def test_alike_pictures_have_close_hashes() -> None:
    image = picture(1, 200, 150)
    first = decode(saved(image), "x").facts.perceptual
    small = decode(saved(image.resize((100, 75)), "JPEG"), "x").facts.perceptual
    lighter = decode(saved(ImageEnhance.Brightness(image).enhance(1.05)), "x").facts.perceptual
    other = decode(saved(picture(2, 200, 150)), "x").facts.perceptual
    assert differing_bits(first, small) <= 6
    assert differing_bits(first, lighter) <= 6
    assert differing_bits(first, other) > 12
    assert len(first) == 16


@pytest.mark.parametrize("shade", [1, 77, 255])
def test_an_even_picture_has_a_stable_hash(shade: int) -> None:
    facts = decode(saved(Image.new("L", (31, 17), shade)), "x").facts
    assert facts.perceptual == "8000000000000000"
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
