"""Evaluators beside the paper's thirteen, and studies without learning curves."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest

from eap_core.evaluators import PAPER_EVALUATORS
from eap_core.study.figures import draw_auc, draw_ranks, write_figures
from eap_core.study.plan import plan_study
from eap_core.study.report import write_outputs, write_report
from eap_core.study.results import (
    EXTRAS,
    NAMES,
    choose_featured,
    choose_methods,
    compare_evaluators,
    complete_experiments,
    count_better,
    summarise,
)
from eap_core.study.run import CellOutcome, run
from tests.eap_core.study.made_up import made_up

ADDED = ("reach", "near_real", "beta_shap", "data_shap")
CURVES = ["AULC_g", "ACC_g", "AULC_p", "gain_at", "gain", "loss_at", "loss"]


def words(page: str) -> str:
    root = ET.fromstring(page)
    for style in root.iter("style"):
        style.text = ""
    return " ".join(" ".join(root.itertext()).split())


@pytest.fixture(scope="module")
def extended() -> pd.DataFrame:
    made = made_up(seeds=2, evaluators=(*PAPER_EVALUATORS, *ADDED))
    made.loc[made["method"] == "reach", "AUC_qlt"] = 0.999  # would be the first of all
    return made


@pytest.fixture(scope="module")
def plain(extended: pd.DataFrame) -> pd.DataFrame:
    return extended[~extended["method"].isin(ADDED)]


def test_extras_are_those_that_the_paper_does_not_have() -> None:
    assert {NAMES[name] for name in ADDED} == EXTRAS


def test_ranks_are_over_the_thirteen_whatever_stands_beside(
    extended: pd.DataFrame, plain: pd.DataFrame
) -> None:
    table = summarise(extended).table
    extra = table["evaluator"].isin(EXTRAS)
    ranks = [name for name in table.columns if name.startswith("r")] + ["avg_rank"]
    assert table.loc[extra, ranks].isna().all(axis=None)
    assert table.loc[extra, "AUC_qlt"].notna().all()
    pd.testing.assert_frame_equal(
        table[~extra].reset_index(drop=True), summarise(plain).table, check_exact=True
    )
    for _, rows in table.groupby("data"):  # below all others
        assert list(rows["evaluator"].isin(EXTRAS)) == [False] * 13 + [True] * 4


def test_tests_and_choices_do_not_know_extras(extended: pd.DataFrame, plain: pd.DataFrame) -> None:
    for track in ("tables", "images"):
        assert compare_evaluators(extended, track) == compare_evaluators(plain, track)
        assert choose_methods(summarise(extended).table, track, "EAP") == choose_methods(
            summarise(plain).table, track, "EAP"
        )


def test_the_page_has_extras_below_a_line(extended: pd.DataFrame) -> None:
    page = write_report(extended, {})
    text = words(page)
    assert "came first of the paper’s with a mean AUC_qlt" in text
    assert "without a rank: DataShap" in text
    assert "EAP-Reach 0.999, better than EAP on 8 of 8" in text
    assert "Mean ranks, 1 to 13" in text
    assert "nan" not in text.lower()
    main = [t for t in ET.fromstring(page).iter("table") if t.attrib.get("class") == "main"]
    for table in main:
        heads = [str(row[0].text) for row in table.findall("tbody/tr")]
        assert heads[13].startswith("Not the paper’s")
        assert set(heads[14:]) == EXTRAS
        below = table.findall("tbody/tr")[14:]
        assert {row[-1].text for row in below} == {"–"}
        assert not [each for row in below for each in row.iter("strong")]


def test_charts_mark_extras(extended: pd.DataFrame, plain: pd.DataFrame) -> None:
    whole = complete_experiments(extended, "evaluator")[0]
    without = complete_experiments(plain, "evaluator")[0]
    assert draw_ranks(whole, "tables") == draw_ranks(without, "tables")
    for narrow in (False, True):
        drawing = draw_auc(whole, "tables", narrow)
        assert "Not the paper’s: DataShap" in drawing.words
        assert "EAP-Reach*" in drawing.body
        assert "vs EAP-Reach" not in drawing.body
        assert "EAP-Reach" not in draw_auc(without, "tables", narrow).body


def test_extras_fill_up_where_few_others_are() -> None:
    made = made_up({"tables": ["a", "b"]}, evaluators=("eap", "reach", "near_real", "random"))
    table = summarise(made).table
    assert choose_methods(table, "tables", "EAP") == ["EAP", "EAP-Reach", "NearReal", "RandomEv"]
    assert "EAP-Reach*" in write_report(made, {})


@pytest.mark.parametrize("evaluators", [("reach", "near_real"), ("eap", "reach")])
@pytest.mark.parametrize("curves", [True, False])
def test_hardly_any_or_none_of_the_papers(
    tmp_path: Path, evaluators: tuple[str, ...], curves: bool
) -> None:
    made = made_up({"tables": ["a", "b", "c"]}, seeds=1, evaluators=evaluators)
    made = made if curves else made.drop(columns=CURVES)
    text = words(write_report(made, {}))
    assert "nan" not in text.lower()
    own = "Of the paper’s evaluators only EAP was run"
    assert (own if "eap" in evaluators else "None of the paper’s evaluators was run") in text
    assert (tmp_path / "auc_tables.svg") in write_figures(made, tmp_path)
    whole = complete_experiments(made, "evaluator")[0]
    assert choose_featured(whole, "tables") in {NAMES[name] for name in evaluators}


def test_better_is_counted_over_data_sets() -> None:
    made = made_up({"tables": ["a", "b", "c"]}, seeds=1, evaluators=("eap", "reach"), priors=())
    made["AUC_qlt"] = [0.5, 0.6, 0.7, 0.7, 0.8, 0.7]
    whole = complete_experiments(made, "evaluator")[0]
    assert count_better(whole, "tables", "EAP-Reach", "EAP") == 1
    assert count_better(whole, "tables", "EAP", "EAP-Reach") == 1


def test_without_curves_the_page_says_so_and_draws_none(
    extended: pd.DataFrame, tmp_path: Path
) -> None:
    made = extended.drop(columns=CURVES)
    page = write_report(made, {})
    text = words(page)
    assert "AULC_g, ACC_g, AULC_p were not computed" in text
    assert "What the candidates do for a classifier" not in text
    assert "nan" not in text.lower()
    labels = [each.attrib["aria-label"] for each in ET.fromstring(page).iter("svg")]
    assert labels
    assert not any(label.startswith("Test accuracy") for label in labels)
    names = {path.name for path in write_figures(made, tmp_path)}
    assert "auc_tables.svg" in names
    assert "curves_tables.svg" not in names
    table, usual = (summarise(each).table for each in (made, extended))
    assert list(table.columns) == ["data", "evaluator", "AUC_qlt", "rAUC_qlt"]
    both = table.merge(usual, on=["data", "evaluator"], suffixes=("", "_usual"))
    pd.testing.assert_series_equal(both["rAUC_qlt"], both["rAUC_qlt_usual"], check_names=False)


def test_a_cell_without_curves_has_the_same_auc(sets: Path, tmp_path: Path) -> None:
    found = []
    for points in (0, 2):
        given = (sets, tmp_path, ["ones"], ("eap", "rarity", "reach"), 1, points)
        plan = plan_study(*given)
        [cell] = plan.cells()
        found.append((plan, cell.key, run(cell)))
    (plan, key, short), (_, other, long) = found
    assert key != other
    assert "curves" not in short["seconds"]
    assert set(short["rows"][0]) == {"kind", "method", "AUC_qlt"}
    assert [row["AUC_qlt"] for row in short["rows"]] == [row["AUC_qlt"] for row in long["rows"]]
    shown = write_outputs(plan, CellOutcome((short,), ()), tmp_path)
    assert shown is not None
    head, rows = shown
    assert head == ["data", "evaluator", "AUC_qlt", "rAUC_qlt"]
    assert [row[1] for row in rows] in (
        ["EAP", "Rarity", "— not the paper’s —", "EAP-Reach"],
        ["Rarity", "EAP", "— not the paper’s —", "EAP-Reach"],
    )
    assert rows[-1][-1] == "–"
    assert "not computed" in (tmp_path / "report.html").read_text(encoding="utf-8")
