"""Starting a run, its results, and all runs: which candidates are worth keeping, and why."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from eap_core.analysis import Plan
from eap_core.base.files import csv_text
from eap_core.health import Finding
from eap_core.health.rows import OF_EAP
from eap_core.project.results import PARTS
from eap_core.project.run import lacking_of
from eap_core.store.projects import Kind, Project
from ui import (
    cached,
    charts,
    clip_form,
    files,
    frame,
    health,
    runs,
    score_form,
    session,
    text,
    trust,
    why,
)
from ui.scored_project import ScoredProject, current_project
from ui.text import shorten

_MARKS = {"realistic": "●", "indistinguishable": "■", "unrealistic": "▲"}
_GROUPS = ("generator", "defect_type")


def no_project() -> None:
    st.title("Scores", anchor=False)
    st.info("There are no scores yet. Choose a project or a demo first.", icon=":material/info:")
    st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")


def one_project(project: Project) -> None:
    found = current_project() if project.current_run else None
    if found is None:
        st.title("Score the candidates", anchor=False)
        st.markdown(
            "Each candidate is judged by its own features: does it look anomalous, and do the "
            "normal data reach as far as where it lies?"
        )
    else:
        found.status()
        st.title("Scores", anchor=False)
    job = score_form.scoring_job(opened, project.id)
    if job is not None:
        score_form.show_scoring(opened, project, job)
    if found is not None:
        results(found, busy=job is not None)
        st.subheader("Score again", anchor=False)
    if job is None:
        score_form.show_start(opened, project, found.run if found else None)
    elif found is not None:
        st.caption("Possible when the scoring under way has ended or is cancelled.")
    runs.show_runs(opened, project)


def results(found: ScoredProject, busy: bool) -> None:
    table = found.table
    if found.changed:
        st.warning(
            "The data have changed since this scoring. Score again (below) to judge all "
            "candidates.",
            icon=":material/update:",
        )
    if table.empty:
        st.info("None of the scored candidates is in the project any more.")
        return
    score_form.choose_score(found)
    with st.container(horizontal=True):
        for category, words in charts.WORDS.items():
            count = int((table["category"] == category).sum())
            st.metric(words.capitalize(), f"{count:,} of {len(table):,}", border=True, width=165)
    trust.show_trust(found, busy)
    findings(found, busy)
    quality(table)
    next_steps()
    chosen = candidates(table, found.project.kind)
    if chosen is None:
        st.info("Choose a candidate in the table to see why it has its score.")
    else:
        st.subheader("Why this score", anchor=False)
        why.show_why(found, chosen)


def findings(found: ScoredProject, busy: bool) -> None:
    """What the run says of itself, and which methods it lacks."""
    for record in found.run.findings:
        finding = Finding.from_record(dict(record))
        if finding.code == "other-features":
            asked = Plan.from_record(dict(found.run.settings))
            why_not = lacking_of(found.run)
            clip_form.show_fallback(found.project.name, asked, finding, why_not)
        elif found.chosen != "eap" and finding.code in OF_EAP:
            health.show_finding(replace(finding, what=f"By EAP: {finding.what}"))
        else:
            health.show_finding(finding)
    known = text.find_methods(opened, found.run)
    lacking = (*known.missing, *known.failed)
    if not lacking or busy or found.changed:
        return
    if known.missing:  # those that failed are told above, each with why
        listed = text.list_methods(known.missing)
        st.info(f"Not computed: {listed}.", icon=":material/playlist_add:")
    score_form.launch_missing(opened, found.run, lacking, "score.complete")


def quality(table: pd.DataFrame) -> None:
    group = next((name for name in _GROUPS if name in table), None)
    st.subheader("Quality", anchor=False)
    st.plotly_chart(
        charts.group_bars(table if group else table.assign(all=""), group or "all"),
        config={"displayModeBar": False},
        alt="Each candidate by quality percentile, one line per group, category by shape",
    )
    st.caption(
        "The category says what a candidate is; the percentile also counts how much the data say "
        "about it. A realistic one of which they say little ranks low."
    )


def next_steps() -> None:
    with st.container(horizontal=True):
        st.page_link("pages/review.py", label="Review them", icon=":material/rate_review:")
        st.page_link("pages/map.py", label="See all on the map", icon=":material/scatter_plot:")


def candidates(table: pd.DataFrame, kind: Kind) -> str | None:
    """All candidates, best first; the item that is chosen."""
    st.subheader("Candidates", anchor=False)
    groups = [name for name in _GROUPS if name in table]
    shown = table[["id", "category", "percentile", *groups, "looks", "support"]]
    chosen = st.dataframe(
        shown.assign(
            id=shorten(table["id"].tolist(), kind),
            category=[f"{_MARKS[name]} {charts.WORDS[name]}" for name in shown["category"]],
            looks=100 * shown["looks"],
            support=100 * shown["support"],
        ),
        hide_index=True,
        height=320,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        column_config={
            "id": st.column_config.TextColumn("Candidate", width=115),
            "category": st.column_config.TextColumn("Category", width=115),
            "percentile": st.column_config.ProgressColumn(
                "Percentile", min_value=0, max_value=100, format="%.0f", width=90
            ),
            "generator": "Generator",
            "defect_type": "Defect type",
            "looks": st.column_config.NumberColumn("Looks anomalous", format="%.0f %%"),
            "support": st.column_config.NumberColumn("Evidence", format="%.0f %%"),
        },
        key="score.table",
        alt="All candidates, best first",
    )
    address = files.offer_download(
        "score", lambda: csv_text(table.drop(columns=["item", *PARTS])), "scores.csv"
    )
    files.show_link("Download all scores (CSV)", address, "score.download")
    rows = [row for row in chosen["selection"]["rows"] if row < len(table)]
    return str(table["item"].iloc[rows[0]]) if rows else None


session.current()
opened = cached.shared_store()
with frame.show_errors():
    shown = frame.chosen_project(opened)
    if shown is None:
        no_project()
    else:
        one_project(shown)
