"""The report's figures as files, for documents that show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from eap_core.study import svg
from eap_core.study.auc_chart import auc_chart, featured
from eap_core.study.curve_chart import SIDES, curves, mean_chart, shown_methods
from eap_core.study.prior_chart import prior_chart
from eap_core.study.rank_charts import difference_chart, heat_map
from eap_core.study.results import complete, summary, tracks
from eap_core.study.significance import compare


def write_figures(cells: pd.DataFrame, folder: Path) -> list[Path]:
    """One SVG per figure and track; a track without a complete experiment has none."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawing in _figures(cells):
        path = folder / f"{name}.svg"
        path.write_text(drawing.standalone(), encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _figures(cells: pd.DataFrame) -> Iterator[tuple[str, svg.Drawing]]:
    found = summary(cells)
    whole, _ = complete(cells, "evaluator")
    for track in tracks(whole):
        yield f"auc_{track}", auc_chart(whole, track)
        yield f"curves_{track}", _curves(whole, found.table, track)
        yield f"ranks_{track}", heat_map(whole, track)
        yield f"differences_{track}", difference_chart(compare(cells, track))
    for track in tracks(found.sweep.rename(columns={"data": "track"})):
        yield f"priors_{track}", prior_chart(found.sweep, track)


def _curves(whole: pd.DataFrame, table: pd.DataFrame, track: str) -> svg.Drawing:
    """Both learning curves side by side."""
    methods = shown_methods(table, track, featured(whole, track))
    panels = [mean_chart(curves(whole, track, side, methods), side, track) for side in SIDES]
    places = [sum(panel.width + 20 for panel in panels[:i]) for i in range(len(panels))]
    body = tuple(panel.at(x, 0) for panel, x in zip(panels, places, strict=True))
    width = places[-1] + panels[-1].width
    words = " ".join(f"{panel.title}. {panel.words}" for panel in panels)
    return svg.Drawing(width, panels[0].height, f"Learning curves, {track}", words, body)
