"""The map on the page: drawn, drawn around, and what is said while it is not there yet."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from eap_core import jobs
from eap_core.selection import flags_of
from ui import jobs as job_rows
from ui import map_chart, picks, session
from ui.frame import errors_said
from ui.gallery_view import View

_JOBS = ("complete", "score", "demo")


@st.fragment(key=picks.CHART)
def show(view: View) -> None:
    """The map; drawn anew when the filter or the picked cards change, not for a decision."""
    with errors_said():
        _shown(view)


def _shown(view: View) -> None:
    run = view.subject.run.id
    drawn = view.drawn(view.subject.standing())
    if drawn is None or view.places is None:
        _missing(view)
        return
    chosen = picks.of_run(run)
    key = f"map.plot.{chosen.round}"
    st.plotly_chart(
        map_chart.figure(
            drawn, flags_of(view.items, frozenset(chosen.cards)), chosen.outline, chosen.round
        ),
        key=key,
        on_select=lambda: _selected(run, key),
        config={
            "displayModeBar": True,
            "modeBarButtonsToRemove": ["autoScale2d", "toImage"],
        },
        alt=f"Map of {len(view.items):,} candidates among the normals and real anomalies, "
        "coloured by quality",
    )
    st.caption(
        "Near and far on this map are not quality: what is alike lies together, and the colour "
        "says how good it is. Draw around points to see them in the gallery; to click single "
        "points, choose Pan above the map."
    )
    rows, _ = map_chart.sampled(drawn)
    if len(rows) < len(view.items):
        st.caption(
            f"{len(rows):,} of {len(view.items):,} candidates are drawn, chosen at random; the "
            "gallery and the filter have all."
        )
    if view.places.method == "pca":
        _better_one(view)


def _selected(run: str, key: str) -> None:
    """Somebody drew around points: the gallery follows, the map stays as it is."""
    selection = cast(Any, session.widget(key))["selection"]
    # normals and rings carry no id
    items = [str(p["customdata"]) for p in selection["points"] if p.get("customdata")]
    picks.lasso(run, tuple(dict.fromkeys(items)), _outline(selection) if items else ())
    picks.redraw(picks.GALLERY)


def _outline(selection: Any) -> list[dict[str, Any]]:
    """What was drawn, as Plotly draws it again."""
    found: list[dict[str, Any]] = []
    for box in selection["box"]:
        (x0, x1), (y0, y1) = box["x"], box["y"]
        corners = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
        found.append({"type": "rect", "xref": "x", "yref": "y", **corners})
    for lasso in selection["lasso"]:
        points = "L".join(f"{x},{y}" for x, y in zip(lasso["x"], lasso["y"], strict=True))
        found.append({"type": "path", "xref": "x", "yref": "y", "path": f"M{points}Z"})
    return found


def _missing(view: View) -> None:
    job = job_rows.latest(view.subject.store, view.subject.project.id, *_JOBS)
    if job is not None and job_rows.active(job):
        st.info("The map is being made.", icon=":material/scatter_plot:")
        job_rows.progress(view.subject.store, job.id)
        return
    job_rows.outcome(job)
    st.info(
        "This scoring has no map and knows no near-duplicates: it is an older one.",
        icon=":material/scatter_plot:",
    )
    _offer(view, "Make the map")


def _better_one(view: View) -> None:
    job = job_rows.latest(view.subject.store, view.subject.project.id, *_JOBS)
    if job is not None and job_rows.active(job):
        st.caption("A quick map (PCA) is shown while the better one is computed.")
        job_rows.progress(view.subject.store, job.id)
        return
    st.caption("This is a quick map (PCA).")
    _offer(view, "Make a better map")


def _offer(view: View, label: str) -> None:
    if view.subject.changed:
        st.caption("The data have changed since this scoring: score again for a map.")
    elif st.button(label, icon=":material/scatter_plot:", key="map.make"):
        with errors_said():
            given = {"run": view.subject.run.id, "evaluators": []}
            jobs.launch(view.subject.store, "complete", given, view.subject.project.id)
            st.rerun(scope="app")
