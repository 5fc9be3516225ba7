"""The picture of what will be exported; nothing here knows Streamlit."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from eap_core.export.selection import Settled

Outcomes = Mapping[str, Settled]
_EVERYTHING = "all candidates"
_MOST_GROUPS = 12


@dataclass(frozen=True)
class _Part:
    """One kind of outcome: words, colour (Okabe and Ito's) and pattern say the same."""

    words: str
    colour: str
    pattern: str


PARTS: Mapping[Settled, _Part] = {
    Settled("accepted", "reviewer"): _Part("accepted by reviewers", "#009E73", ""),
    Settled("accepted", "rule"): _Part("accepted by score", "#56B4E9", "/"),
    Settled("rejected", "reviewer"): _Part("rejected", "#D55E00", "x"),
    Settled("undecided", ""): _Part("undecided", "#BBBBBB", "."),
}


def shares(settled: Outcomes, groups: Mapping[str, str]) -> go.Figure:
    """One bar for all candidates, and one for each group of them, by outcome."""
    lines = _lines(settled, groups)
    names = list(lines)
    figure = go.Figure()
    for outcome, part in PARTS.items():
        counts = [lines[name][outcome] for name in names]
        if not any(counts):
            continue
        totals = [lines[name].total() for name in names]
        figure.add_bar(
            x=[100 * n / total for n, total in zip(counts, totals, strict=True)],
            y=[html.escape(name) for name in names],
            orientation="h",
            name=part.words,
            text=[f"{n:,}" if n else "" for n in counts],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "#000000", "size": 14},
            customdata=totals,
            marker={
                "color": part.colour,
                "pattern": {
                    "shape": part.pattern,
                    "fillmode": "overlay",
                    "fgcolor": "#FFFFFF",
                    "fgopacity": 0.6,
                    "size": 7,
                    "solidity": 0.25,
                },
            },
            hovertemplate="%{text} of %{customdata}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        barmode="stack",
        height=70 + 34 * len(names),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
        xaxis={"visible": False, "range": [0, 100]},
        yaxis={"autorange": "reversed", "automargin": True, "ticksuffix": "  "},
    )
    return figure


def in_words(settled: Outcomes) -> str:
    """What the picture shows, for whoever does not see it."""
    counts = Counter(settled.values())
    told = ", ".join(f"{counts[each]:,} {part.words}" for each, part in PARTS.items())
    return f"Of {len(settled):,} candidates: {told}"


def _lines(settled: Outcomes, groups: Mapping[str, str]) -> dict[str, Counter[Settled]]:
    """The largest groups first; the smallest ones together where there are many."""
    lines = {_EVERYTHING: Counter(settled.values())}
    sizes = Counter(groups[item] for item in settled if item in groups)
    largest = [name for name, _ in sizes.most_common(_MOST_GROUPS)]
    for item, each in settled.items():
        if item in groups:
            name = groups[item] if groups[item] in largest else "others"
            lines.setdefault(_label(name), Counter())[each] += 1
    ordered: Sequence[str] = sorted(lines, key=lambda name: -lines[name].total())
    others = [name for name in ordered if name != _EVERYTHING]
    return {name: lines[name] for name in (_EVERYTHING, *others)}


def _label(name: str) -> str:
    text = name or "not named"
    return text if len(text) <= 30 else f"{text[:29]}…"
