"""The study's figures: drawn by matplotlib, made into SVG for a page or a file of its own."""

from __future__ import annotations

import json
import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from eap_core.base.errors import escape_controls, require
from eap_core.base.table import Floats
from eap_core.study import results
from eap_core.study.results import EXTRAS, RANDOM, SIDES, Curves, Side, Significance, by_dataset

if TYPE_CHECKING:  # it takes half a second, and most who import this module draw nothing
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

# Okabe and Ito's colours, of which each scheme takes those that stand out from its background.
_COLOURS: Final = {
    "ink": ("#1b1f24", "#e9ecef"),
    "quiet": ("#59636e", "#a9b2bc"),
    "rule": ("#d5dae0", "#3a424b"),
    "stripe": ("#f3f5f7", "#1c2126"),
    "page": ("#ffffff", "#14181c"),
    "dot": ("#9aa3ad", "#6f7a86"),
    "first": ("#0072b2", "#56b4e9"),
    "second": ("#d55e00", "#e69f00"),
    "third": ("#009e73", "#009e73"),
    "fourth": ("#cc79a7", "#cc79a7"),
}
LIGHT: Final = MappingProxyType({name: light for name, (light, _) in _COLOURS.items()})
DARK: Final = MappingProxyType({name: dark for name, (_, dark) in _COLOURS.items()})
_INK, _QUIET, _PAGE, _OWN, _BEST = (LIGHT[n] for n in ("ink", "quiet", "page", "first", "second"))
_WHITE: Final = "#fefefe"  # for letters on dark cells: the page's white is dark in the dark
# Each line has a dash of its own: colour is never alone. The last one is chance.
_DASHES: Final[tuple[tuple[str, Any], ...]] = (
    ("first", "solid"),
    ("second", (0, (8, 3))),
    ("third", (0, (2, 3))),
    ("fourth", (0, (9, 3, 2, 3))),
    ("ink", (0, (15, 4))),
    ("quiet", (0, (4, 4))),
)
_STYLE: Final[Mapping[RcKeyType, Any]] = MappingProxyType(
    {
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same places anywhere
        "font.size": 11,
        "text.color": _INK,
        "text.parse_math": False,  # a $ in a name is a $
        "text.usetex": False,
        "axes.axisbelow": True,
        "axes.edgecolor": _QUIET,
        "axes.labelcolor": _QUIET,
        "axes.spines.left": False,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "grid.color": LIGHT["rule"],
        "legend.frameon": False,
        "lines.scale_dashes": False,
        "xtick.color": _QUIET,
        "ytick.color": _QUIET,
        "ytick.major.size": 0,
    }
)
_FONTS: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_MARGIN, _ROW = 14, 24
_STEPS: Final = (1, 2, 5, 10)
_ASIDE: Final = "^vsP"  # the marks of evaluators that are not the paper's
_CURVES: Final = {
    "gain": ("Test accuracy, best first: higher is better", "LC_g"),
    "loss": ("Test accuracy, worst first: lower is better", "LC_p"),
}


