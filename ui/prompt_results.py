"""What was found by prompts: the pair each selection chooses, how good, where it errs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from eap_core.base.files import csv_text
from eap_core.evaluators import EVALUATORS
from eap_core.project.prompts import PromptReport, PromptViews
from eap_core.prompts.choice import (
    ClipViews,
    Mistake,
    PromptChoice,
    RankedPair,
    find_mistakes,
    may_be_guessing,
)
from ui import files, why
from ui.scored_project import ScoredProject
from ui.text import escape_markdown

# Figures of the prompts page; pure functions of data.

# Okabe and Ito's colours; the shape says the same.
_CHOOSING, _TEST, _GREY = "#0072B2", "#D55E00", "#808080"
_ROW, _TEXT = 30, 16  # pixels: of a row's marks, and of each line of words above them
_LONGEST = 54  # characters that a phone has room for
_TICKS = {0: "0", 25: "25", 50: "50 (guessing)", 75: "75", 100: "100"}


@dataclass(frozen=True)
class PairLine:
    """What one row of a figure is about, and both AUCs; without a test set there is one."""

    words: tuple[str, ...]
    selection_auc: float
    test_auc: float | None
    bold: bool = False

    @property
    def aucs(self) -> tuple[float, ...]:
        """Those that are known."""
        both = (self.selection_auc, self.test_auc)
        return tuple(auc for auc in both if auc is not None)


def draw_aucs(lines: Sequence[PairLine]) -> go.Figure:
    """Rows of two marks on a scale from guessing to perfect, or below, words above the marks."""
    left = (
        100 * min([0.5, *(auc for line in lines for auc in line.aucs)]) - 7
    )  # a tick's words need room
    row = _ROW + _TEXT * max(len(line.words) for line in lines)
    figure = go.Figure()
    for i, line in enumerate(lines):
        # Guessing, row by row: one long line would cross out the words.
        _stroke(figure, (50, 50), (i - 8 / row, i + 8 / row), "dot")
        _stroke(figure, (100 * min(line.aucs), 100 * max(line.aucs)), (i, i), "solid")
        figure.add_annotation(
            x=left, y=i - 8 / row, text=_label_text(line), font={"size": 12},
            showarrow=False, xanchor="left", yanchor="bottom", align="left",
        )  # fmt: skip
    _marks(
        figure, "images that chose", "circle", _CHOOSING, [x.selection_auc for x in lines], lines
    )
    tested = [line.test_auc for line in lines]
    if any(auc is not None for auc in tested):
        _marks(figure, "test images", "diamond", _TEST, tested, lines)
    figure.update_layout(
        height=150 + row * len(lines),
        margin={"l": 5, "r": 10, "t": 5, "b": 70},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        showlegend=True,
        xaxis={
            "title": "Anomaly placed above a normal (%)",
            "range": [left, 102],
            "tickvals": [tick for tick in _TICKS if tick >= left],
            "ticktext": [text for tick, text in _TICKS.items() if tick >= left],
            "fixedrange": True,
        },
        yaxis={
            "visible": False,
            "range": [len(lines) - 1 + 16 / row, 16 / row - 1],
            "fixedrange": True,
        },
    )
    return figure


def _stroke(figure: go.Figure, x: tuple[float, float], y: tuple[float, float], dash: str) -> None:
    line = {"color": _GREY, "width": 1, "dash": dash}
    figure.add_shape(type="line", x0=x[0], x1=x[1], y0=y[0], y1=y[1], line=line)


def _marks(
    figure: go.Figure,
    name: str,
    symbol: str,
    colour: str,
    values: Sequence[float | None],
    lines: Sequence[PairLine],
) -> None:
    figure.add_scatter(
        x=[None if value is None else 100 * value for value in values],
        y=list(range(len(lines))),
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": 12, "color": colour},
        customdata=["<br>".join(map(_escape, line.words)) for line in lines],
        hovertemplate="%{customdata}<br>%{x:.1f} %<extra>%{fullData.name}</extra>",
    )


def _label_text(line: PairLine) -> str:
    """Cut, for a figure has no room for long words; whoever points at a mark sees all of them."""
    text = "<br>".join(
        _escape(words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…")
        for words in line.words
    )
    return f"<b>{text}</b>" if line.bold else text


def _escape(words: str) -> str:
    return html.escape(words, quote=False)  # a figure shows &quot; as it stands


# Selections and figures of prompts in words.

_WORDS = {
    "accepted": "Accepted in the review",
    "known": "Known real anomalies",
    "oracle": "All real anomalies, test included",
    "random": "A third at random",
}


def selection_words(name: str) -> str:
    """A selection as a person would call it."""
    return _WORDS.get(name) or f"Best third by {EVALUATORS[name].title}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# Images that the chosen pair gets wrong.

_COUNTS = (6, 12, 24, 48)


def show_mistakes(found: ScoredProject, views: ClipViews, choice: PromptChoice) -> None:
    """The worst first, as many as one wants to see."""
    st.subheader("Images that this pair gets wrong", anchor=False)
    wrong = find_mistakes(views, choice)
    kind = "test images" if wrong.held_out else "training normals and images that chose it"
    if not wrong.found:
        st.success(f"None of the {wrong.judged:,} {kind}.", icon=":material/check:")
        return
    missed = sum(one.anomalous for one in wrong.found)
    st.markdown(
        f"{len(wrong.found):,} of the {wrong.judged:,} {kind}, the worst first (missed anomalies: "
        f"{missed:,}, false alarms: {len(wrong.found) - missed:,}). An image counts as anomalous "
        f"above {percent(wrong.line)}, the line that best divides the training normals from the "
        "images that chose."
    )
    count = len(wrong.found)
    if count > _COUNTS[0]:
        offered = [n for n, before in zip(_COUNTS, (0, *_COUNTS), strict=False) if before < count]
        count = st.segmented_control(
            "How many",
            offered,
            default=offered[1],
            key="prompts.count",
            persist_state="session",
            required=True,
        )
    with st.container(horizontal=True, gap="small"):
        for one in wrong.found[:count]:
            why.show_picture(found.store, _error(one), found.items[one.item])


def _error(one: Mistake) -> str:
    kind = "Missed anomaly" if one.anomalous else "False alarm"
    return f"{kind}, {percent(one.probability)}"


_BARE = {"displayModeBar": False}
_FIRST_PAIRS = 8


def show_results(found: ScoredProject, report: PromptReport) -> None:
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
    _show_choice(report, choice)
    left, right = st.columns(2, gap="large")
    with left:
        _pairs(report, choice)
    with right:
        _selections(report, choice)
    show_mistakes(found, report.prompted.views, choice)


def _show_choice(report: PromptReport, choice: PromptChoice) -> None:
    best = choice.best
    count = len(choice.ranking)
    title = f"The best of {count:,} pairs" if count > 1 else "The pair"
    st.subheader(title, anchor=False)
    titles = ("A normal one is described as", "An anomalous one is described as")
    for column, title, words in zip(st.columns(2), titles, _texts(report, best), strict=True):
        with column:
            st.caption(title)
            st.code(words, language=None, wrap_lines=True)
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
        f"{escape_markdown(report.prompted.plan.model)}."
    )
    _reservations(report.prompted, choice)


def _reservations(seen: PromptViews, choice: PromptChoice) -> None:
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


def _pairs(report: PromptReport, choice: PromptChoice) -> None:
    st.subheader("How good is each pair?", anchor=False)
    lines = [
        PairLine(_texts(report, one), one.selection_auc, one.test_auc, one is choice.best)
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
    address = files.offer_download("prompts", lambda: csv_text(report.frame()), "prompts.csv")
    files.show_link("Download all pairs of all selections (CSV)", address, "prompts.download")


def _selections(report: PromptReport, choice: PromptChoice) -> None:
    st.subheader("Who chooses best?", anchor=False)
    lines = [
        PairLine(
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


def _figure(lines: list[PairLine], key: str, words: str) -> None:
    told = (f"{' | '.join(line.words)} {_line_words(line)}" for line in lines)
    st.plotly_chart(draw_aucs(lines), config=_BARE, alt=words + "; ".join(told), key=key)


def _line_words(line: PairLine) -> str:
    tested = f", test {percent(line.test_auc)}" if line.test_auc is not None else ""
    return percent(line.selection_auc) + tested


def _numbers(lines: list[PairLine]) -> pd.DataFrame:
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


def _texts(report: PromptReport, one: RankedPair) -> tuple[str, str]:
    plan = report.prompted.plan
    return plan.templates[one.pair].filled(plan.object)
