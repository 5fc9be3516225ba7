"""The figures show the figures: values are read back from what was drawn."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colormaps, rcParams
from matplotlib.colors import to_hex

from eap_core.base.errors import escape_controls
from eap_core.study.figures import (
    DARK,
    LIGHT,
    Drawing,
    describe_groups,
    draw_auc,
    draw_curves,
    draw_differences,
    draw_priors,
    draw_ranks,
    format_difference,
    shorten,
    spread_labels,
)
from eap_core.study.results import (
    Significance,
    average_curves,
    complete_experiments,
    summarise,
)
from tests.eap_core.study.made_up import made_up

AUC = {
    "good": {"eap": 0.9, "rarity": 0.7, "random": 0.5},
    "poor": {"eap": 0.6, "rarity": 0.65, "random": 0.4},
}
FEW = ("eap", "rarity", "random")
HOSTILE = [
    "$x$",
    "$\\frac{1}$",  # no formula: matplotlib would refuse it
    "a_b^2",
    "😀 日本語",
    "<b>&amp;</b>",
    "</svg><script>",
    LIGHT["first"],
    f'style="{LIGHT["ink"]}"',
    "\ue000ink\ue001",
    "\x00\x1b[31m",
    "",
    " ",
    "x" * 300,
]


@pytest.fixture
def cells() -> pd.DataFrame:
    """Two data sets and two seeds, the second a hundredth above the first."""
    made = made_up({"tables": list(AUC)}, seeds=2, evaluators=FEW)
    own = made["kind"] == "evaluator"
    made.loc[own, "AUC_qlt"] = [
        AUC[str(name)][str(method)] + seed / 100
        for name, method, seed in made.loc[own, ["dataset", "method", "seed"]].itertuples(
            index=False
        )
    ]
    return made


@pytest.fixture
def whole(cells: pd.DataFrame) -> pd.DataFrame:
    return complete_experiments(cells, "evaluator")[0]


def read(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.inline())


def texts(drawing: Drawing) -> list[str]:
    return [str(each.text) for each in read(drawing).iter("text")]


def where(drawing: Drawing, words: str) -> tuple[float, float]:
    """The place of the only text of these words."""
    (one,) = (each for each in read(drawing).iter("text") if each.text == words)
    return float(one.attrib["x"]), float(one.attrib["y"])


def values(drawing: Drawing, places: list[float], low: str, high: str) -> list[float]:
    """What the places across the drawing mean by the words under the axis."""
    first, last = where(drawing, low)[0], where(drawing, high)[0]
    unit = (float(high) - float(low)) / (last - first)
    return [float(low) + (x - first) * unit for x in places]


def hints(drawing: Drawing) -> dict[str, ET.Element]:
    """Whatever has a hint, by its words."""
    root = read(drawing)
    return {str(e.text): parent for parent in root.iter() for e in parent if e.tag == "title"}


def lines(drawing: Drawing, colour: str, width: float) -> list[list[tuple[float, float]]]:
    """The corners of every line of a colour and width, in their order."""
    look = {f"stroke: var(--{colour})"} | ({f"stroke-width: {width:g}"} if width != 1 else set())
    found = [
        re.findall(r"[ML] (\S+) (\S+)", path.attrib["d"])
        for path in read(drawing).iter("path")
        if look <= set(path.attrib.get("style", "").split("; ")) and "id" not in path.attrib
    ]
    return [[(float(x), float(y)) for x, y in corners] for corners in found]


@pytest.mark.parametrize("narrow", [True, False])
def test_data_sets_from_the_best_with_the_gap_to_the_best_other(
    whole: pd.DataFrame, narrow: bool
) -> None:
    drawn = draw_auc(whole, "tables", narrow)
    rows = [where(drawn, name)[1] for name in ("good", "poor", "Mean")]
    assert rows == sorted(rows)
    gaps = [where(drawn, gap)[1] for gap in ("+0.200", "−0.050", "+0.075")]
    assert gaps == pytest.approx(rows, abs=1)
    assert {"EAP 0.905", "Rarity 0.655", "RandomEv 0.405", "good", "Mean"} <= set(hints(drawn))
    assert {"EAP, lowest to highest seed", "the best other there", "each of the rest"} <= set(
        texts(drawn)
    )
    assert ("vs Rarity" in texts(drawn)) is not narrow


def test_values_are_where_the_axis_says(whole: pd.DataFrame) -> None:
    drawn = draw_auc(whole, "tables")
    marks = hints(drawn)
    for name in ("EAP 0.905", "EAP 0.605", "EAP 0.755", "Rarity 0.705", "RandomEv 0.405"):
        (value,) = values(drawn, [float(marks[name].attrib["x"])], "0.4", "1.0")
        assert value == pytest.approx(float(name.split()[1]), abs=1e-3)
    # From the lowest to the highest seed, none for the mean of all; the last one is in the key.
    *spread, _ = lines(drawn, "first", 2.2)
    ends = [values(drawn, [x for x, _ in line], "0.4", "1.0") for line in spread]
    for line, expected in zip(ends, [(0.90, 0.91), (0.60, 0.61), (0.755, 0.755)], strict=True):
        assert line == pytest.approx(expected, abs=1e-3)
    heights = [float(marks[name].attrib["y"]) for name in ("EAP 0.905", "EAP 0.605")]
    assert [line[0][1] for line in spread[:2]] == pytest.approx(heights)


def test_one_evaluator_has_no_others_beside_it() -> None:
    only = complete_experiments(made_up({"tables": ["a"]}, evaluators=("eap",)), "evaluator")[0]
    shown = texts(draw_auc(only, "tables"))
    assert "EAP, lowest to highest seed" in shown
    assert not [each for each in shown if "other" in each or "rest" in each or each[0] in "+−"]


def test_a_difference_has_its_sign() -> None:
    shown = [format_difference(v) for v in (0.1, -0.1, 0.0001, -0.0001)]
    assert shown == ["+0.100", "−0.100", "0.000", "0.000"]


def test_the_lines_are_the_curves(whole: pd.DataFrame) -> None:
    found = average_curves(whole, "tables", "loss", ["EAP", "Rarity", "RandomEv"])
    drawn = draw_curves(found, "loss", "tables")
    mean = found.accuracy.mean(axis=0)
    shown = [lines(drawn, *look)[0] for look in (("first", 3), ("second", 1.8), ("quiet", 1.8))]
    for line, expected in zip(shown, mean, strict=True):
        assert len(line) == len(found.at)
        assert np.corrcoef([-y for _, y in line], expected)[0, 1] == pytest.approx(1, abs=1e-4)
    order = np.argsort(mean[:, -1])
    assert list(np.argsort([-line[-1][1] for line in shown])) == list(order)
    labels = [where(drawn, name)[1] for name in found.methods]
    assert list(np.argsort([-y for y in labels])) == list(order)
    assert {"0%", "20%", "40%", "60%", "share of candidates added (LC_p)"} <= set(texts(drawn))
    assert f"EAP {mean[0, -1]:.3f}" in drawn.words
    assert "fill: var(--first); fill-opacity: 0.2" in drawn.inline()
    assert "fill-opacity" not in draw_curves(found.only(0), "loss", "good").inline()


@pytest.mark.parametrize(("narrow", "digits"), [(False, ".1f"), (True, ".0f")])
def test_the_heat_map_has_the_ranks(whole: pd.DataFrame, narrow: bool, digits: str) -> None:
    drawn = draw_ranks(whole, "tables", narrow)
    heads = [where(drawn, name)[0] for name in ("EAP", "Rarity", "RandomEv")]
    assert heads == sorted(heads)
    expected = {"good": (1, 2, 3), "poor": (2, 1, 3), "Mean": (1.5, 1.5, 3)}
    colours = {1: 1.0, 1.5: 0.75, 2: 0.5, 3: 0.0}
    for name, ranks in expected.items():
        for method, rank in zip(("EAP", "Rarity", "RandomEv"), ranks, strict=True):
            cell, text = (
                e
                for e in read(drawn).iter()
                if e.findtext("title") == f"{name}, {method}: rank {rank:.2f}"
            )
            assert text.text == f"{rank:{digits}}"
            assert float(text.attrib["y"]) == pytest.approx(where(drawn, name)[1], abs=1)
            fill = to_hex(colormaps["cividis"](colours[rank]))
            assert f"fill: {fill}" in cell.attrib["style"]
    assert drawn.words.endswith("best first: EAP 1.5, Rarity 1.5, RandomEv 3.0.")


def test_cells_and_their_figures_stay_as_they_are_in_the_dark() -> None:
    shades = {to_hex(colormaps["cividis"](i)) for i in range(256)}
    assert not shades & set(LIGHT.values())
    many = complete_experiments(made_up({"tables": ["a"]}, seeds=1), "evaluator")[0]
    inks = {e.attrib["style"] for e in read(draw_ranks(many, "tables")).iter("text") if len(e)}
    on_cells = {re.sub(".*fill: |font.*", "", style) for style in inks}
    assert on_cells == {"", "#fefefe", "var(--ink)"}  # black is not written; names are ink


def test_the_bars_of_the_difference_are_the_groups() -> None:
    ranks = (("EAP", 1.0), ("Lava", 2.5), ("Rarity", 3.0), ("RandomEv", 3.5))
    groups = (("EAP", "Lava"), ("Lava", "Rarity", "RandomEv"))
    found = Significance("tables", "AUC_qlt", 9, ranks, 0.01, 1.6, groups, "EAP", (), ())
    drawn = draw_differences(found)
    bars = [values(drawn, [x for x, _ in bar], "1", "4") for bar in lines(drawn, "ink", 4)]
    for ends, expected in zip(bars, [(1.0, 2.5), (2.5, 3.5)], strict=True):
        assert ends == pytest.approx(expected, abs=0.05)
    leaders = [*lines(drawn, "first", 2.2), *(e for e in lines(drawn, "quiet", 1) if len(e) == 3)]
    starts = values(drawn, [leader[0][0] for leader in leaders], "1", "4")
    assert starts == pytest.approx([rank for _, rank in ranks], abs=1e-3)
    assert {"critical difference 1.60", "EAP 1.0", "RandomEv 3.5"} <= set(texts(drawn))
    assert drawn.words.endswith(". Not told apart: EAP, Lava; Lava, Rarity, RandomEv.")
    assert describe_groups(()) == "All are told apart"


def test_priors_are_drawn_by_size_and_the_default_as_a_level(cells: pd.DataFrame) -> None:
    own = cells["kind"] == "prior"
    sizes = {"0.01": 0.7, "0.05": 0.8, "0.1": 0.9, "0.2": 0.8, "0.3": 0.7, "0.4": 0.6, "m/n": 0.85}
    cells.loc[own, "AUC_qlt"] = [sizes[str(name)] for name in cells.loc[own, "method"]]
    drawn = draw_priors(summarise(cells).sweep, "tables")
    marks = [mark for name, mark in hints(drawn).items() if name[:2] == "0."]
    dots = [(float(mark.attrib["x"]), -float(mark.attrib["y"])) for mark in marks]
    assert values(drawn, [x for x, _ in dots], "0.0", "0.4") == pytest.approx(
        [float(name) for name in sizes if name != "m/n"], abs=1e-3
    )
    assert list(np.argsort([y for _, y in dots], kind="stable")) == [5, 0, 4, 1, 3, 2]
    ((_, level), _) = lines(drawn, "second", 1.8)[0]
    assert -level == pytest.approx((dots[1][1] + dots[2][1]) / 2, abs=0.02)
    assert "0.1: 0.900" in hints(drawn)
    assert drawn.words.endswith("m/n 0.850.")
    alone = summarise(cells[cells["method"] == "m/n"]).sweep
    assert "m/n" in texts(draw_priors(alone, "tables"))


@pytest.mark.parametrize("narrow", [True, False])
def test_names_are_only_words(narrow: bool) -> None:
    made = complete_experiments(made_up({"tables": HOSTILE}, seeds=1, evaluators=FEW), "evaluator")[
        0
    ]
    for drawn in (draw_auc(made, "tables", narrow), draw_ranks(made, "tables", narrow)):
        shown, rests = texts(drawn), set(hints(drawn))
        for name in filter(str.strip, HOSTILE):
            assert shorten(name, 13 if narrow else 24) in shown
            assert escape_controls(name) in rests
        assert not {"b", "script"} & {each.tag for each in read(drawn).iter()}
        assert ET.fromstring(drawn.standalone()).attrib["role"] == "img"
    for name in HOSTILE:
        one = made[made["dataset"] == name]
        panel = draw_curves(average_curves(one, "tables", "gain", ["EAP"]), "gain", name)
        assert f", {escape_controls(name)}. At the end" in read(panel).attrib["aria-label"]


@given(st.text())
def test_any_text_is_read_back_by_a_parser(words: str) -> None:
    root = ET.fromstring(Drawing(1, 1, words, words, "<g />").standalone())
    assert [each.tag.split("}")[1] for each in root] == ["title", "rect", "g"]
    assert (root[0].text or "") == escape_controls(words)
    assert root.attrib["aria-label"] == escape_controls(f"{words}. {words}")


def test_a_file_has_its_own_colours_background_and_words(whole: pd.DataFrame) -> None:
    drawn = draw_auc(whole, "tables")
    made = drawn.standalone()
    root = ET.fromstring(made)
    assert root.attrib["aria-label"] == f"{drawn.title}. {drawn.words}"
    assert root[1].attrib["fill"] == LIGHT["page"]
    assert float(root.attrib["width"]) > drawn.width
    assert "var(" not in made
    assert LIGHT["first"] in made
    assert LIGHT["first"] not in drawn.inline()


def test_the_same_data_give_the_same_bytes_and_other_data_other_ids(whole: pd.DataFrame) -> None:
    wide, again = draw_auc(whole, "tables"), draw_auc(whole, "tables")
    assert wide == again
    ids = [set(re.findall(' id="(.*?)"', draw_auc(whole, "tables", n).body)) for n in (True, False)]
    assert all(ids)
    assert not ids[0] & ids[1]


def test_matplotlib_is_loaded_by_a_drawing_only_and_left_as_it_was(whole: pd.DataFrame) -> None:
    before = dict(rcParams)
    draw_ranks(whole, "tables")
    assert dict(rcParams) == before
    code = (
        "import sys, eap_core.study.report, eap_core.study.figures as figures;"
        "own = {n for n in sys.modules if n.startswith('matplotlib')};"
        "from eap_core.study.results import Significance;"
        "found = Significance('tables', 'm', 1, (('EAP', 1.0),), None, None, (), 'EAP', (), ());"
        "figures.draw_differences(found);"
        "print(sorted(own), 'matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True", "False"]


@given(st.lists(st.floats(-50, 150), min_size=1, max_size=8))
def test_labels_are_apart_in_their_order_and_on_the_paper(places: list[float]) -> None:
    moved = spread_labels(places, 14, 0, 100)
    gap = min(14, 100 / max(1, len(places) - 1))
    ordered = [moved[i] for i in sorted(range(len(places)), key=lambda i: (places[i], i))]
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(ordered))
    assert min(moved) >= -1e-6
    assert max(moved) <= 100 + 1e-6


def test_labels_that_are_apart_already_stay() -> None:
    assert list(spread_labels([80, 10, 40], 14, 0, 100)) == pytest.approx([80, 10, 40])
    assert list(spread_labels([50, 50], 14, 0, 100)) == pytest.approx([43, 57])


def test_a_long_name_is_cut() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 7), ("quiet", 4.5), ("first", 3), ("second", 3), ("third", 3)]
)
def test_colours_stand_out(colours: Mapping[str, str], name: str, least: float) -> None:
    for ground in ("page", "stripe"):
        bright, dim = sorted((_light(colours[name]), _light(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= least


def _light(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