@dataclass(frozen=True)
class Drawing:
    """A figure with what is seen in it, in words, for those who do not see it.

    Colours in the body are names between U+E000 and U+E001, which no printable text holds.
    """

    width: float
    height: float
    title: str
    words: str
    body: str

    def inline(self, style: str = "") -> str:
        """For a page with the colours as variables; never so wide that letters would shout."""
        look = {"class": style} if style else {}
        look["style"] = f"max-width:{1.25 * self.width:g}px"
        return self._write(look, 0, re.sub("\ue000(.*?)\ue001", r"var(--\1)", self.body))

    def standalone(self) -> str:
        """A file of its own, with a background to be readable on any page."""
        body = re.sub("\ue000(.*?)\ue001", lambda match: LIGHT[match[1]], self.body)
        corner = f'x="{-_MARGIN}" y="{-_MARGIN}" width="100%" height="100%"'
        width, height = (f"{each + 2 * _MARGIN:g}" for each in (self.width, self.height))
        size = {"xmlns": _SVG.strip("{}"), "width": width, "height": height}
        return self._write(size, _MARGIN, f'<rect {corner} fill="{_PAGE}" />{body}') + "\n"

    def _write(self, attributes: Mapping[str, str], margin: int, body: str) -> str:
        size = f"{self.width + 2 * margin:g} {self.height + 2 * margin:g}"
        own = {
            "viewBox": f"{-margin} {-margin} {size}",
            "role": "img",
            "aria-label": escape_controls(f"{self.title}. {self.words}"),
            "font-family": _FONTS,
            "stroke-linejoin": "round",
        }
        root = ET.Element("svg", {**attributes, **own})
        ET.SubElement(root, "title").text = escape_controls(self.title)
        return ET.tostring(root, encoding="unicode").replace("</svg>", f"{body}</svg>")


@contextmanager
def _blank(width: float, height: float) -> Iterator[Figure]:
    """A figure measured in pixels, in the report's style, which nothing outside is to have."""
    require("matplotlib", "study")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with warnings.catch_warnings(), rc_context({**_STYLE}):
        # The browser has fonts for letters that matplotlib's own has not.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        yield Figure((width / 72, height / 72), dpi=72, facecolor="none")


def _place(figure: Figure, left: float, top: float, right: float, bottom: float) -> Axes:
    """Axes whose sides are so many pixels from the figure's left and top."""
    width, height = figure.get_size_inches() * 72
    box = (left / width, 1 - bottom / height, (right - left) / width, (bottom - top) / height)
    return figure.add_axes(box, facecolor="none")


