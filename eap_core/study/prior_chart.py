"""AUC_qlt of EAP under different priors (the paper's question 5)."""

from __future__ import annotations

import pandas as pd

from eap_core.study import svg
from eap_core.study.results import in_order


def prior_chart(sweep: pd.DataFrame, track: str, width: float = 400.0) -> svg.Drawing:
    """Mean AUC_qlt over the prior's rate; a prior that differs between data sets is a level."""
    rows = sweep[sweep["data"] == track].set_index("prior")["AUC_qlt"]
    order = in_order(str(name) for name in rows.index)
    fixed = [name for name in order if _rate(name) is not None]
    levels = [name for name in order if name not in fixed]
    left, right, top, bottom = 38.0, width - 50, 26.0, 170.0
    # A tenth at least, or differences of no consequence would look like many.
    middle = (rows.min() + rows.max()) / 2
    reach = max(0.05, 0.6 * (rows.max() - rows.min()))
    x = svg.Scale(0, max([0.4, *(float(name) for name in fixed)]) * 1.03, left, right)
    y = svg.Scale(middle - reach, middle + reach, bottom, top)
    parts = []
    for tick in y.ticks(6):
        parts.append(svg.line(left, y(tick), right, y(tick), "rule"))
        parts.append(svg.text(left - 6, y(tick) + 4, f"{tick:.2f}", "small quiet", "end"))
    for tick in x.ticks(4):
        parts.append(svg.line(x(tick), bottom, x(tick), bottom + 4, "axis"))
        parts.append(svg.text(x(tick), bottom + 16, f"{tick:.1f}", "small quiet", "middle"))
    parts.append(svg.line(left, bottom, right, bottom, "axis"))
    parts.append(svg.text(0, 14, "AUC_qlt by prior", "strong"))
    words = "prior: the assumed share of anomalies"
    parts.append(svg.text((left + right) / 2, bottom + 32, words, "small quiet", "middle"))
    for name in levels:
        parts.append(svg.line(left, y(rows[name]), right, y(rows[name]), "second-curve"))
        parts.append(svg.text(right + 6, y(rows[name]) + 4, f"{name}", "small strong"))
    points = [(x(float(name)), y(rows[name])) for name in fixed]
    if points:
        parts.append(svg.path(points, "own-line"))
    for name, (px, py) in zip(fixed, points, strict=True):
        dot: dict[str, str | float] = {"class": "own", "cx": px, "cy": py, "r": 4}
        parts.append(svg.element("circle", dot, svg.hint(f"{name}: {rows[name]:.3f}")))
    told = ", ".join(f"{name} {rows[name]:.3f}" for name in order)
    return svg.Drawing(width, bottom + 40, f"AUC_qlt by prior, {track}", f"{told}.", tuple(parts))


def _rate(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None
