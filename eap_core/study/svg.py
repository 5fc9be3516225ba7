"""Small drawings as text: shapes, scales and the two colour schemes of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from string import Template
from types import MappingProxyType
from typing import Final

from eap_core.errors import printable

Points = Sequence[tuple[float, float]]

# Okabe and Ito's colours, of which each scheme takes those that stand out from its background.
LIGHT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ink": "#1b1f24",
        "quiet": "#59636e",
        "rule": "#d5dae0",
        "stripe": "#f3f5f7",
        "page": "#ffffff",
        "dot": "#9aa3ad",
        "first": "#0072B2",
        "second": "#D55E00",
        "third": "#009E73",
        "fourth": "#CC79A7",
        "fifth": "#1b1f24",
    }
)
DARK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ink": "#e9ecef",
        "quiet": "#a9b2bc",
        "rule": "#3a424b",
        "stripe": "#1c2126",
        "page": "#14181c",
        "dot": "#6f7a86",
        "first": "#56B4E9",
        "second": "#E69F00",
        "third": "#009E73",
        "fourth": "#CC79A7",
        "fifth": "#e9ecef",
    }
)
# Each line has a dash of its own: colour is never alone.
DASHES: Final[Mapping[str, str]] = MappingProxyType(
    {"second": "8 3", "third": "2 3", "fourth": "9 3 2 3", "fifth": "15 4", "quiet": "4 4"}
)
LINES: Final = ("first", *DASHES)
_MARGIN: Final = 14.0
_STYLE: Final = Template(
    "svg text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:12px;"
    "fill:$ink}svg .small{font-size:11px}svg .tiny{font-size:10px}svg .quiet{fill:$quiet}"
    "svg .strong{font-weight:650}svg .page{fill:$page}svg .stripe{fill:$stripe}"
    "svg .rule{stroke:$rule;stroke-width:1;fill:none}svg .axis{stroke:$quiet;fill:none}"
    "svg .chance{stroke:$quiet;stroke-dasharray:3 3;fill:none}svg .dot{fill:$dot}"
    "svg .group{stroke:$ink;stroke-width:4;stroke-linecap:round;fill:none}"
    "svg .best{fill:$page;stroke:$second;stroke-width:1.8}"
    "svg .best-line{stroke:$second;stroke-width:1.6;fill:none}"
    "svg .own{fill:$first}svg .own-line{stroke:$first;stroke-width:2.2;fill:none}"
)


def written(words: object) -> str:
    """Words as they may stand in markup: names are data, whatever is in them."""
    return escape(printable(str(words)), quote=True)


def number(value: float) -> str:
    """A coordinate: two decimals say enough, and the same on every machine."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")  # + 0.0: there is no -0


def element(name: str, attributes: Mapping[str, str | float], *inside: str) -> str:
    """One element; what is inside is markup already."""
    given = "".join(
        f' {key}="{number(value) if isinstance(value, int | float) else written(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{''.join(inside)}</{name}>" if inside else f"<{name}{given}/>"


def hint(words: str) -> str:
    """What a browser shows where the pointer rests."""
    return element("title", {}, written(words))


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    """Words on their baseline."""
    where: dict[str, str | float] = {"x": x, "y": y, "text-anchor": anchor}
    return element("text", where | ({"class": style} if style else {}), written(words))


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    return element("line", {"class": style, "x1": x1, "y1": y1, "x2": x2, "y2": y2})


def path(points: Points, style: str, closed: bool = False) -> str:
    """A line through all points, or the area within them."""
    steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element("path", {"class": style, "d": f"M{steps}{'Z' if closed else ''}"})


def rectangle(x: float, y: float, width: float, height: float, style: str) -> str:
    """A filled rectangle."""
    return element("rect", {"class": style, "x": x, "y": y, "width": width, "height": height})


def short(words: str, most: int) -> str:
    """Words cut to a number of characters; the whole is in a hint."""
    safe = printable(words)
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


@dataclass(frozen=True)
class Scale:
    """From values to places on the paper."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values within the scale, one, two or five apart in their last digit."""
        raw = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(i * step, 10) for i in range(first, last + 1)]


def room(names: Iterable[str], most: float) -> float:
    """How wide a column of names has to be."""
    return min(most, 16 + 6.6 * max((len(printable(name)) for name in names), default=0))


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved as little as keeps labels from covering each other, in their order."""
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    gap = min(gap, (high - low) / max(1, len(places) - 1))
    moved, floor = [0.0] * len(places), low
    for i in order:
        moved[i] = max(places[i], floor)
        floor = moved[i] + gap
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved


@dataclass(frozen=True)
class Drawing:
    """A figure with what is seen in it, in words, for those who do not see it."""

    width: float
    height: float
    title: str
    words: str
    body: tuple[str, ...]

    def inline(self, style: str = "") -> str:
        """For a page that has the style already; never so wide that letters would shout."""
        most = {"style": f"max-width:{number(1.25 * self.width)}px"}
        return self._svg({**({"class": style} if style else {}), **most}, self.body)

    def standalone(self) -> str:
        """A file of its own: with its style, and a background to be readable on any page."""
        width, height = self.width + 2 * _MARGIN, self.height + 2 * _MARGIN
        style = element("style", {}, stylesheet(LIGHT))
        body = (style, rectangle(0, 0, width, height, "page"), self.at(_MARGIN, _MARGIN))
        size: dict[str, str | float] = {"width": width, "height": height}
        framed = replace(self, width=width, height=height)
        return framed._svg({"xmlns": "http://www.w3.org/2000/svg"} | size, body) + "\n"

    def at(self, x: float, y: float) -> str:
        """As a part of a larger drawing."""
        return element("g", {"transform": f"translate({number(x)} {number(y)})"}, *self.body)

    def _svg(self, attributes: Mapping[str, str | float], body: Iterable[str]) -> str:
        box = f"0 0 {number(self.width)} {number(self.height)}"
        label = f"{self.title}. {self.words}"
        own = {"viewBox": box, "role": "img", "aria-label": label}
        return element("svg", {**attributes, **own}, hint(self.title), *body)


def stylesheet(colours: Mapping[str, str]) -> str:
    """The drawings' style in one colour scheme."""
    lines = "".join(
        f"svg .{name}-curve{{stroke:{colours[name]};stroke-width:{3 if name == 'first' else 1.8};"
        f"fill:none;stroke-linejoin:round;stroke-dasharray:{DASHES.get(name, 'none')}}}"
        f"svg .{name}-band{{fill:{colours[name]};opacity:{0.2 if name == 'first' else 0.06}}}"
        for name in LINES
    )
    return _STYLE.substitute(colours) + lines
