"""Figures as pure functions of data; nothing here knows Streamlit."""

from __future__ import annotations

import html

import pandas as pd
import plotly.graph_objects as go

from eap_core.category import CATEGORIES, INDISTINGUISHABLE, REALISTIC, UNREALISTIC
from eap_core.explain import Explanation

# Okabe and Ito's colours, told apart with any kind of colour vision; the shape says the same.
COLOURS = {REALISTIC: "#009E73", INDISTINGUISHABLE: "#0072B2", UNREALISTIC: "#D55E00"}
SHAPES = {REALISTIC: "circle", INDISTINGUISHABLE: "square", UNREALISTIC: "triangle-up"}
_STACKED = 13
WORDS = {
    REALISTIC: "realistic",
    INDISTINGUISHABLE: "looks normal",
    UNREALISTIC: "too far from the data",
}


def by_group(frame: pd.DataFrame, group: str) -> go.Figure:
    """Every candidate by its quality percentile, one line per group, category by shape."""
    names = list(dict.fromkeys(frame[group]))
    line = {name: float(i) for i, name in enumerate(names)}
    figure = go.Figure()
    for category in CATEGORIES:
        rows = frame[frame["category"] == category]
        # Equal scores lie on one spot: stacked around their line, each is visible.
        ties = rows.groupby([group, "eap"])["eap"]
        stack = ties.cumcount() % _STACKED - (ties.transform("size").clip(upper=_STACKED) - 1) / 2
        figure.add_scatter(
            x=rows["percentile"],
            y=rows[group].map(line).astype(float) + stack * 0.06,
            mode="markers",
            name=WORDS[category],
            customdata=[html.escape(name) for name in rows["id"]],
            marker={"color": COLOURS[category], "symbol": SHAPES[category], "size": 9},
            hovertemplate="%{customdata}<br>percentile %{x:.0f}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        height=130 + 80 * len(names),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": "Quality percentile", "range": [-2, 102]},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": [html.escape(str(name)) for name in names],
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def made_of(found: Explanation, best: float) -> go.Figure:
    """A score as a bar, up to the best one of all: the evidence's share and the prior's."""
    shares = {
        "from the evidence": (found.weight * found.p_y, COLOURS[REALISTIC]),
        "from the prior belief": ((1 - found.weight) * found.prior, "#999999"),
    }
    figure = go.Figure()
    for name, (value, colour) in shares.items():
        figure.add_bar(
            x=[value],
            y=["score"],
            orientation="h",
            name=name,
            marker={"color": colour},
            hovertemplate="%{x:.3f}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        barmode="stack",
        height=150,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
        xaxis={"range": [0, best * 1.02], "title": None},
        yaxis={"visible": False},
    )
    return figure