def _finish(figure: Figure, title: str, words: str) -> Drawing:
    """What was drawn as SVG, without what would clash with other drawings of one page."""
    from matplotlib import rc_context

    width, height = (round(float(each) * 72, 2) for each in figure.get_size_inches())
    file = BytesIO()
    # Marks are used by their ids, which no other drawing of the page may have.
    with rc_context({"svg.hashsalt": f"{title} {words} {width}"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    root = ET.fromstring(file.getvalue())
    for each in root.iter():
        _clean(each)
    body = "".join(ET.tostring(each, encoding="unicode") for each in root if each.tag == "g")
    return Drawing(width, height, title, words, body)


def _clean(element: ET.Element) -> None:
    """No namespaces, ids of marks only, colours by name, the page's font, and the hints."""
    element.tag, element.tail = element.tag.removeprefix(_SVG), None
    element.text = element.text if element.tag in ("text", "title") else None
    element.attrib.pop("clip-path", None)  # nothing is outside, and it is one more id
    name = element.attrib.pop("id", "")
    if element.tag == "path" and name:
        element.set("id", name)
    if link := element.attrib.pop(_LINK, ""):
        element.set("href", link)
    if style := element.get("style"):
        named = {value: f"\ue000{name}\ue001" for name, value in LIGHT.items()}
        style = re.sub("#[0-9a-f]{6}", lambda match: named.get(match[0], match[0]), style)
        element.set("style", re.sub("font-family: [^;]+; ", "", style))
    if name.startswith("["):  # see _hint
        marks = [e for e in element.iter() if e.tag in (f"{_SVG}use", f"{_SVG}text")]
        for mark, words in zip(marks or element, json.loads(name), strict=True):
            ET.SubElement(mark, "title").text = words


def _hint(artist: Artist, *words: str) -> None:
    """What a browser shows where the pointer rests on each mark of an artist."""
    artist.set_gid(json.dumps([escape_controls(each) for each in words]))


def _note(axes: Axes, words: str, x: float, y: float, **look: Any) -> None:
    """Words at a value of the height, so many pixels right of the axes."""
    at = axes.get_yaxis_transform()
    axes.annotate(words, (1, y), (x, 0), at, "offset points", va="center_baseline", **look)


def _name_rows(axes: Axes, places: Floats, names: Sequence[str], most: int) -> None:
    """The rows' names, cut where they are long; the last one is of all rows together."""
    axes.set_yticks(places, [shorten(name, most) for name in names], color=_INK)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        _hint(label, name)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.tick_params(length=0)
    axes.spines.bottom.set_visible(False)


def shorten(words: str, most: int) -> str:
    """Words cut to a number of characters; the whole is in a hint."""
    safe = escape_controls(words)
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


def _measure(names: Sequence[str], most: float) -> float:
    """How wide a column of names has to be."""
    return min(most, 16 + 6.6 * max(len(escape_controls(name)) for name in names))


def spread_labels(places: Sequence[float], gap: float, low: float, high: float) -> Floats:
    """The places moved as little as keeps labels from covering each other, in their order."""
    order = np.argsort(places, kind="stable")
    steps = min(gap, (high - low) / max(1, len(order) - 1)) * np.arange(len(order))
    moved = isotonic_regression(np.asarray(places)[order] - steps).x
    apart = np.empty(len(order))
    apart[order] = np.clip(moved, low, high - steps[-1]) + steps
    return apart


def format_difference(value: float, digits: int = 3) -> str:
    """A difference with its sign, and none where nothing is left of it."""
    words = f"{abs(value):.{digits}f}"
    return words if float(words) == 0 else f"{'+' if value > 0 else '−'}{words}"


def draw_auc(whole: pd.DataFrame, track: str, narrow: bool = False) -> Drawing:
    """AUC_qlt on every data set, the best of EAP first: EAP, the best other there, the rest.

    Evaluators that are not the paper's have marks of their own and are no best other.
    """
    from matplotlib.container import ErrorbarContainer
    from matplotlib.legend_handler import HandlerErrorbar

    own = results.choose_featured(whole, track)
    found = by_dataset(whole, track, "AUC_qlt").sort_values(own, ascending=False, kind="stable")
    others = [str(name) for name in found.columns if name != own]
    aside = found[[name for name in others if name in EXTRAS]]
    found = found[[own, *(name for name in others if name not in EXTRAS)]]
    extremes = [by_dataset(whole, track, "AUC_qlt", how) for how in ("min", "max")]
    # The last row is the mean of all, which has no seeds and so no spread.
    mean, low, high = (
        np.vstack([each.loc[found.index, found.columns], found.mean()])
        for each in (found, *extremes)
    )
    methods, names, count = list(found.columns), [*map(str, found.index), "Mean"], len(found)
    width, most, figures, letters = (360, 96, 50, 13) if narrow else (900, 170, 170, 24)
    left, right = _measure(names, most) + 6, width - figures - 8
    columns = 2 if narrow else 3
    top = 62 + 18 * math.ceil(aside.shape[1] / columns)  # for their lines in the key
    bottom = top + 6 + _ROW * (count + 1)
    y = np.array([*range(count), count + 0.25])
    with _blank(width, bottom + 40) as figure:
        axes = _place(figure, left, top, right, bottom)
        least = min([float(low.min()), *aside.min()])
        axes.set(xlim=(min(0.5, math.floor(least * 10) / 10), 1), ylim=(count + 0.75, -0.5))
        edges = -left / (right - left), (width - left) / (right - left)
        for i in range(0, count, 2):
            axes.axhspan(i - 0.5, i + 0.5, *edges, color=LIGHT["stripe"], lw=0, zorder=0)
        axes.axhline(count - 0.375, *edges, color=_QUIET, lw=1)
        axes.axvline(0.5, color=_QUIET, lw=1, ls=(0, (3, 3)))
        axes.grid(axis="x")
        axes.locator_params(axis="x", nbins=6, steps=_STEPS)
        axes.xaxis.set_major_formatter("{x:.1f}")
        axes.set_xlabel("AUC_qlt (dashed: 0.5, no better than chance)")
        _name_rows(axes, y, names, letters)
        _mark_methods(axes, y, methods, mean, np.abs([low - mean, high - mean]))
        _mark_aside(axes, y, aside)
        if len(methods) > 1:
            _note_gaps(axes, y, methods, mean, narrow)
        key = [entry[::-1] for entry in axes.get_legend_handles_labels()]
        look: dict[str, Any] = {"borderpad": 0, "borderaxespad": 0.2, "fontsize": 12}
        look["handler_map"] = {ErrorbarContainer: HandlerErrorbar(xerr_size=0.9)}
        figure.legend(*key, loc="upper left", ncols=columns, **look)
        words = (
            f"Mean over the seeds on each of {count} data sets: {own} against the best other "
            f"evaluator there. Mean of all: {own} {mean[-1, 0]:.3f}."
        )
        if aside.shape[1]:
            means = ", ".join(f"{name} {value:.3f}" for name, value in aside.mean().items())
            words += f" Not the paper’s: {means}."
        return _finish(figure, f"AUC_qlt by data set, {track}", words)


def _mark_methods(
    axes: Axes, y: Floats, methods: Sequence[str], mean: Floats, spread: Floats
) -> None:
    """The first evaluator over the best other over the rest, these without their spread."""
    order = np.argsort(-mean[:, 1:], axis=1, kind="stable") + 1
    best = {"fmt": "D", "ms": 7, "mew": 1.8, "mfc": _PAGE, "color": _BEST}
    own = {"fmt": "o", "ms": 9, "color": _OWN, "elinewidth": 2.2}
    series: list[tuple[str, Any, float, dict[str, Any]]] = [
        ("each of the rest", order[:, 1:], 0, {"fmt": "o", "ms": 5, "color": LIGHT["dot"]}),
        ("the best other there", order[:, :1], 1 / 8, best),
        (f"{methods[0]}, lowest to highest seed", np.zeros((len(y), 1), int), -1 / 8, own),
    ]
    for label, chosen, shift, look in series:
        if chosen.size:
            at = np.repeat(np.arange(len(y)), chosen.shape[1]), chosen.ravel()
            look |= {"xerr": spread[:, *at]} if shift else {}
            marks = axes.errorbar(mean[at], y[at[0]] + shift, label=label, **look)
            _hint(marks[0], *(f"{methods[j]} {mean[i, j]:.3f}" for i, j in zip(*at, strict=True)))


def _mark_aside(axes: Axes, y: Floats, aside: pd.DataFrame) -> None:
    """Those that are not the paper's, marked so."""
    for (name, values), mark in zip(aside.items(), cycle(_ASIDE), strict=False):
        x = [*values, values.mean()]
        look: dict[str, Any] = {"ms": 6, "mfc": "none", "color": LIGHT["third"], "ls": "none"}
        (marks,) = axes.plot(x, y, mark, label=f"{name}*", **look)
        _hint(marks, *(f"{name}, not the paper’s: {value:.3f}" for value in x))


def _note_gaps(axes: Axes, y: Floats, methods: Sequence[str], mean: Floats, narrow: bool) -> None:
    """How far the first evaluator is from the best other in each row, in figures."""
    x, ha, words = (54, "right", "gap") if narrow else (8, "left", f"{methods[0]} − best other")
    _note(axes, words, x, -0.83, ha=ha, color=_QUIET)
    for at, row in zip(y, mean, strict=True):
        best = int(np.argmax(row[1:])) + 1
        weight = "bold" if row[0] > row[best] else "normal"
        _note(axes, format_difference(row[0] - row[best]), 54, at, ha="right", weight=weight)
        if not narrow:
            _note(axes, f"vs {methods[best]}", 64, at, color=_QUIET)


def mark_extra(name: str) -> str:
    """The name, with a star where the evaluator is not the paper's."""
    return f"{name}*" if name in EXTRAS else name


def draw_curves(found: Curves, side: Side, of: str, height: float = 300) -> Drawing:
    """The mean over data sets, with bands of one standard error where there are several."""
    mean, count = found.accuracy.mean(axis=0), len(found.datasets)
    error = found.accuracy.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else 0 * mean
    title, measure = _CURVES[side]
    # Never so close that noise fills the paper.
    low, high = float((mean - error).min()), float((mean + error).max())
    half, last = max(high - low, 0.04) * 0.53, mean[:, -1]
    low, high, pixel = (low + high) / 2 - half, (low + high) / 2 + half, 2 * half / (height - 62)
    labels = spread_labels(list(last), 14 * pixel, low + 2 * pixel, high)
    loud = iter(_DASHES)
    with _blank(400, height) as figure:
        axes = _start_panel(figure, 302, height - 36, title)
        axes.set(xlim=(0, found.at[-1]), ylim=(low, high))
        axes.xaxis.set_major_formatter("{x:.0%}")
        axes.set_xlabel(f"share of candidates added ({measure})")
        for j, name in enumerate(found.methods):
            colour, dash = _DASHES[-1] if name == RANDOM else next(loud)
            width, alpha, weight = (3, 0.2, "bold") if colour == "first" else (1.8, 0.06, "normal")
            look: dict[str, Any] = {"color": LIGHT[colour], "zorder": 3 - j / 10}
            if error.any():
                edges = mean[j] - error[j], mean[j] + error[j]
                axes.fill_between(found.at, *edges, alpha=alpha, lw=0, **look)
            look |= {"ls": dash, "lw": width}
            axes.plot(found.at, mean[j], **look)
            to_label = [1.007, 1.045], [last[j], labels[j]]
            axes.plot(*to_label, transform=axes.get_yaxis_transform(), **look)
            _note(axes, mark_extra(name), 16, labels[j], weight=weight)
        ends = ", ".join(f"{n} {value:.3f}" for n, value in zip(found.methods, last, strict=True))
        words = f"Test accuracy by share of candidates added, {of}. At the end: {ends}."
        return _finish(figure, title, words)


def _start_panel(figure: Figure, right: float, bottom: float, title: str) -> Axes:
    """Axes for lines over a share, with round values along both sides."""
    axes = _place(figure, 38, 26, right, bottom)
    axes.grid(axis="y")
    axes.locator_params(nbins=6, steps=_STEPS)
    axes.yaxis.set_major_formatter("{x:.2f}")
    # A baseline within the paper whatever the browser's font: letters rise 12 pixels at most.
    figure.text(0, 1 - 14 / (72 * figure.get_figheight()), title, weight="bold", fontsize=12)
    return axes


def draw_priors(sweep: pd.DataFrame, track: str) -> Drawing:
    """Mean AUC_qlt over the prior's rate; a prior that differs between data sets is a level."""
    rows = sweep[sweep["data"] == track].set_index("prior")["AUC_qlt"]
    order = results.in_order(str(name) for name in rows.index)
    rates = {name: float(name) for name in order if name.replace(".", "", 1).isdecimal()}
    # A tenth at least, or differences of no consequence would look like many.
    middle, reach = (rows.min() + rows.max()) / 2, max(0.05, 0.6 * (rows.max() - rows.min()))
    with _blank(400, 210) as figure:
        axes = _start_panel(figure, 350, 170, "AUC_qlt by prior")
        most = 1.03 * max([0.4, *rates.values()])
        axes.set(xlim=(0, most), ylim=(middle - reach, middle + reach))
        axes.xaxis.set_major_formatter("{x:.1f}")
        axes.set_xlabel("prior: the assumed share of anomalies")
        for name in order:
            if name not in rates:
                axes.axhline(rows[name], color=_BEST, lw=1.8, ls=_DASHES[1][1])
                _note(axes, name, 6, rows[name], weight="bold")
        values = [rows[name] for name in rates]
        (line,) = axes.plot(list(rates.values()), values, "o-", color=_OWN, lw=2.2, ms=7)
        _hint(line, *(f"{name}: {rows[name]:.3f}" for name in rates))
        words = ", ".join(f"{name} {rows[name]:.3f}" for name in order)
        return _finish(figure, f"AUC_qlt by prior, {track}", f"{words}.")


def draw_ranks(whole: pd.DataFrame, track: str, narrow: bool = False) -> Drawing:
    """The rank by AUC_qlt of every evaluator on every data set, and its mean, best first."""
    from matplotlib import colormaps

    ranks = by_dataset(results.rank_experiments(whole), track, "rAUC_qlt").dropna(axis="columns")
    ranks = ranks[ranks.mean().sort_values(kind="stable").index]
    methods, names, count = list(ranks.columns), [*map(str, ranks.index), "Mean"], len(ranks)
    values, y = np.vstack([ranks, ranks.mean()]), np.array([*range(count), count + 0.25])
    width, most, letters, size, form = (
        (360, 96, 13, 10, ".0f") if narrow else (900, 170, 24, 11, ".1f")
    )
    left = _measure(names, most)
    right = left + min(width - left - 30, 54 * len(methods))
    bottom = 90 + _ROW * (count + 1)
    # A map that is read alike with any kind of colour vision; the best is yellow.
    colours = colormaps["cividis"](1 - (values - 1) / max(1, len(methods) - 1))
    pale = colours[..., :3] @ (0.299, 0.587, 0.114) > 0.49
    with _blank(max(right + 30, 240), bottom + 4) as figure:
        axes = _place(figure, left, 84, right, bottom)
        axes.set(xlim=(-0.5, len(methods) - 0.5), ylim=(count + 0.75, -0.5))
        axes.tick_params(labeltop=True, labelbottom=False)
        turned: dict[str, Any] = {"rotation": 60, "rotation_mode": "anchor", "ha": "left"}
        axes.set_xticks(range(len(methods)), methods, color=_INK, **turned)
        own = methods.index(results.choose_featured(whole, track))
        axes.get_xticklabels()[own].set_fontweight("bold")
        _name_rows(axes, y, names, letters)
        places = list(np.ndindex(values.shape))
        rows, lefts = [y[i] for i, _ in places], [j - 0.5 for _, j in places]
        fill: dict[str, Any] = {"color": colours.reshape(-1, 4), "ec": _PAGE, "lw": 1}
        for (i, j), cell in zip(places, axes.barh(rows, 1, 1, lefts, **fill), strict=True):
            look: dict[str, Any] = {"color": "#000000" if pale[i, j] else _WHITE, "fontsize": size}
            rank = f"{values[i, j]:{form}}"
            text = axes.text(j, float(y[i]), rank, ha="center", va="center_baseline", **look)
            for artist in (cell, text):
                _hint(artist, f"{names[i]}, {methods[j]}: rank {values[i, j]:.2f}")
        means = ", ".join(f"{n} {value:.1f}" for n, value in zip(methods, values[-1], strict=True))
        words = f"Mean ranks over {count} data sets, best first: {means}."
        return _finish(figure, f"Ranks by AUC_qlt, {track}", words)


def draw_differences(found: Significance, narrow: bool = False) -> Drawing:
    """Mean ranks on a line; thick bars join evaluators that are not told apart."""
    width = 370 if narrow else 760
    count, place = len(found.ranks), dict(found.ranks)
    most, half = max(count, 2), (count + 1) // 2
    pixel = (most - 1) / (width - 224)
    axis, rows = 62, 72 + 8 * len(found.groups)
    height = rows + 17 * (half + 1)
    thin: dict[str, Any] = {"color": _QUIET, "lw": 1}
    words = ", ".join(f"{name} {rank:.2f}" for name, rank in found.ranks) + "."
    with _blank(width, height) as figure:
        axes = _place(figure, 112, 0, width - 112, height)
        axes.set(xlim=(1, most), ylim=(height, 0))  # heights are pixels
        axes.axis("off")
        axes.hlines(axis, 1, most, **thin)
        axes.vlines(range(1, count + 1), axis - 5, axis, **thin)
        for tick in range(1, count + 1, 2 if narrow else 1):
            axes.text(tick, axis - 9, str(tick), ha="center", color=_QUIET)
        if found.critical_difference is not None:
            end = min(1 + found.critical_difference, most)
            axes.plot([1, 1, 1, end, end, end], [18, 26, 22, 22, 18, 26], **thin)
            axes.text(1, 12, f"critical difference {found.critical_difference:.2f}")
            words += f" {describe_groups(found.groups)}."
        for i, group in enumerate(found.groups):
            ends = [place[group[0]] - 3 * pixel, place[group[-1]] + 3 * pixel]
            look: dict[str, Any] = {"color": _INK, "lw": 4, "solid_capstyle": "round"}
            axes.plot(ends, [axis + 9 + 8 * i] * 2, **look)
        for i, (name, rank) in enumerate(found.ranks):
            left = i < half
            y = rows + 17 * ((i if left else count - 1 - i) + 1)
            side, out, ha = (1, -4 * pixel, "right") if left else (most, 4 * pixel, "left")
            own = name == found.reference
            look = {"color": _OWN, "lw": 2.2} if own else thin
            axes.plot([rank, rank, side + out], [axis, y, y], **look)
            look = {"ha": ha, "va": "center_baseline", "weight": "bold" if own else "normal"}
            axes.text(side + 2 * out, y, f"{name} {rank:.1f}", **look)
        title = f"Mean ranks by {found.metric} over {found.datasets} data sets, {found.track}"
        return _finish(figure, title, words)


def describe_groups(groups: Sequence[Sequence[str]]) -> str:
    """The bars of the diagram in words."""
    if not groups:
        return "All are told apart"
    return "Not told apart: " + "; ".join(", ".join(group) for group in groups)


def write_figures(cells: pd.DataFrame, folder: Path) -> list[Path]:
    """One SVG per figure and track; a track without a complete experiment has none."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, drawing in _draw_all(cells):
        paths.append(folder / f"{name}.svg")
        paths[-1].write_text(drawing.standalone(), encoding="utf-8", newline="\n")
    return paths


def _draw_all(cells: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    found = results.summarise(cells)
    whole, _ = results.complete_experiments(cells, "evaluator")
    for track in results.tracks(whole):
        own = results.choose_featured(whole, track)
        methods = results.choose_methods(found.table, track, own)
        yield f"auc_{track}", draw_auc(whole, track)
        if results.has_curves(whole):
            both = {side: results.average_curves(whole, track, side, methods) for side in SIDES}
            panels = [draw_curves(each, side, each.over(track)) for side, each in both.items()]
            yield f"curves_{track}", _join(panels, f"Learning curves, {track}")
        test = results.compare_evaluators(cells, track)
        if test.ranks:
            yield f"ranks_{track}", draw_ranks(whole, track)
            yield f"differences_{track}", draw_differences(test)
    for track in results.tracks(found.sweep.rename(columns={"data": "track"})):
        yield f"priors_{track}", draw_priors(found.sweep, track)


def _join(panels: Sequence[Drawing], title: str) -> Drawing:
    """Drawings of one size side by side."""
    step = panels[0].width + 20
    moved = (f'<g transform="translate({i * step:g} 0)">{p.body}</g>' for i, p in enumerate(panels))
    words = " ".join(f"{panel.title}. {panel.words}" for panel in panels)
    return Drawing(step * len(panels) - 20, panels[0].height, title, words, "".join(moved))
