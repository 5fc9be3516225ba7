"""The scores of a project's current run: which candidates are worth keeping, and why."""

import pandas as pd
import streamlit as st

from eap_core.explain import explain
from eap_core.health.finding import Finding
from eap_core.projects.state import state_of
from eap_core.store import runs
from eap_core.store.projects import Project
from eap_core.writers import csv_text
from ui import cached, charts, frame, health, session, side_by_side, store
from ui.words import plain


def nothing_yet() -> None:
    st.title("Scores", anchor=False)
    st.info("There are no scores yet. Choose a project or a demo, and score it there.")
    st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")


def scores(project: Project, run: runs.Run) -> None:
    table = cached.scores(run.id, state_of(opened, project.id), runs.score_names(opened, run.id))
    st.title(plain(project.name), anchor=False)
    st.markdown(f"{len(table):,} candidates, each judged by its own features, not by the others.")
    if changed(project, run):
        st.warning(
            "The data have changed since this scoring. Score again to judge all candidates.",
            icon=":material/update:",
        )
        st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")
    with st.container(horizontal=True):
        for category, words in charts.WORDS.items():
            count = int((table["category"] == category).sum())
            st.metric(words.capitalize(), f"{count} of {len(table)}", border=True, width=165)
    for record in run.findings:
        health.one(Finding.from_record(dict(record)))
    group = next((name for name in ("generator", "defect_type") if name in table), None)
    st.subheader("Quality", anchor=False)
    st.plotly_chart(
        charts.by_group(table if group else table.assign(all=""), group or "all"),
        config={"displayModeBar": False},
        alt="Each candidate by quality percentile, one line per group, category by shape",
    )
    chosen = candidates(table, group)
    if chosen is None:
        st.info("Choose a candidate in the table to see why it has its score.")
    else:
        why(project, run, table, chosen)


def changed(project: Project, run: runs.Run) -> bool:
    """Whether files were added or removed since the run."""
    return run.settings.get("state") != state_of(opened, project.id)


def candidates(table: pd.DataFrame, group: str | None) -> str | None:
    """All candidates, best first; the one that is chosen."""
    st.subheader("Candidates", anchor=False)
    shown = table[["id", *([group] if group else []), "percentile", "category", "p_y", "covered"]]
    chosen = st.dataframe(
        shown.assign(
            category=shown["category"].map(charts.WORDS),
            p_y=100 * shown["p_y"],
            covered=100 * shown["covered"],
        ),
        hide_index=True,
        height=320,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        column_config={
            "id": "Candidate",
            "generator": "Generator",
            "defect_type": "Defect type",
            "percentile": st.column_config.ProgressColumn(
                "Quality percentile", min_value=0, max_value=100, format="%.0f"
            ),
            "category": "Category",
            "p_y": st.column_config.NumberColumn("Looks anomalous", format="%.0f %%"),
            "covered": st.column_config.NumberColumn("Within the data's reach", format="%.0f %%"),
        },
        key="score.table",
        alt="All candidates, best first",
    )
    st.download_button(
        "Download all scores (CSV)",
        csv_text(table.drop(columns="item")),
        "scores.csv",
        "text/csv",
        icon=":material/download:",
    )
    rows = chosen["selection"]["rows"]
    return str(table["id"].iloc[rows[0]]) if rows else None


def why(project: Project, run: runs.Run, table: pd.DataFrame, candidate: str) -> None:
    st.subheader("Why this score", anchor=False)
    rests_on = None if changed(project, run) else cached.evidence(run.id)
    if rests_on is None:
        st.info("This can be said again after the next scoring: the data have changed.")
        return
    problem, evidence, plan = rests_on
    found = explain(problem, evidence, plan.settings, candidate, plan.belief)
    st.text(f"{found.id} — {charts.WORDS[found.category]}")
    st.markdown(found.sentence)
    if project.kind == "images":
        side_by_side.show(opened, project.id, found)
    st.plotly_chart(
        charts.made_of(found, best=float(table["eap"].max())),
        config={"displayModeBar": False},
        alt=f"Score {found.eap:.2f}: evidence {found.weight * found.p_y:.2f}, rest prior belief",
    )
    if project.kind == "table":
        nearest = ", ".join(neighbour.id for neighbour in found.nearest_normals)
        st.text(f"Nearest normals: {nearest}")


session.current()
opened = store.opened()
with frame.errors_said():
    shown = frame.chosen_project(opened)
    if shown is None or shown.current_run is None:
        nothing_yet()
    else:
        scores(shown, runs.by_id(opened, shown.current_run))
