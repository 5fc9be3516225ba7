"""Ranks as a heat map over data sets, and as a critical-difference diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from eap_core.study import svg
from eap_core.study.auc_chart import featured
from eap_core.study.results import by_dataset, ranked
from eap_core.study.significance import Significance

# Cividis, which is read alike with any kind of colour vision, at every sixteenth.
_CIVIDIS: Final = bytes.fromhex(
    "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78"
    "8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838"
)
_HEAD, _ROW = 84.0, 24.0


def cividis(share: float) -> tuple[int, int, int]:
    """The colour at 0 (dark blue) to 1 (yellow)."""
    place = min(max(share, 0.0), 1.0) * 16
    i = min(int(place), 15)
    low, high = _CIVIDIS[3 * i : 3 * i + 3], _CIVIDIS[3 * i + 3 : 3 * i + 6]
    red, green, blue = (round(a + (b - a) * (place - i)) for a, b in zip(low, high, strict=True))
    return red, green, blue


def heat_map(whole: pd.DataFrame, track: str, narrow: bool = False) -> svg.Drawing:
    """The rank by AUC_qlt of every evaluator on every data set, and its mean, best first."""
    ranks = by_dataset(ranked(whole), track, "rAUC_qlt")
    own = featured(whole, track)
    order = [str(name) for name in ranks.mean().sort_values(kind="stable").index]
    most, width = (96.0, 360.0) if narrow else (170.0, 900.0)
    names = svg.room(map(str, ranks.index), most)
    cell = min((width - names - 30) / len(order), 54.0)
    parts = []
    for j, name in enumerate(order):
        x = names + cell * (j + 0.5)
        turned = f"translate({svg.number(x + 4)} {_HEAD - 6}) rotate(-60)"
        style = "small strong" if name == own else "small"
        parts.append(svg.element("text", {"transform": turned, "class": style}, svg.written(name)))
    rows = [(str(name), ranks.loc[name]) for name in ranks.index]
    for i, (name, values) in enumerate([*rows, ("Mean", ranks.mean())]):
        y = _HEAD + _ROW * i + (6 if i == len(rows) else 0)
        parts.append(_name(names - 6, y + 16, name, 13 if narrow else 24, i == len(rows)))
        for j, method in enumerate(order):
            where = (names + cell * j, y, cell)
            parts.append(
                _cell(where, float(values[method]), len(order), narrow, f"{name}, {method}")
            )
    height = _HEAD + _ROW * (len(rows) + 1) + 10
    words = f"Mean ranks over {len(rows)} data sets, best first: " + ", ".join(
        f"{name} {ranks[name].mean():.1f}" for name in order
    )
    return svg.Drawing(
        max(names + cell * len(order) + 30, 240),
        height,
        f"Ranks by AUC_qlt, {track}",
        f"{words}.",
        tuple(parts),
    )


def _name(x: float, y: float, name: str, most: int, strong: bool) -> str:
    style = "small strong" if strong else "small"
    where: dict[str, str | float] = {"x": x, "y": y, "text-anchor": "end", "class": style}
    return svg.element("text", where, svg.written(svg.short(name, most)), svg.hint(name))


def _cell(
    where: tuple[float, float, float], rank: float, methods: int, narrow: bool, of: str
) -> str:
    x, y, cell = where
    colour = cividis(1 - (rank - 1) / max(1, methods - 1))
    light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
    ink = "#000000" if light > 125 else "#ffffff"
    box: dict[str, str | float] = {
        "x": x,
        "y": y,
        "width": cell - 1,
        "height": _ROW - 1,
        "fill": f"rgb{colour}",
    }
    words = f"{rank:.0f}" if narrow else f"{rank:.1f}"
    label = svg.element(
        "text",
        {
            "x": x + (cell - 1) / 2,
            "y": y + 16,
            "text-anchor": "middle",
            "class": "tiny" if narrow else "small",
            "style": f"fill:{ink}",
        },
        words,
    )
    return svg.element("g", {}, svg.hint(f"{of}: rank {rank:.2f}"), svg.element("rect", box), label)


def difference_chart(found: Significance, narrow: bool = False) -> svg.Drawing:
    """Mean ranks on a line; thick bars join evaluators that are not told apart."""
    width = 370.0 if narrow else 760.0
    count, left, right = len(found.ranks), 112.0, width - 112.0
    x = svg.Scale(1, max(count, 2), left, right)
    place = dict(found.ranks)
    axis, step, bars = 62.0, 17.0, 10.0 + 8 * len(found.groups)
    parts = [svg.line(x.start, axis, x.end, axis, "axis")]
    for tick in range(1, count + 1):
        parts.append(svg.line(x(tick), axis - 5, x(tick), axis, "axis"))
        if not narrow or tick % 2:
            parts.append(svg.text(x(tick), axis - 9, str(tick), "small quiet", "middle"))
    if found.critical_difference is not None:
        parts += _ruler(x, found.critical_difference)
    parts += [
        svg.line(
            x(place[group[0]]) - 3,
            axis + 9 + 8 * i,
            x(place[group[-1]]) + 3,
            axis + 9 + 8 * i,
            "group",
        )
        for i, group in enumerate(found.groups)
    ]
    half = (count + 1) // 2
    for i, (name, rank) in enumerate(found.ranks):
        row = i if i < half else count - 1 - i
        y = axis + bars + step * (row + 1)
        parts += _leader(x, axis, y, name, rank, (left, right)[i >= half], name == found.reference)
    height = axis + bars + step * (half + 1)
    return svg.Drawing(width, height, _title(found), _told(found), tuple(parts))


def _ruler(x: svg.Scale, difference: float) -> list[str]:
    """How long the difference is that Nemenyi's test asks for."""
    end = min(x(1 + difference), x.end)
    parts = [svg.line(x(1), 22, end, 22, "axis")]
    parts += [svg.line(at, 18, at, 26, "axis") for at in (x(1), end)]
    words = f"critical difference {difference:.2f}"
    return [*parts, svg.text(x(1), 12, words, "small")]


def _leader(
    x: svg.Scale, axis: float, y: float, name: str, rank: float, side: float, strong: bool
) -> list[str]:
    outward = -1 if side == x.start else 1
    style = "own-line" if strong else "axis"
    parts = [svg.path([(x(rank), axis), (x(rank), y), (side + 4 * outward, y)], style)]
    anchor = "end" if outward < 0 else "start"
    label = f"{name} {rank:.1f}"
    weight = "small strong" if strong else "small"
    return [*parts, svg.text(side + 8 * outward, y + 4, label, weight, anchor)]


def _title(found: Significance) -> str:
    return f"Mean ranks by {found.metric} over {found.datasets} data sets, {found.track}"


def _told(found: Significance) -> str:
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in found.ranks)
    if found.critical_difference is None:
        return f"{ranks}."
    return f"{ranks}. {grouped(found.groups)}."


def grouped(groups: Sequence[Sequence[str]]) -> str:
    """The bars of the diagram in words."""
    if not groups:
        return "All are told apart"
    return "Not told apart: " + "; ".join(", ".join(group) for group in groups)
