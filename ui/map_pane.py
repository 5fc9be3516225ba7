"""The map on the page: drawn, drawn around, and what is said while it is not there yet."""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

import streamlit as st

from eap_core.jobs import CompletionJob, DemoJob, ScoringJob, launch
from eap_core.review import Verdict
from eap_core.review.queue import AboveLine, Mixture, count_above, flags_of
from ui import batches, frame, map_chart, map_selection, session
from ui import jobs as job_rows
from ui.frame import show_errors
from ui.map_selection import View
from ui.text import escape_markdown

_JOBS = (CompletionJob, ScoringJob, DemoJob)


@st.fragment(key=map_selection.CHART)
def show_map(view: View) -> None:
    """The map; drawn anew when the filter or the picked cards change, not for a decision."""
    with show_errors():
        _show_map(view)


def _show_map(view: View) -> None:
    run = view.subject.run.id
    drawn = view.drawn(view.subject.standing())
    if drawn is None or view.places is None:
        _explain_missing(view)
        return
    chosen = map_selection.selection_of(run)
    key = f"map.plot.{chosen.round}"
    st.plotly_chart(
        map_chart.draw_map(
            drawn, flags_of(view.items, frozenset(chosen.cards)), chosen.outline, chosen.round
        ),
        key=key,
        on_select=lambda: _receive_lasso(run, key),
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
    rows, _ = map_chart.sample_rows(drawn)
    if len(rows) < len(view.items):
        st.caption(
            f"{len(rows):,} of {len(view.items):,} candidates are drawn, chosen at random; the "
            "gallery and the filter have all."
        )
    if view.places.method == "pca":
        _better_one(view)


def _receive_lasso(run: str, key: str) -> None:
    """Somebody drew around points: the gallery follows, the map stays as it is."""
    selection = cast(Any, session.widget(key))["selection"]
    # normals and rings carry no id
    items = [str(p["customdata"]) for p in selection["points"] if p.get("customdata")]
    map_selection.select_by_lasso(
        run, tuple(dict.fromkeys(items)), _outline(selection) if items else ()
    )
    map_selection.redraw_map(map_selection.GALLERY)


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


def _explain_missing(view: View) -> None:
    job = job_rows.latest_job(view.subject.store, view.subject.project.id, *_JOBS)
    if job is not None and job_rows.active_job(job):
        st.info("The map is being made.", icon=":material/scatter_plot:")
        job_rows.show_progress(view.subject.store, job.id)
        return
    job_rows.show_outcome(job)
    st.info(
        "This scoring has no map and knows no near-duplicates: it is an older one.",
        icon=":material/scatter_plot:",
    )
    _offer(view, "Make the map")


def _better_one(view: View) -> None:
    job = job_rows.latest_job(view.subject.store, view.subject.project.id, *_JOBS)
    if job is not None and job_rows.active_job(job):
        st.caption("A quick map (PCA) is shown while the better one is computed.")
        job_rows.show_progress(view.subject.store, job.id)
        return
    st.caption("This is a quick map (PCA).")
    _offer(view, "Make a better map")


def _offer(view: View, label: str) -> None:
    if view.subject.changed:
        st.caption("The data have changed since this scoring: score again for a map.")
    elif st.button(label, icon=":material/scatter_plot:", key="map.make"):
        with show_errors():
            missing = CompletionJob(view.subject.run.id)
            launch(view.subject.store, missing, view.subject.project.id)
            st.rerun(scope="app")


# The slider that says what accepting from a percentile would mean.

DOUBT = "Fewer than half of them are realistic: look at them before accepting."
_KINDS = {"defect_type": "defect types", "generator": "generators"}


@st.fragment(key=map_selection.HEAD)
def show_threshold(view: View) -> None:
    """How the review stands, and the threshold; a decision draws both anew."""
    with frame.show_errors():
        _show_slider(view)


def _show_slider(view: View) -> None:
    standing = view.subject.standing()
    frame.show_status(view.subject.project, standing, view.items)
    left, middle, right = st.columns([3, 6, 2], vertical_alignment="center", gap="medium")
    percentile = left.slider(
        "Accept from percentile", 0, 100, 80, key="threshold", bind="query-params"
    )
    found = count_above(view.subject.table, percentile, standing.states, view.twins, view.group)
    text = threshold_words(percentile, found, view.insight is not None)
    if found.mixture.doubtful:
        middle.warning(f"{text} {DOUBT}", icon=":material/warning:")
    else:
        middle.markdown(text)
    accept: Verdict = "accept"
    count = len(found.undecided)
    right.button(
        f"Accept these {count:,}" if count else "Accept these",
        icon=":material/done_all:",
        key="map.accept_above",
        help="Accepts those that are not decided yet; decisions already made stay.",
        disabled=not count,
        on_click=batches.decide,
        args=(view, found.undecided, accept, standing.seq, str(uuid4())),
    )


def mixture_words(found: Mixture) -> str:
    """How many are of each category, in words."""
    looks = "looks" if found.looks_normal == 1 else "look"
    return (
        f"{found.realistic:,} realistic, {found.looks_normal:,} {looks} normal, "
        f"{found.too_far:,} too far from the data"
    )


def threshold_words(percentile: float, found: AboveLine, twins_known: bool) -> str:
    """What the threshold would accept, in one sentence."""
    count = len(found.items)
    noun = "candidate" if count == 1 else "candidates"
    parts = [mixture_words(found.mixture)]
    if twins_known:
        parts.append(f"{found.twins:,} near-duplicate{'' if found.twins == 1 else 's'}")
    parts += [f"{found.rejected:,} already rejected", f"{found.accepted:,} already accepted"]
    text = f"Accept from percentile {percentile:.0f}: **{count:,}** {noun}"
    text += f", of which {', '.join(parts)}"
    if found.group:
        kinds = _KINDS.get(found.group, f"values of {escape_markdown(found.group)}")
        text += f"; {found.kinds:,} of {found.all_kinds:,} {kinds} covered"
    return f"{text}."
