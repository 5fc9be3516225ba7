"""The page: what it says, that names cannot break it, and that it needs nothing but itself."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest

from eap_core.study.figures import write_figures
from eap_core.study.report import write_report
from tests.eap_core.study.made_up import made_up

HOSTILE = [
    '<script>alert("1")</script>',
    "a & b \"c\" 'd'",
    "=cmd|calc",
    "\x00\x1b[31m",
    "]]></svg>",
    "日本語 😀",
    "$\\frac_1$",
    "\u202egnp.exe",
    "EAP",
    "Mean",
    "x" * 300,
]
FEW = ("eap", "rarity", "random")


def tables(count: int) -> dict[str, list[str]]:
    return {"tables": [f"set {i}" for i in range(count)]}


def read(page: str) -> ET.Element:
    assert page.startswith("<!DOCTYPE html>\n")
    return ET.fromstring(page)


def words(page: str) -> str:
    """What is read on the page, tags and style aside."""
    root = read(page)
    for style in root.iter("style"):
        style.text = ""
    return " ".join(" ".join(root.itertext()).split())


def without(cells: pd.DataFrame, dataset: str, method: str) -> pd.DataFrame:
    return cells[~((cells["dataset"] == dataset) & (cells["method"] == method))]


@pytest.fixture(scope="module")
def whole() -> str:
    return write_report(made_up(), {"Command": "python -m eap_core study", "Failed": []})


def test_the_headline_says_who_by_how_much_and_over_what() -> None:
    made = made_up(tables(10), seeds=2, evaluators=FEW)
    for method, value in {"eap": 0.9, "rarity": 0.8, "random": 0.5}.items():
        made.loc[made["method"] == method, "AUC_qlt"] = value
    text = words(write_report(made, {}))
    assert "EAP came first with a mean AUC_qlt of 0.900, 0.100 above Rarity (0.800)" in text
    assert "over 10 data sets × 2 seeds" in text
    # Ten wins of ten: 2/2¹⁰, and twice that for two comparisons.
    assert "The difference is significant (p = 0.004, Wilcoxon with Holm’s correction)." in text
    assert "EAP is the better of the two on 10 of 10." in text
    assert "The paper reports 0.821 for EAP; ours is 0.079 above." in text


def test_the_headline_admits_when_eap_is_not_first() -> None:
    made = made_up(tables(8), seeds=1, evaluators=FEW)
    for i, method in enumerate(("random", "rarity", "eap")):
        made.loc[made["method"] == method, "AUC_qlt"] = 0.8 - i / 10
    text = words(write_report(made, {}))
    assert "RandomEv came first with a mean AUC_qlt of 0.800; EAP came 3rd, 0.200 below" in text
    assert "EAP is the better of the two on 0 of 8." in text


def test_too_few_data_sets_are_said_without_a_p() -> None:
    text = words(write_report(made_up(tables(2), evaluators=FEW), {}))
    assert "There are too few data sets to say" in text
    assert "All evaluators together: too few data sets to say (2, at least 3 needed)." in text
    assert "significant" not in text
    assert " p " not in text


def test_every_part_is_there(whole: str) -> None:
    root, text = read(whole), words(whole)
    drawings = [each.attrib["aria-label"] for each in root.iter("svg")]
    for track in ("images", "tables"):
        for title in ("AUC_qlt by data set", "Ranks by AUC_qlt", "AUC_qlt by prior"):
            assert any(label.startswith(f"{title}, {track}") for label in drawings)
        assert any("Mean ranks by AUC_qlt over 8" in d and track in d for d in drawings)
    # Two curves for each track and for each of its eight data sets.
    assert sum(label.startswith("Test accuracy") for label in drawings) == 2 * 2 * (1 + 8)
    assert "python -m eap_core study" in text
    assert "nan" not in text.lower()


def test_every_drawing_says_what_is_seen(whole: str) -> None:
    for each in read(whole).iter("svg"):
        assert each.attrib["role"] == "img"
        assert len(each.attrib["aria-label"]) > 20
        assert each[0].tag == "title"


def test_the_main_table_is_the_summary_beside_the_papers(whole: str) -> None:
    main = [t for t in read(whole).iter("table") if t.attrib.get("class") == "main"]
    assert len(main) == 2
    for table in main:
        first = next(row for row in table.iter("tr") if row[0].text == "EAP")
        ours, paper, gap = (float(str(s.text).replace("−", "-")) for s in first[1])
        assert paper in (0.803, 0.821)
        assert gap == pytest.approx(ours - paper, abs=0.0011)
        assert len(table.findall("tbody/tr")) == 13


def test_it_needs_nothing_but_itself(whole: str) -> None:
    root = read(whole)
    assert not list(root.iter("script"))
    assert not list(root.iter("link"))
    for each in root.iter():
        assert "src" not in each.attrib
        assert each.attrib.get("href", "#").startswith("#")
    assert "http:" not in whole
    assert "https:" not in whole
    assert "url(" not in whole
    targets = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(targets) == len(set(targets))
    assert {each.attrib["href"][1:] for each in root.iter() if "href" in each.attrib} <= {*targets}


def test_hostile_names_are_only_words(tmp_path: Path) -> None:
    made = made_up({"tables": HOSTILE}, seeds=1, evaluators=FEW)
    page = write_report(made, {"<b>": "<i>&amp;", "Failed": [*HOSTILE, "\ud800"], "None": []})
    root = read(page)
    assert not [each for each in root.iter() if each.tag in ("script", "b", "i")]
    text = words(page)
    assert '<script>alert("1")</script>' in text
    assert "<b>" in text
    assert "<i>&amp;" in text
    assert "\\u202egnp.exe" in text
    assert "\u202e" not in page
    page.encode("utf-8")
    for path in write_figures(made, tmp_path):
        assert ET.parse(path).getroot().attrib["role"] == "img"


def test_what_is_missing_is_said() -> None:
    made = without(made_up(tables(3), seeds=2, evaluators=FEW), "set 1", "rarity")
    assert "Tables: 2 experiments are left out of all figures below" in words(
        write_report(made, {})
    )
    mixed = made[~((made["dataset"] == "set 2") & (made["seed"] == 1))]
    assert "over 3 experiments on 2 data sets" in words(write_report(mixed, {}))


def test_a_track_without_a_complete_experiment_is_said(tmp_path: Path) -> None:
    made = without(made_up(tables(2), evaluators=FEW, priors=()), "set 0", "eap")
    made = without(made, "set 1", "rarity")
    for cells in (made, made.iloc[:0]):
        assert "no experiment yet in which every evaluator has its figures" in words(
            write_report(cells, {})
        )
        assert write_figures(cells, tmp_path) == []


@pytest.mark.parametrize(
    "evaluators", [("eap",), ("rarity", "lava"), ("random",), ("eap", "data_shap")]
)
@pytest.mark.parametrize("count", [1, 7])
def test_few_evaluators_and_data_sets(evaluators: tuple[str, ...], count: int) -> None:
    text = words(write_report(made_up(tables(count), seeds=1, evaluators=evaluators), {}))
    assert "nan" not in text.lower()
    assert "Images" not in text


def test_all_equal_is_said() -> None:
    made = made_up(tables(8), seeds=1, evaluators=FEW)
    made["AUC_qlt"] = 0.5
    text = words(write_report(made, {}))
    assert "All evaluators are equal on every data set." in text
    assert "nan" not in text.lower()


def test_figures_as_files(tmp_path: Path) -> None:
    written = write_figures(made_up(seeds=1, evaluators=FEW), tmp_path / "deep" / "er")
    kinds = ("auc", "curves", "ranks", "differences", "priors")
    assert {path.name for path in written} == {
        f"{kind}_{track}.svg" for kind in kinds for track in ("tables", "images")
    }
    only = write_figures(made_up(tables(3), evaluators=FEW, priors=()), tmp_path / "one")
    assert sorted(path.stem for path in only) == sorted(f"{kind}_tables" for kind in kinds[:4])


def test_the_same_cells_give_the_same_bytes(tmp_path: Path) -> None:
    made = made_up(seeds=2, evaluators=FEW)
    page = write_report(made, {"Command": "x"})
    assert write_report(made.sample(frac=1, random_state=3), {"Command": "x"}) == page
    code = (
        "import sys, pandas as pd; from eap_core.study.report import write_report;"
        "page = write_report(pd.read_parquet(sys.argv[1]), {'Command': 'x'});"
        "sys.stdout.buffer.write(page.encode())"
    )
    made.to_parquet(tmp_path / "cells.parquet")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cells.parquet")],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == page
