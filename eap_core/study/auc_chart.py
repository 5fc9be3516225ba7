"""AUC_qlt on every data set: EAP, the best other evaluator there, and all the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from eap_core.study import svg
from eap_core.study.results import EAP, by_dataset, ranked

_ROW, _TOP, _FOOT = 24.0, 62.0, 40.0


@dataclass(frozen=True)
class _Frame:
    """Where things are across a row: names, the plot, and the difference in figures."""

    width: float
    names: float
    figures: float
    letters: int

    @property
    def narrow(self) -> bool:
        return self.width < 500


_WIDE, _NARROW = _Frame(900, 170, 170, 24), _Frame(360, 96, 50, 13)


def featured(whole: pd.DataFrame, track: str) -> str:
    """EAP where it was run, otherwise the best by its ranks."""
    ranks = by_dataset(ranked(whole), track, "rAUC_qlt").mean()
    return EAP if EAP in ranks.index else str(ranks.idxmin())


def auc_chart(whole: pd.DataFrame, track: str, narrow: bool = False) -> svg.Drawing:
    """One row per data set and one for their mean, the best of EAP first."""
    own = featured(whole, track)
    found = by_dataset(whole, track, "AUC_qlt")
    frame = _NARROW if narrow else _WIDE
    frame = replace(frame, names=svg.room(map(str, found.index), frame.names))
    means = _by_name(found)
    low, high = (_by_name(by_dataset(whole, track, "AUC_qlt", how)) for how in ("min", "max"))
    names = sorted(means, key=lambda name: (-means[name][own], name))
    bottom = _TOP + _ROW * (len(names) + 1) + 6
    lowest = min(min(values.values()) for values in low.values())
    scale = svg.Scale(
        min(0.5, math.floor(lowest * 10) / 10),
        1.0,
        frame.names + 6,
        frame.width - frame.figures - 8,
    )
    parts = [*_stripes(len(names), frame), *_axis(scale, bottom), *_legend(own, frame)]
    for i, name in enumerate(names):
        spread = {method: (low[name][method], high[name][method]) for method in means[name]}
        parts += _row(frame, scale, _TOP + _ROW * (i + 0.5), name, own, means[name], spread)
    y = bottom - _ROW / 2
    parts.append(svg.line(0, y - _ROW / 2 - 3, frame.width, y - _ROW / 2 - 3, "axis"))
    overall = {str(name): float(value) for name, value in found.mean().items()}
    parts += _row(frame, scale, y, "Mean", own, overall, {})
    words = (
        f"Mean over the seeds on each of {len(names)} data sets: {own} against the best other "
        f"evaluator there. Mean of all: {own} {overall[own]:.3f}."
    )
    title = f"AUC_qlt by data set, {track}"
    return svg.Drawing(frame.width, bottom + _FOOT, title, words, tuple(parts))


def _by_name(wide: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        str(name): dict(zip(map(str, wide.columns), map(float, values), strict=True))
        for name, values in zip(wide.index, wide.to_numpy(dtype=float), strict=True)
    }


def _stripes(count: int, frame: _Frame) -> list[str]:
    return [
        svg.rectangle(0, _TOP + _ROW * i, frame.width, _ROW, "stripe") for i in range(0, count, 2)
    ]


def _axis(scale: svg.Scale, bottom: float) -> list[str]:
    parts = []
    for tick in scale.ticks(6):
        parts.append(svg.line(scale(tick), _TOP - 4, scale(tick), bottom, "rule"))
        parts.append(svg.text(scale(tick), bottom + 15, f"{tick:.1f}", "small quiet", "middle"))
    parts.append(svg.line(scale(0.5), _TOP - 4, scale(0.5), bottom, "chance"))
    middle = (scale.start + scale.end) / 2
    words = "AUC_qlt (dashed: 0.5, no better than chance)"
    return [*parts, svg.text(middle, bottom + 32, words, "small quiet", "middle")]


def _legend(own: str, frame: _Frame) -> list[str]:
    others = (10.0, 42.0) if frame.narrow else (250.0, 18.0)
    rest = (190.0, 42.0) if frame.narrow else (430.0, 18.0)
    parts = [
        svg.line(2, 14, 22, 14, "own-line"),
        _circle(12, 14, 5, "own", ""),
        svg.text(28, 18, f"{own}, lowest to highest seed"),
        svg.line(others[0] - 8, others[1] - 4, others[0] + 12, others[1] - 4, "best-line"),
        _diamond(others[0] + 2, others[1] - 4, ""),
        svg.text(others[0] + 18, others[1], "the best other there"),
        _circle(rest[0], rest[1] - 4, 3, "dot", ""),
        svg.text(rest[0] + 10, rest[1], "each of the rest"),
    ]
    words = "gap" if frame.narrow else f"{own} − best other"
    x = frame.width - frame.figures + (46 if frame.narrow else 0)
    return [*parts, svg.text(x, _TOP - 8, words, "small quiet", "end" if frame.narrow else "start")]


def _row(
    frame: _Frame,
    scale: svg.Scale,
    y: float,
    name: str,
    own: str,
    means: Mapping[str, float],
    spread: Mapping[str, tuple[float, float]],
) -> list[str]:
    others = sorted((name for name in means if name != own), key=lambda name: -means[name])
    style = "small" if spread else "small strong"
    label = svg.element(
        "text",
        {"x": frame.names, "y": y + 4, "text-anchor": "end", "class": style},
        svg.written(svg.short(name, frame.letters)),
        svg.hint(name),
    )
    dots = [
        _circle(scale(means[other]), y, 3, "dot", f"{other} {means[other]:.3f}")
        for other in others[1:]
    ]
    parts = [label, *dots]
    if others:
        best = others[0]
        parts += _whisker(scale, y + 3, spread.get(best), "best-line")
        parts.append(_diamond(scale(means[best]), y + 3, f"{best} {means[best]:.3f}"))
        parts += _gap(frame, y, means[own] - means[best], best)
    parts += _whisker(scale, y - 3, spread.get(own), "own-line")
    return [*parts, _circle(scale(means[own]), y - 3, 5, "own", f"{own} {means[own]:.3f}")]


def _whisker(
    scale: svg.Scale, y: float, spread: tuple[float, float] | None, style: str
) -> list[str]:
    if spread is None:
        return []
    return [svg.line(scale(spread[0]), y, scale(spread[1]), y, style)]


def _gap(frame: _Frame, y: float, gap: float, best: str) -> list[str]:
    x = frame.width - frame.figures + 46
    style = "small strong" if gap > 0 else "small"
    parts = [svg.text(x, y + 4, signed(gap), style, "end")]
    return parts if frame.narrow else [*parts, svg.text(x + 10, y + 4, f"vs {best}", "small quiet")]


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign, and none where nothing is left of it."""
    words = f"{abs(value):.{digits}f}"
    return words if float(words) == 0 else f"{'+' if value > 0 else '−'}{words}"


def _circle(x: float, y: float, radius: float, style: str, words: str) -> str:
    where: dict[str, str | float] = {"class": style, "cx": x, "cy": y, "r": radius}
    return svg.element("circle", where, *([svg.hint(words)] if words else []))


def _diamond(x: float, y: float, words: str) -> str:
    corners = f"M{svg.number(x)} {svg.number(y - 5)}l5 5l-5 5l-5 -5Z"
    return svg.element(
        "path", {"class": "best", "d": corners}, *([svg.hint(words)] if words else [])
    )
