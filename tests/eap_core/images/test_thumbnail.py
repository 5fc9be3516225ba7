"""Small pictures keep shape and look."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eap_core.images.decode import thumbnail
from tests.eap_core.images.samples import picture


@given(width=st.integers(1, 900), height=st.integers(1, 900), side=st.integers(1, 300))
def test_sides_are_in_bounds_and_in_proportion(width: int, height: int, side: int) -> None:
    small = Image.open(io.BytesIO(thumbnail(Image.new("RGB", (width, height)), side)))
    assert small.format == "WEBP"
    assert max(small.size) == min(side, max(width, height))
    share = min(1.0, side / max(width, height))
    assert abs(small.width - max(1, width * share)) <= 1
    assert abs(small.height - max(1, height * share)) <= 1


@pytest.mark.parametrize("size", [(1, 20_000), (20_000, 1)])
def test_a_strip_keeps_a_pixel(size: tuple[int, int]) -> None:
    small = Image.open(io.BytesIO(thumbnail(Image.new("RGB", size, "red"))))
    assert min(small.size) == 1
    assert max(small.size) == 256


def test_it_looks_like_the_picture() -> None:
    image = picture(1, 600, 400)
    small = Image.open(io.BytesIO(thumbnail(image))).convert("RGB")
    wanted = np.asarray(image.resize(small.size, Image.Resampling.BOX), dtype=float)
    assert np.abs(np.asarray(small, dtype=float) - wanted).mean() < 8


def test_fine_stripes_become_grey_and_no_pattern() -> None:
    stripes = np.zeros((1_024, 1_024, 3), dtype=np.uint8)
    stripes[:, ::2] = 255
    small = Image.open(io.BytesIO(thumbnail(Image.fromarray(stripes)))).convert("L")
    assert np.asarray(small)[5:-5, 5:-5].std() < 3
