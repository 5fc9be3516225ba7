"""The drawings' parts: places, ticks, labels and colours."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colormaps

from eap_core.study.rank_charts import cividis
from eap_core.study.svg import DARK, LIGHT, Drawing, Scale, apart, element, number, short, text

finite = st.floats(-1e4, 1e4)


@given(finite)
def test_a_number_is_near_its_value_and_never_minus_zero(value: float) -> None:
    assert abs(float(number(value)) - value) <= 0.00501
    assert number(value) != "-0"
    assert "e" not in number(value)


@given(st.text())
def test_any_text_is_read_back_by_a_parser(words: str) -> None:
    parsed = ET.fromstring(text(0, 0, words))
    assert list(parsed) == []
    if words.isprintable():
        assert (parsed.text or "") == words
    read = ET.fromstring(element("g", {"class": words}))
    assert list(read.attrib) == ["class"]


@given(st.lists(st.floats(-50, 150), min_size=1, max_size=8))
def test_labels_are_apart_in_their_order_and_on_the_paper(places: list[float]) -> None:
    moved = apart(places, 14, 0, 100)
    gap = min(14, 100 / max(1, len(places) - 1))
    ordered = [moved[i] for i in sorted(range(len(places)), key=lambda i: (places[i], i))]
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(ordered))
    assert min(moved) >= -1e-6
    assert max(moved) <= 100 + 1e-6


def test_labels_that_are_apart_already_stay() -> None:
    assert apart([80, 10, 40], 14, 0, 100) == [80, 10, 40]


@given(finite, st.floats(0.001, 100), st.integers(2, 8))
def test_ticks_are_within_and_neither_few_nor_many(low: float, span: float, about: int) -> None:
    scale = Scale(low, low + span, 0, 100)
    ticks = scale.ticks(about)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= about + 1
    assert all(-1e-3 <= scale(tick) <= 100 + 1e-3 for tick in ticks)


def test_ticks_by_hand() -> None:
    assert Scale(0.31, 0.92, 0, 1).ticks(6) == [0.4, 0.6, 0.8]
    assert Scale(0, 1 / 3, 0, 1).ticks(4) == [0.0, 0.1, 0.2, 0.3]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.77, 1.0])
def test_the_colours_are_cividis(share: float) -> None:
    expected = [255 * value for value in colormaps["cividis"](share)[:3]]
    assert cividis(share) == pytest.approx(expected, abs=8)  # of 255: not seen


def test_a_long_name_is_cut() -> None:
    assert short("abcdef", 6) == "abcdef"
    assert short("abcdefg", 6) == "abcde…"


def test_a_file_has_its_own_style_background_and_words() -> None:
    made = Drawing(100, 50, "A & B", "One <dot>", (text(1, 2, "x"),)).standalone()
    root = ET.fromstring(made)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == "A & B. One <dot>"
    names = [child.tag.split("}")[1] for child in root]
    assert names == ["title", "style", "rect", "g"]
    assert root[2].attrib["class"] == "page"
    assert root[2].attrib["width"] == root.attrib["width"]
    assert LIGHT["page"] in str(root[1].text)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 7), ("quiet", 4.5), ("first", 3), ("second", 3), ("third", 3)]
)
def test_colours_stand_out(colours: dict[str, str], name: str, least: float) -> None:
    for ground in ("page", "stripe"):
        bright, dim = sorted((_light(colours[name]), _light(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= least


def _light(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
