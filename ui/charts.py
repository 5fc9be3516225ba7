"""Figures of scores and runs as pure functions of data; nothing here knows Streamlit."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from eap_core.scoring.posterior import CATEGORIES, INDISTINGUISHABLE, REALISTIC, UNREALISTIC

# Okabe and Ito's colours, told apart with any kind of colour vision; the shape says the same.
COLOURS = {REALISTIC: "#009E73", INDISTINGUISHABLE: "#0072B2", UNREALISTIC: "#D55E00"}
SHAPES = {REALISTIC: "circle", INDISTINGUISHABLE: "square", UNREALISTIC: "triangle-up"}
_STACKED = 13
_MOST_GROUPS = 12
MOST_POINTS = 5_000  # in one figure: more would make a phone wait
WORDS = {
    REALISTIC: "realistic",
    INDISTINGUISHABLE: "looks normal",
    UNREALISTIC: "too far from the data",
}


def group_bars(frame: pd.DataFrame, group: str) -> go.Figure:
    """Every candidate by its quality percentile, one line per group, category by shape."""
    frame = space_evenly(frame, MOST_POINTS).assign(**{group: _few(frame[group])})
    names = list(dict.fromkeys(frame[group]))
    line = {name: float(i) for i, name in enumerate(names)}
    figure = go.Figure()
    for category in CATEGORIES:
        rows = frame[frame["category"] == category]
        # Equal scores lie on one spot: stacked around their line, each is visible.
        ties = rows.groupby([group, "percentile"])["percentile"]
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


def space_evenly(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows, from the first to the last at equal steps."""
    if len(frame) <= most:
        return frame
    return frame.iloc[np.linspace(0, len(frame) - 1, most).round().astype(int)]


def _few(groups: pd.Series) -> pd.Series:
    """The largest groups; the others together."""
    largest = groups.value_counts().index[:_MOST_GROUPS]
    return (
        groups.where(groups.isin(largest), "others") if groups.nunique() > _MOST_GROUPS else groups
    )


def parts_chart(weight: float, p_y: float, prior: float, best: float) -> go.Figure:
    """A score as a bar, up to the best one of all: the evidence's share and the prior's."""
    shares = {
        "from the evidence": (weight * p_y, COLOURS[REALISTIC]),
        "from the prior belief": ((1 - weight) * prior, "#999999"),
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


def sides_chart(frame: pd.DataFrame, chosen: str) -> go.Figure:
    """How anomalous candidates look and how much the data say of them: both make the score.

    Lines of equal score show why one that looks more anomalous may rank below another.
    """
    shown = space_evenly(frame, MOST_POINTS)
    figure = go.Figure()
    _equal_scores(figure, frame)
    for category in CATEGORIES:
        rows = shown[shown["category"] == category]
        figure.add_scatter(
            x=100 * rows["looks"],
            y=100 * rows["support"],
            mode="markers",
            name=WORDS[category],
            customdata=[html.escape(name) for name in rows["id"]],
            marker={"color": COLOURS[category], "symbol": SHAPES[category], "size": 8},
            hovertemplate="%{customdata}<br>looks anomalous %{x:.0f} %<br>evidence %{y:.0f} %"
            "<extra>%{fullData.name}</extra>",
        )
    own = frame[frame["item"] == chosen]
    figure.add_scatter(
        x=100 * own["looks"],
        y=100 * own["support"],
        mode="markers",
        name="this one",
        marker={"symbol": "circle-open", "size": 20, "color": "#CC79A7", "line": {"width": 3}},
        hoverinfo="skip",
    )
    figure.update_layout(
        height=380,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": "Looks anomalous (%)", "range": [-3, 103], "zeroline": False},
        yaxis={"title": "Evidence (%)", "rangemode": "tozero", "zeroline": False},
    )
    return figure


def _equal_scores(figure: go.Figure, frame: pd.DataFrame) -> None:
    """Where weight·p_y + (1 − weight)·prior is the same, for the quartiles of the scores."""
    if frame.empty:
        return
    prior = float(frame["prior"].iloc[0])
    x = np.linspace(0.005, 1.0, 200)
    for share, words in ((0.25, "lowest quarter"), (0.5, "middle"), (0.75, "best quarter")):
        score = float(frame["posterior"].quantile(share))
        # The evidence must move the score from the prior to there: beyond it, on the same side.
        reaches = x >= score if score > prior else x <= score
        if abs(score - prior) > 1e-9 and reaches.any():
            figure.add_scatter(
                x=100 * x[reaches],
                y=100 * (score - prior) / (x[reaches] - prior),
                mode="lines",
                line={"color": "#888888", "dash": "dot", "width": 1},
                hovertemplate=f"same score: {words}<extra></extra>",
                showlegend=False,
            )


# Figures that compare two runs; pure functions of data.


def draw_two_runs(table: pd.DataFrame) -> go.Figure:
    """Percentiles ``then`` against ``now``; on the line, nothing has changed."""
    moved = (table["now"] - table["then"]).abs()
    shown = table.loc[moved.sort_values(ascending=False).index[:MOST_POINTS]]
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        line={"color": "#888888", "dash": "dot", "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    for category in CATEGORIES:
        rows = shown[shown["category"] == category]
        figure.add_scatter(
            x=rows["then"],
            y=rows["now"],
            mode="markers",
            name=WORDS[category],
            customdata=[html.escape(name) for name in rows["id"]],
            marker={"color": COLOURS[category], "symbol": SHAPES[category], "size": 8},
            hovertemplate="%{customdata}<br>%{x:.0f} → %{y:.0f}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        height=420,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": "Percentile in the other run", "range": [-2, 102]},
        yaxis={"title": "Percentile now", "range": [-2, 102]},
    )
    return figure
