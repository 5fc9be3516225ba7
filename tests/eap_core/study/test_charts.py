"""The figures show the figures: values are read back from what was drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from eap_core.study.auc_chart import auc_chart, featured, signed
from eap_core.study.curve_chart import curves, dataset_chart, mean_chart, shown_methods
from eap_core.study.prior_chart import prior_chart
from eap_core.study.rank_charts import difference_chart, grouped, heat_map
from eap_core.study.results import complete, summary
from eap_core.study.significance import Significance
from eap_core.study.svg import Drawing
from tests.eap_core.study.made_up import made_up

AUC = {
    "good": {"eap": 0.9, "rarity": 0.7, "random": 0.5},
    "poor": {"eap": 0.6, "rarity": 0.65, "random": 0.4},
}


@pytest.fixture
def cells() -> pd.DataFrame:
    """Two data sets and two seeds, the second a hundredth above the first."""
    made = made_up({"tables": list(AUC)}, seeds=2, evaluators=("eap", "rarity", "random"))
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
    return complete(cells, "evaluator")[0]


def read(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.inline())


def texts(drawing: Drawing) -> list[str]:
    return [str(each.text) for each in read(drawing).iter("text")]


def points(drawing: Drawing, style: str) -> list[list[tuple[float, float]]]:
    """The corners of every path of a style."""
    found = [p.attrib["d"] for p in read(drawing).iter("path") if p.attrib["class"] == style]
    pairs = [[each.split(" ") for each in d.strip("MZ").split("L")] for d in found]
    return [[(float(x), float(y)) for x, y in each] for each in pairs]


@pytest.mark.parametrize("narrow", [True, False])
def test_data_sets_from_the_best_with_the_gap_to_the_best_other(
    whole: pd.DataFrame, narrow: bool
) -> None:
    drawn = auc_chart(whole, "tables", narrow)
    shown = texts(drawn)
    assert [name for name in shown if name in (*AUC, "Mean")] == ["good", "poor", "Mean"]
    assert [each for each in shown if each[0] in "+−"] == ["+0.200", "−0.050", "+0.075"]
    hints = [str(each.text) for each in read(drawn).iter("title")]
    assert "EAP 0.905" in hints
    assert "RandomEv 0.405" in hints


def test_values_are_where_the_axis_says(whole: pd.DataFrame) -> None:
    root = read(auc_chart(whole, "tables"))
    ticks = {
        str(t.text): float(t.attrib["x"])
        for t in root.iter("text")
        if str(t.text) in ("0.4", "1.0")
    }
    per_unit = (ticks["1.0"] - ticks["0.4"]) / 0.6
    circles = [c for c in root.iter("circle") if c.attrib["class"] == "own" and len(c)]
    values = [0.4 + (float(c.attrib["cx"]) - ticks["0.4"]) / per_unit for c in circles]
    assert values == pytest.approx([0.905, 0.605, 0.755], abs=1e-3)
    spread = [e for e in root.iter("line") if e.attrib["class"] == "own-line"][1:]  # 0: the key
    lengths = [(float(e.attrib["x2"]) - float(e.attrib["x1"])) / per_unit for e in spread]
    assert lengths == pytest.approx([0.01, 0.01], abs=1e-3)


def test_without_eap_the_best_is_featured() -> None:
    made = made_up(evaluators=("random", "rarity"))
    assert featured(complete(made, "evaluator")[0], "tables") == "Rarity"


def test_a_difference_has_its_sign() -> None:
    assert [signed(v) for v in (0.1, -0.1, 0.0001, -0.0001)] == [
        "+0.100",
        "−0.100",
        "0.000",
        "0.000",
    ]


def test_curves_at_other_shares_are_brought_together(whole: pd.DataFrame) -> None:
    shares = {"good": [0.0, 0.2, 1 / 3], "poor": [0.0, 0.1, 0.33]}
    at = [shares[str(name)] for name in whole["dataset"]]
    gain = [
        [0.5 + seed / 10 + 0.3 * x for x in each]
        for each, seed in zip(at, whole["seed"], strict=True)
    ]
    made = whole.assign(gain_at=pd.Series(at, whole.index), gain=pd.Series(gain, whole.index))
    found = curves(made, "tables", "gain", ["EAP", "Rarity"])
    assert found.datasets == ("good", "poor")
    assert found.accuracy.shape == (2, 2, len(found.at))
    expected = 0.55 + 0.3 * np.minimum(found.at, 0.33)  # the last one known is kept
    assert found.accuracy[1, 0] == pytest.approx(expected)
    assert found.accuracy[0, 1] == pytest.approx(0.55 + 0.3 * found.at)


def test_the_lines_are_the_curves(whole: pd.DataFrame) -> None:
    found = curves(whole, "tables", "loss", ["EAP", "Rarity", "RandomEv"])
    drawn = mean_chart(found, "loss", "tables")
    mean = found.accuracy.mean(axis=0)
    lines = [points(drawn, f"{name}-curve")[0] for name in ("first", "second", "quiet")]
    for line, values in zip(lines, mean, strict=True):
        heights = [-y for _, y in line]
        assert np.corrcoef(heights, values)[0, 1] == pytest.approx(1, abs=1e-4)
    order = np.argsort(mean[:, -1])
    assert list(np.argsort([-line[-1][1] for line in lines])) == list(order)
    assert len(points(drawn, "first-band")) == 1
    assert points(dataset_chart(found, 0, "loss"), "first-band") == []
    assert {"EAP", "Rarity", "RandomEv"} <= set(texts(drawn))


def test_the_strongest_four_and_chance_are_shown() -> None:
    table = summary(made_up(seeds=1)).table
    order = list(table.loc[table["data"] == "tables", "evaluator"])
    shown = shown_methods(table, "tables", "EAP")
    assert shown[0] == "EAP"
    assert shown[1:5] == [name for name in order if name not in ("EAP", "RandomEv")][:4]
    assert shown[5:] == ["RandomEv"]
    few = summary(made_up(evaluators=("eap", "lava"))).table
    assert shown_methods(few, "tables", "EAP") == ["EAP", "Lava"]


@pytest.mark.parametrize(
    ("narrow", "cells_shown"), [(False, ["1.0", "2.0", "3.0"]), (True, ["1", "2", "3"])]
)
def test_the_heat_map_has_the_ranks(
    whole: pd.DataFrame, narrow: bool, cells_shown: list[str]
) -> None:
    shown = texts(heat_map(whole, "tables", narrow))
    assert shown[:3] == ["EAP", "Rarity", "RandomEv"]
    good, poor = shown.index("good"), shown.index("poor")
    assert shown[good + 1 : good + 4] == cells_shown
    one, two, three = cells_shown
    assert shown[poor + 1 : poor + 4] == [two, one, three]


def test_the_bars_of_the_difference_are_the_groups() -> None:
    ranks = (("EAP", 1.0), ("Lava", 2.5), ("Rarity", 3.0), ("RandomEv", 3.5))
    groups = (("EAP", "Lava"), ("Lava", "Rarity", "RandomEv"))
    found = Significance("tables", "AUC_qlt", 9, ranks, 0.01, 1.6, groups, "EAP", (), ())
    drawn = difference_chart(found)
    root = read(drawn)
    ticks = {str(t.text): float(t.attrib["x"]) for t in root.iter("text") if str(t.text) in "1234"}
    unit = (ticks["4"] - ticks["1"]) / 3
    bars = [e.attrib for e in root.iter("line") if e.attrib["class"] == "group"]
    ends = [
        tuple(1 + (float(bar[side]) - ticks["1"]) / unit for side in ("x1", "x2")) for bar in bars
    ]
    for drawn_ends, expected in zip(ends, [(1.0, 2.5), (2.5, 3.5)], strict=True):
        assert drawn_ends == pytest.approx(expected, abs=0.05)
    assert "critical difference 1.60" in texts(drawn)
    assert grouped(groups) == "Not told apart: EAP, Lava; Lava, Rarity, RandomEv"
    assert grouped(()) == "All are told apart"


def test_priors_are_drawn_by_size_and_the_default_as_a_level(cells: pd.DataFrame) -> None:
    own = cells["kind"] == "prior"
    sizes = {"0.01": 0.7, "0.05": 0.8, "0.1": 0.9, "0.2": 0.8, "0.3": 0.7, "0.4": 0.6, "m/n": 0.85}
    cells.loc[own, "AUC_qlt"] = [sizes[str(name)] for name in cells.loc[own, "method"]]
    drawn = prior_chart(summary(cells).sweep, "tables")
    root = read(drawn)
    dots = [(float(c.attrib["cx"]), -float(c.attrib["cy"])) for c in root.iter("circle")]
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert list(np.argsort([y for _, y in dots], kind="stable")) == [5, 0, 4, 1, 3, 2]
    level = next(e for e in root.iter("line") if e.attrib["class"] == "second-curve")
    assert -float(level.attrib["y1"]) == pytest.approx((dots[1][1] + dots[2][1]) / 2, abs=0.02)
    assert drawn.words.endswith("m/n 0.850.")
