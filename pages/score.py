"""The scores of a project's current run: which candidates are worth keeping, and why."""

import streamlit as st

from eap_core.explain import explain
from eap_core.health.finding import Finding
from eap_core.store import runs
from eap_core.writers import csv_text
from ui import cached, charts, frame, health, session, store
from ui.words import plain

session.current()
opened = store.opened()
project = frame.chosen_project(opened)
if project is None or project.current_run is None:
    st.title("Scores")
    st.info("There are no scores yet. Choose a project or a demo, and score it there.")
    st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")
    st.stop()
run = runs.by_id(opened, project.current_run)
table = cached.scores(run.id)
group = next((name for name in ("generator", "defect_type") if name in table), None)

st.title(plain(project.name))
st.markdown(f"{len(table):,} candidates, each judged by its own features, not by the others.")
with st.container(horizontal=True):
    for category, words in charts.WORDS.items():
        count = int((table["category"] == category).sum())
        st.metric(words.capitalize(), f"{count} of {len(table)}", border=True, width=165)

for record in run.findings:
    health.one(Finding.from_record(dict(record)))

st.subheader("Quality", anchor=False)
st.plotly_chart(
    charts.by_group(table if group else table.assign(all=""), group or "all"),
    config={"displayModeBar": False},
    alt="Each candidate by quality percentile, one line per group, category by shape",
)

st.subheader("Candidates")
chosen = st.dataframe(
    table[["id", *([group] if group else []), "percentile", "category", "p_y", "covered"]],
    hide_index=True,
    height=320,
    on_select="rerun",
    selection_mode="single-row",
    selection_default={"selection": {"rows": [0]}},
    column_config={
        "id": "Candidate",
        "generator": "Generator",
        "percentile": st.column_config.ProgressColumn(
            "Quality percentile", min_value=0, max_value=100, format="%.0f"
        ),
        "category": "Category",
        "p_y": st.column_config.NumberColumn("Looks anomalous", format="percent"),
        "covered": st.column_config.NumberColumn("Within the data's reach", format="percent"),
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
if not rows:
    st.info("Choose a candidate in the table to see why it has its score.")
    st.stop()
candidate = table["id"].iloc[rows[0]]
rests_on = cached.evidence(run.id)
if rests_on is None:
    st.info("The project's data have changed since this run. Score again to see why.")
    st.stop()
problem, evidence, plan = rests_on
found = explain(problem, evidence, plan.settings, candidate, plan.belief)
st.subheader("Why this score", anchor=False)
st.text(f"{found.id} — {charts.WORDS[found.category]}")
st.markdown(found.sentence)
st.plotly_chart(
    charts.made_of(found, best=float(table["eap"].max())),
    config={"displayModeBar": False},
    alt=f"Score {found.eap:.2f}: evidence {found.weight * found.p_y:.2f}, rest prior belief",
)
nearest = ", ".join(neighbour.id for neighbour in found.nearest_normals)
st.text(f"Nearest normals: {nearest}")
