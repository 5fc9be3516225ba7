"""The demo's scores: which candidates are worth keeping, and why."""

import streamlit as st

from eap_core.explain import explain
from eap_core.settings import AUTHORS
from eap_core.writers import csv_text
from ui import cached, charts, session

session.current()
problem, extras = cached.demo_problem()
frame, evidence = cached.scored(problem, seed=0)
frame = frame.assign(**{name: list(values) for name, values in extras.items()})

st.title("Which synthetic anomalies are worth keeping?")
st.markdown(
    f"Demo: {len(frame)} made-up tumour measurements from four generators, scored against "
    f"{len(problem.normals)} benign samples and {problem.m} real malignant ones."
)
with st.container(horizontal=True):
    for category, words in charts.WORDS.items():
        count = int((frame["category"] == category).sum())
        st.metric(words.capitalize(), f"{count} of {len(frame)}", border=True, width=165)

st.subheader("Quality by generator")
st.plotly_chart(
    charts.by_group(frame, "generator"),
    config={"displayModeBar": False},
    alt="Each candidate by quality percentile, one line per generator, category by shape",
)

st.subheader("Candidates")
chosen = st.dataframe(
    frame.sort_values("rank")[["id", "generator", "percentile", "category", "p_y", "covered"]],
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
    csv_text(frame),
    "scores.csv",
    "text/csv",
    icon=":material/download:",
)

rows = chosen["selection"]["rows"]
if not rows:
    st.info("Choose a candidate in the table to see why it has its score.")
    st.stop()
candidate = frame.sort_values("rank")["id"].iloc[rows[0]]
found = explain(problem, evidence, AUTHORS, candidate)
st.subheader("Why this score", anchor=False)
st.text(f"{found.id} — {charts.WORDS[found.category]}")
st.markdown(found.sentence)
st.plotly_chart(
    charts.made_of(found, best=float(frame["eap"].max())),
    config={"displayModeBar": False},
    alt=f"Score {found.eap:.2f}: evidence {found.weight * found.p_y:.2f}, rest prior belief",
)
nearest = ", ".join(neighbour.id for neighbour in found.nearest_normals)
st.text(f"Nearest normal samples: {nearest}")
