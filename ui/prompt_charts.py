"""Figures of the prompts page; pure functions of data."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Okabe and Ito's colours; the shape says the same.
_CHOOSING, _TEST, _GREY = "#0072B2", "#D55E00", "#808080"
_ROW, _TEXT = 30, 16  # pixels: of a row's marks, and of each line of words above them
_LONGEST = 54  # characters that a phone has room for
_TICKS = {0: "0", 25: "25", 50: "50 (guessing)", 75: "75", 100: "100"}


@dataclass(frozen=True)
class Line:
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


def aucs(lines: Sequence[Line]) -> go.Figure:
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
            x=left, y=i - 8 / row, text=_label(line), font={"size": 12},
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
    lines: Sequence[Line],
) -> None:
    figure.add_scatter(
        x=[None if value is None else 100 * value for value in values],
        y=list(range(len(lines))),
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": 12, "color": colour},
        customdata=["<br>".join(map(_escaped, line.words)) for line in lines],
        hovertemplate="%{customdata}<br>%{x:.1f} %<extra>%{fullData.name}</extra>",
    )


def _label(line: Line) -> str:
    """Cut, for a figure has no room for long words; whoever points at a mark sees all of them."""
    text = "<br>".join(
        _escaped(words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…")
        for words in line.words
    )
    return f"<b>{text}</b>" if line.bold else text


def _escaped(words: str) -> str:
    return html.escape(words, quote=False)  # a figure shows &quot; as it stands
