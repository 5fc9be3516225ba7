"""What was found: which pair each selection chooses, how good it is, and where it errs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from eap_core.projects.prompt_report import Report
from eap_core.prompts import Choice, mistakes
from eap_core.prompts.choice import Mistake
from eap_core.writers import csv_text
from ui import downloads, prompt_charts, side_by_side
from ui.prompt_charts import Line
from ui.prompt_words import pair_words, selection_words
from ui.subject import Subject
from ui.words import plain

_BARE = {"displayModeBar": False}
_COUNTS = (6, 12, 24, 48)
_FIRST_PAIRS = 8


def show(found: Subject, report: Report) -> None:
    """The choice in a sentence, then the pairs, the selections and the mistakes."""
    names = list(report.named)
    name = st.selectbox(
        "Choose the pair by",
        names,
        format_func=selection_words,
        key="prompts.by",
        help="The pair that best tells the training normals from these images is chosen.",
        width=420,
    )
    choice = report.named[name if name in report.named else names[0]]
    _sentence(report, choice)
    left, right = st.columns(2, gap="large")
    with left:
        _pairs(report, choice)
    with right:
        _selections(report, choice)
    _mistakes(found, report, choice)


def _sentence(report: Report, choice: Choice) -> None:
    plan, best = report.prompted.plan, choice.best
    normal, anomalous = plan.templates[best.pair].filled(plan.object)
    tested = (
        f", and in **{best.test_auc:.1%}** on the test images, which it has not seen"
        if best.test_auc is not None
        else ""
    )
    st.markdown(
        f"**{plain(normal)}** against **{plain(anomalous)}** is the best of "
        f"{len(plan.templates):,} pairs: an anomaly is placed above a normal in "
        f"**{best.selection_auc:.1%}** of the cases among the {len(choice.selection.rows):,} "
        f"chosen images and the training normals{tested}. Guessing would be 50 %."
    )
    if best.test_auc is None:
        st.info(
            "There are no test images of both kinds, so how good the choice is on new images is "
            "not known. Add held-out normals and real anomalies on the data page.",
            icon=":material/info:",
        )
    ties = sum(one.selection_auc == best.selection_auc for one in choice.ranking) - 1
    if ties:
        st.caption(
            f"{ties:,} other {'pair is' if ties == 1 else 'pairs are'} as good on the chosen "
            "images: the one with the larger mean gap is taken, then the first of the list."
        )


def _pairs(report: Report, choice: Choice) -> None:
    st.subheader("How good is each pair?", anchor=False)
    plan = report.prompted.plan
    lines = [
        Line(
            pair_words(plan.templates[one.pair], plan.object),
            one.selection_auc,
            one.test_auc,
            one is choice.best,
        )
        for one in choice.ranking
    ]
    few = lines[:_FIRST_PAIRS]
    st.plotly_chart(
        prompt_charts.aucs(few, "chosen images"),
        config=_BARE,
        alt="Anomalies placed above normals, by pair: " + _told(few),
        key="prompts.pairs",
    )
    if len(lines) > len(few):
        st.caption(f"The first {len(few)} of {len(lines):,} pairs; the table has them all.")
    texts = [plan.templates[one.pair].filled(plan.object) for one in choice.ranking]
    table = pd.DataFrame(
        {
            "selection": [100 * one.selection_auc for one in choice.ranking],
            "test": _percent([one.test_auc for one in choice.ranking]),
            "normal": [normal for normal, _ in texts],
            "anomalous": [anomalous for _, anomalous in texts],
        }
    )
    _table(table, "prompts.pairs.table", "All pairs of descriptions, the best first")
    address = downloads.offered("prompts", lambda: csv_text(report.frame()), "prompts.csv")
    downloads.link("Download all pairs of all selections (CSV)", address, "prompts.download")


def _selections(report: Report, choice: Choice) -> None:
    st.subheader("Who chooses best?", anchor=False)
    lines = [
        Line(
            f"{selection_words(one.selection.name)} ({len(one.selection.rows):,})",
            one.best.selection_auc,
            one.best.test_auc,
            one is choice,
        )
        for one in report.choices
    ]
    st.plotly_chart(
        prompt_charts.aucs(lines, "chosen images"),
        config=_BARE,
        alt="Anomalies placed above normals by the pair that each selection chooses: "
        + _told(lines),
        key="prompts.selections",
    )
    said = "Only the test images compare selections: each has chosen images of its own. "
    if "oracle" in report.named:
        said += "All real anomalies, the test's too, is a bound: it knows the answers. "
    if "accepted" not in report.named:
        said += "Nothing is accepted in the review yet."
    st.caption(said)
    templates, thing = report.prompted.plan.templates, report.prompted.plan.object
    table = pd.DataFrame(
        {
            "by": [line.words for line in lines],
            "selection": [100 * line.selection_auc for line in lines],
            "test": _percent([line.test_auc for line in lines]),
            "pair": [pair_words(templates[one.best.pair], thing) for one in report.choices],
        }
    )
    _table(table, "prompts.selections.table", "What each selection chooses, and how good it is")


def _table(table: pd.DataFrame, key: str, alt: str) -> None:
    st.dataframe(
        table.dropna(axis="columns", how="all"),
        hide_index=True,
        height=320,
        column_config={
            "by": st.column_config.TextColumn("Chosen by", width=200),
            "pair": st.column_config.TextColumn("Its pair", width=230),
            "normal": st.column_config.TextColumn("Normal", width=190),
            "anomalous": st.column_config.TextColumn("Anomalous", width=190),
            "selection": st.column_config.NumberColumn("Chosen (%)", format="%.1f", width=85),
            "test": st.column_config.NumberColumn("Test (%)", format="%.1f", width=70),
        },
        key=key,
        alt=alt,
    )


def _mistakes(found: Subject, report: Report, choice: Choice) -> None:
    st.subheader("Images that this pair gets wrong", anchor=False)
    wrong = mistakes(report.prompted.views, choice)
    kind = "test images" if wrong.held_out else "images it was chosen by"
    if not wrong.found:
        st.success(f"None of the {wrong.judged:,} {kind}.", icon=":material/check:")
        return
    missed = sum(one.anomalous for one in wrong.found)
    st.markdown(
        f"{len(wrong.found):,} of the {wrong.judged:,} {kind}, the worst first: {missed:,} missed "
        f"anomalies and {len(wrong.found) - missed:,} false alarms. An image counts as anomalous "
        f"above {wrong.line:.1%}, where the training normals and the chosen images part best."
    )
    count = st.segmented_control(
        "How many", _COUNTS, default=_COUNTS[1], key="prompts.count", required=True
    )
    with st.container(horizontal=True, gap="small"):
        for one in wrong.found[:count]:
            side_by_side.one(found.store, _error(one), found.items[one.item])


def _error(one: Mistake) -> str:
    kind = "Missed anomaly" if one.anomalous else "False alarm"
    return f"{kind}, {one.probability:.1%} anomalous"


def _told(lines: list[Line]) -> str:
    return "; ".join(
        f"{line.words} {line.selection_auc:.0%}"
        + (f", test {line.test_auc:.0%}" if line.test_auc is not None else "")
        for line in lines
    )


def _percent(values: list[float | None]) -> list[float | None]:
    return [None if value is None else 100 * value for value in values]
