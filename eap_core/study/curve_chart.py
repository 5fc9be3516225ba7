"""Learning curves: test accuracy while candidates are added best first, or worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd

from eap_core.study import svg
from eap_core.study.results import RANDOM
from eap_core.table import Floats

Side = Literal["gain", "loss"]
SIDES: Final[tuple[Side, ...]] = ("gain", "loss")
_ENDS: Final = {"gain": 1 / 3, "loss": 2 / 3}
_TITLES: Final = {
    "gain": "Test accuracy, best first: higher is better",
    "loss": "Test accuracy, worst first: lower is better",
}
_NAMES: Final = {"gain": "LC_g", "loss": "LC_p"}
_POINTS: Final = 25
_LABELS, _LEFT, _TOP, _FOOT = 98.0, 34.0, 26.0, 36.0


@dataclass(frozen=True, eq=False)
class Curves:
    """Accuracy by data set, method and share of candidates added, averaged over the seeds.

    Shares are whole candidates and so differ between data sets; here all are at the same ones.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    at: Floats
    accuracy: Floats


def curves(whole: pd.DataFrame, track: str, side: Side, methods: Sequence[str]) -> Curves:
    """The curves of some methods over complete experiments."""
    at = np.linspace(0, _ENDS[side], _POINTS)
    rows = whole[(whole["track"] == track) & whole["method"].isin(methods)]
    seeds: dict[tuple[str, str], list[Floats]] = {}
    for name, method, x, y in zip(
        rows["dataset"], rows["method"], rows[f"{side}_at"], rows[side], strict=True
    ):
        along = np.interp(at, np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        seeds.setdefault((str(name), str(method)), []).append(along)
    names = sorted({name for name, _ in seeds})
    accuracy = np.array(
        [[np.mean(seeds[name, method], axis=0) for method in methods] for name in names]
    )
    return Curves(tuple(names), tuple(methods), at, accuracy)


def shown_methods(table: pd.DataFrame, track: str, own: str) -> list[str]:
    """The featured one, the four strongest others by their ranks, and chance."""
    order = [str(name) for name in table.loc[table["data"] == track, "evaluator"]]
    others = [name for name in order if name not in (own, RANDOM)][:4]
    return [own, *others, *([RANDOM] if RANDOM in order and own != RANDOM else [])]


def mean_chart(found: Curves, side: Side, track: str) -> svg.Drawing:
    """The mean over data sets, with bands of one standard error where there are several."""
    count = len(found.datasets)
    mean = found.accuracy.mean(axis=0)
    error = (
        found.accuracy.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros_like(mean)
    )
    return _panel(found, mean, error, side, f"{_TITLES[side]}", f"{track}, {count} data sets")


def dataset_chart(found: Curves, i: int, side: Side) -> svg.Drawing:
    """The curves of one data set, averaged over its seeds."""
    mean = found.accuracy[i]
    return _panel(found, mean, np.zeros_like(mean), side, _TITLES[side], found.datasets[i], 200.0)


def _panel(
    found: Curves,
    mean: Floats,
    error: Floats,
    side: Side,
    title: str,
    of: str,
    height: float = 300.0,
    width: float = 400.0,
) -> svg.Drawing:
    right, bottom = width - _LABELS, height - _FOOT
    low, high = _range(mean - error, mean + error)
    x = svg.Scale(0, _ENDS[side], _LEFT, right)
    y = svg.Scale(low, high, bottom, _TOP)
    styles = _styles(found.methods)
    parts = [svg.text(0, 14, title, "strong"), *_grid(x, y, side)]
    if error.any():
        parts += [
            svg.path(_outline(x, y, found.at, mean[j], error[j]), f"{styles[j]}-band", closed=True)
            for j in reversed(range(len(styles)))
        ]
    labels = svg.apart([y(value) for value in mean[:, -1]], 14, _TOP + 6, bottom - 2)
    for j in reversed(range(len(styles))):
        points = [(x(a), y(v)) for a, v in zip(found.at, mean[j], strict=True)]
        ends = [(right + 2, points[-1][1]), (right + 12, labels[j])]
        parts.append(svg.path(points, f"{styles[j]}-curve"))
        parts.append(svg.path(ends, f"{styles[j]}-curve"))
        style = "small strong" if styles[j] == "first" else "small"
        parts.append(svg.text(right + 16, labels[j] + 4, found.methods[j], style))
    ends_at = ", ".join(
        f"{name} {value:.3f}" for name, value in zip(found.methods, mean[:, -1], strict=True)
    )
    words = f"Test accuracy by share of candidates added, {of}. At the end: {ends_at}."
    return svg.Drawing(width, height, title, words, tuple(parts))


def _styles(methods: Sequence[str]) -> list[str]:
    """A colour and dash for each in its order; chance is always the quiet one."""
    loud = iter(svg.LINES[:-1])
    return [svg.LINES[-1] if name == RANDOM else next(loud) for name in methods]


def _range(low: Floats, high: Floats) -> tuple[float, float]:
    """From the lowest to the highest, and never so close that noise fills the paper."""
    least, most = float(low.min()), float(high.max())
    wanted = max(most - least, 0.04) * 1.06
    middle = (least + most) / 2
    return middle - wanted / 2, middle + wanted / 2


def _grid(x: svg.Scale, y: svg.Scale, side: Side) -> list[str]:
    parts = []
    for tick in y.ticks(5):
        parts.append(svg.line(x.start, y(tick), x.end, y(tick), "rule"))
        parts.append(svg.text(x.start - 6, y(tick) + 4, f"{tick:.2f}", "small quiet", "end"))
    for tick in x.ticks(4):
        parts.append(svg.line(x(tick), y.start, x(tick), y.start + 4, "axis"))
        parts.append(svg.text(x(tick), y.start + 16, f"{tick:.0%}", "small quiet", "middle"))
    words = f"share of candidates added ({_NAMES[side]})"
    middle = (x.start + x.end) / 2
    return [
        *parts,
        svg.line(x.start, y.start, x.end, y.start, "axis"),
        svg.text(middle, y.start + 31, words, "small quiet", "middle"),
    ]


def _outline(x: svg.Scale, y: svg.Scale, at: Floats, mean: Floats, error: Floats) -> svg.Points:
    upper = [(x(a), y(v)) for a, v in zip(at, mean + error, strict=True)]
    lower = [(x(a), y(v)) for a, v in zip(at, mean - error, strict=True)]
    return [*upper, *reversed(lower)]
