"""Figures of scores under other priors; pure functions of data."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from eap_core.analysis.compare import PriorSweep, Sweep
from eap_core.base.table import Floats
from eap_core.scoring.posterior import CATEGORIES, INDISTINGUISHABLE, REALISTIC, UNREALISTIC
from ui.charts import COLOURS, WORDS

MOST_LINES = 300
MOST_MARKED = 12
_DASHES = {REALISTIC: "solid", INDISTINGUISHABLE: "dot", UNREALISTIC: "dashdot"}
_ENTERS, _LEAVES, _LINE = "#0072B2", "#D55E00", "#808080"
_CHANGES = (
    (0.95, "hardly changes"),
    (0.8, "changes a little"),
    (0.5, "changes noticeably"),
    (-1.1, "changes a lot"),
)


def sweep_words(found: Sweep) -> str:
    """How much hangs on the prior, in a sentence."""
    kept = round(float(found.overlap.min()) * found.top)
    worst = float(found.kendall.min())
    order = next(words for least, words in _CHANGES if worst >= least)
    stay = (
        f"all of the best {found.top:,} stay"
        if kept == found.top
        else f"at least {kept:,} of the best {found.top:,} stay"
    )
    return f"Between 1 % and 49 % the order **{order}**, and **{stay}**."


def draw_curves(found: PriorSweep, rate: float, marked: Sequence[int], by_place: bool) -> go.Figure:
    """A line for each candidate, or for an even sample; those that change sides stand out."""
    x = 100 * np.array(found.sweep.rates)
    values = found.places if by_place else found.sweep.scores
    count = values.shape[1]
    drawn = np.unique(np.linspace(0, count - 1, min(count, MOST_LINES)).round().astype(int))
    figure = go.Figure()
    for category in CATEGORIES:
        own = [i for i in drawn if found.table["category"].iloc[i] == category]
        _draw_bundle(figure, x, values[:, own], category)
    cut = (
        np.full(len(x), 100 * (1 - found.sweep.top / count))
        if by_place
        else -np.sort(-values, axis=1)[:, found.sweep.top - 1]
    )
    figure.add_scatter(
        x=x,
        y=cut,
        mode="lines",
        name="line of the best",
        line={"color": _LINE, "width": 2, "dash": "dash"},
        hoverinfo="skip",
    )
    for i in list(marked)[:MOST_MARKED]:
        _mark_lines(figure, found, x, values[:, i], i)
    for at, dash in ((rate, "solid"), (found.sweep.default, "dot")):
        figure.add_vline(x=100 * at, line={"color": _LINE, "width": 1, "dash": dash})
    figure.update_layout(
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": "Expected share of anomalies (%)", "range": [0, 50]},
        yaxis={"title": "Percentile" if by_place else "Score", "zeroline": False},
        hovermode="closest",
    )
    return figure


def _draw_bundle(figure: go.Figure, x: Floats, lines: Floats, category: str) -> None:
    """Many lines as one trace, with gaps between them."""
    gap = np.full((1, lines.shape[1]), np.nan)
    figure.add_scatter(
        x=np.tile(np.append(x, np.nan), lines.shape[1]),
        y=np.concatenate([lines, gap]).T.ravel(),
        mode="lines",
        name=WORDS[category],
        line={"color": COLOURS[category], "width": 1, "dash": _DASHES[category]},
        opacity=0.5,
        hoverinfo="skip",
    )


def _mark_lines(figure: go.Figure, found: PriorSweep, x: Floats, y: Floats, row: int) -> None:
    leaves = bool(found.best[row])
    side = "leaves" if leaves else "enters"
    name = html.escape(str(found.table["id"].iloc[row]))
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={
            "color": _LEAVES if leaves else _ENTERS,
            "width": 3,
            "dash": "dash" if leaves else "solid",
        },
        name=f"{side} the best",
        legendgroup=side,
        showlegend=all(trace.legendgroup != side for trace in figure.data),
        text=[name] * len(x),
        hovertemplate=f"%{{text}}<br>{side} the best<br>at %{{x:.0f}} %<extra></extra>",
    )


def draw_stability(found: PriorSweep, rate: float) -> go.Figure:
    """How much of the order and of the best stays, under each prior."""
    x = [100 * each for each in found.sweep.rates]
    figure = go.Figure()
    for name, values, symbol, colour in (
        ("best that stay", found.sweep.overlap, "circle", "#009E73"),
        ("order that stays", found.sweep.kendall, "square", "#CC79A7"),
    ):
        figure.add_scatter(
            x=x,
            y=100 * values,
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2},
            marker={"symbol": symbol, "size": 6},
            hovertemplate="at %{x:.0f} %: %{y:.0f} %<extra>%{fullData.name}</extra>",
        )
    for at, dash in ((rate, "solid"), (found.sweep.default, "dot")):
        figure.add_vline(x=100 * at, line={"color": _LINE, "width": 1, "dash": dash})
    lowest = min(0.0, 100 * float(found.sweep.kendall.min()))
    figure.update_layout(
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": "Expected share of anomalies (%)", "range": [0, 50]},
        yaxis={"title": "Unchanged (%)", "range": [lowest - 2, 104], "zeroline": False},
    )
    return figure
