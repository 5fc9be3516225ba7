"""Figures of the prompts page; pure functions of data."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Okabe and Ito's colours; the shape says the same.
_CHOSEN_BY, _TEST, _GREY = "#0072B2", "#D55E00", "#808080"
_ROW = 46  # pixels: a line of words above the marks
_LONGEST = 58
_TICKS = {0: "0", 25: "25", 50: "50 (guessing)", 75: "75", 100: "100"}


@dataclass(frozen=True)
class Line:
    """What one row of a figure is about, and both AUCs; without a test set there is one."""

    words: str
    selection_auc: float
    test_auc: float | None
    bold: bool = False


def aucs(lines: Sequence[Line], chosen_by: str) -> go.Figure:
    """Rows of two marks on a scale from guessing to perfect, or below, words above the marks."""
    least = min(
        [50.0, *(100 * auc for line in lines for auc in (line.selection_auc, line.test_auc) if auc)]
    )
    left = least - 3
    figure = go.Figure()
    for i, line in enumerate(lines):
        # Guessing, row by row: one long line would cross out the words.
        figure.add_shape(
            type="line", x0=50, x1=50, y0=i - 0.18, y1=i + 0.18,
            line={"color": _GREY, "width": 1, "dash": "dot"},
        )  # fmt: skip
        if line.test_auc is not None:
            figure.add_shape(
                type="line", x0=100 * line.selection_auc, x1=100 * line.test_auc, y0=i, y1=i,
                line={"color": _GREY, "width": 1},
            )  # fmt: skip
        figure.add_annotation(
            x=left,
            y=i - 0.42,
            text=_label(line),
            showarrow=False,
            xanchor="left",
            font={"size": 12},
        )
    _marks(figure, chosen_by, "circle", _CHOSEN_BY, [100 * x.selection_auc for x in lines], lines)
    tested = [None if x.test_auc is None else 100 * x.test_auc for x in lines]
    if any(value is not None for value in tested):
        _marks(figure, "test images", "diamond", _TEST, tested, lines)
    figure.update_layout(
        height=90 + _ROW * len(lines),
        margin={"l": 5, "r": 10, "t": 5, "b": 5},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        xaxis={
            "title": "Anomalies placed above normals (%)",
            "range": [left, 102],
            "tickvals": [tick for tick in _TICKS if tick >= left],
            "ticktext": [text for tick, text in _TICKS.items() if tick >= left],
            "fixedrange": True,
        },
        yaxis={"visible": False, "range": [len(lines) - 0.4, -0.8], "fixedrange": True},
    )
    return figure


def _marks(
    figure: go.Figure,
    name: str,
    symbol: str,
    colour: str,
    values: Sequence[float | None],
    lines: Sequence[Line],
) -> None:
    figure.add_scatter(
        x=values,
        y=list(range(len(lines))),
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": 12, "color": colour},
        customdata=[html.escape(line.words, quote=False) for line in lines],
        hovertemplate="%{customdata}<br>%{x:.1f} %<extra>%{fullData.name}</extra>",
    )


def _label(line: Line) -> str:
    """Cut, for a figure has no room for long words; whoever points at a mark sees all of them."""
    cut = line.words if len(line.words) <= _LONGEST else f"{line.words[: _LONGEST - 1]}…"
    text = html.escape(cut, quote=False)  # a figure shows &quot; as it stands
    return f"<b>{text}</b>" if line.bold else text
