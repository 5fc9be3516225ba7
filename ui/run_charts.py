"""Figures that compare two runs; pure functions of data."""

from __future__ import annotations

import html

import pandas as pd
import plotly.graph_objects as go

from eap_core.category import CATEGORIES
from ui.charts import COLOURS, MOST_POINTS, SHAPES, WORDS


def two_runs(table: pd.DataFrame) -> go.Figure:
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
