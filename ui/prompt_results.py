"""What was found: which pair each selection chooses, and how good it is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from eap_core.projects.prompt_report import Report
from eap_core.projects.prompting import Prompted
from eap_core.prompts import Choice, Ranked, may_be_guessing
from eap_core.writers import csv_text
from ui import downloads, prompt_charts, prompt_mistakes
from ui.prompt_charts import Line
from ui.prompt_words import percent, selection_words
from ui.subject import Subject
from ui.words import plain

_BARE = {"displayModeBar": False}
_FIRST_PAIRS = 8


def show(found: Subject, report: Report) -> None:
    """The chosen pair, then all pairs, the selections and the mistakes."""
    names = list(report.named)
    name = st.selectbox(
        "Choose the pair by",
        names,
        format_func=selection_words,
        key="prompts.by",
        persist_state="session",
        help="The pair that best tells these images from the training normals is chosen.",
        width=420,
    )
    choice = report.named[name if name in report.named else names[0]]
    _chosen(report, choice)
    left, right = st.columns(2, gap="large")
    with left:
        _pairs(report, choice)
    with right:
        _selections(report, choice)
    prompt_mistakes.show(found, report.prompted.views, choice)


def _chosen(report: Report, choice: Choice) -> None:
    best = choice.best
    count = len(choice.ranking)
    title = f"The best of {count:,} pairs" if count > 1 else "The pair"
    st.subheader(title, anchor=False)
    titles = ("A normal one is described as", "An anomalous one is described as")
    for column, title, text in zip(st.columns(2), titles, _texts(report, best), strict=True):
        with column:
            st.caption(title)
            st.code(text, language=None, wrap_lines=True)
    with st.container(horizontal=True):
        st.metric(
            f"Told apart, images that chose it ({len(choice.selection.rows):,})",
            percent(best.selection_auc),
            width=280,
        )
        if best.test_auc is not None:
            st.metric("Told apart, test images", percent(best.test_auc), width=280)
    st.caption(
        "Of an anomaly and a normal, how often the anomaly is the one that is more like its "
        "description. Guessing is 50 %, perfect is 100 %. Looked at by the model "
        f"{plain(report.prompted.plan.model)}."
    )
    _reservations(report.prompted, choice)


def _reservations(seen: Prompted, choice: Choice) -> None:
    """What keeps one from relying on the choice."""
    best, cut = choice.best, seen.cut
    if best.test_auc is None:
        st.info(
            "There are no test images of both kinds, so how good the choice is on new images is "
            "not known. Add held-out normals and real anomalies on the data page.",
            icon=":material/info:",
        )
    elif may_be_guessing(seen.views, choice):
        st.warning(
            "On the test images this pair does no better than guessing might. Try other "
            "descriptions, another choice of images or another model before relying on it.",
            icon=":material/warning:",
        )
    ties = sum(one.selection_auc == best.selection_auc for one in choice.ranking) - 1
    if ties:
        st.caption(
            f"{ties:,} other {'pair is' if ties == 1 else 'pairs are'} right as often on the "
            "images that chose: of these, the one that keeps the two kinds farther apart on "
            "average is taken, then the first of the list."
        )
    if cut:
        st.warning(
            f"{cut:,} of the descriptions {'is' if cut == 1 else 'are'} longer than the model "
            "reads: what is too much counts for nothing. Shorten the object's name, or the "
            "descriptions.",
            icon=":material/warning:",
        )


def _pairs(report: Report, choice: Choice) -> None:
    st.subheader("How good is each pair?", anchor=False)
    lines = [
        Line(_texts(report, one), one.selection_auc, one.test_auc, one is choice.best)
        for one in choice.ranking
    ]
    few = lines[:_FIRST_PAIRS]
    if len(lines) > len(few):
        st.caption(f"The best {len(few)} of {len(lines):,}; the table below has them all.")
    _figure(few, "prompts.pairs", "Anomaly placed above a normal, by pair: ")
    table = _numbers(lines).assign(
        normal=[line.words[0] for line in lines], anomalous=[line.words[1] for line in lines]
    )
    _table(table, "prompts.pairs.table", "All pairs of descriptions, the best first")
    address = downloads.offered("prompts", lambda: csv_text(report.frame()), "prompts.csv")
    downloads.link("Download all pairs of all selections (CSV)", address, "prompts.download")


def _selections(report: Report, choice: Choice) -> None:
    st.subheader("Who chooses best?", anchor=False)
    lines = [
        Line(
            (f"{selection_words(one.selection.name)} ({len(one.selection.rows):,})",),
            one.best.selection_auc,
            one.best.test_auc,
            one is choice,
        )
        for one in report.choices
    ]
    said = "Compare them by the test images, which are the same for all. "
    if "oracle" not in report.named:
        said = "They cannot be compared without test images: each is judged on its own. "
    if "accepted" not in report.named:
        said += "Nothing is accepted in the review yet."
    st.caption(said)
    _figure(lines, "prompts.selections", "The same of the pair that each selection chooses: ")
    table = _numbers(lines).assign(
        pair=[" | ".join(_texts(report, c.best)) for c in report.choices]
    )
    table.insert(0, "by", [line.words[0] for line in lines])
    _table(table, "prompts.selections.table", "What each selection chooses, and how good it is")


def _figure(lines: list[Line], key: str, words: str) -> None:
    told = (f"{' | '.join(line.words)} {_told(line)}" for line in lines)
    st.plotly_chart(prompt_charts.aucs(lines), config=_BARE, alt=words + "; ".join(told), key=key)


def _told(line: Line) -> str:
    tested = f", test {percent(line.test_auc)}" if line.test_auc is not None else ""
    return percent(line.selection_auc) + tested


def _numbers(lines: list[Line]) -> pd.DataFrame:
    both = {
        "selection": [line.selection_auc for line in lines],
        "test": [line.test_auc for line in lines],
    }
    numbers = 100 * pd.DataFrame(both, dtype=float).dropna(axis="columns", how="all")
    return numbers.round(1)  # here, or a browser rounds the same number another way


def _table(table: pd.DataFrame, key: str, alt: str) -> None:
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "by": st.column_config.TextColumn("Chosen by", width=225),
            "pair": st.column_config.TextColumn("Its pair", width=230),
            "normal": st.column_config.TextColumn("Normal", width=190),
            "anomalous": st.column_config.TextColumn("Anomalous", width=190),
            "selection": st.column_config.NumberColumn(
                "Chose (%)", help="On the images that chose", format="%.1f", width=85
            ),
            "test": st.column_config.NumberColumn(
                "Test (%)", help="On the test images", format="%.1f", width=75
            ),
        },
        key=key,
        alt=alt,
    )


def _texts(report: Report, one: Ranked) -> tuple[str, str]:
    plan = report.prompted.plan
    return plan.templates[one.pair].filled(plan.object)
