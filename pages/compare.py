"""How the methods agree, how good each is here, and the candidates they dispute."""

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.projects.results import evaluator_columns
from eap_core.ranking import percentiles
from eap_core.store import runs
from eap_core.store.projects import Kind
from eap_core.writers import csv_text
from ui import (
    cached,
    compare_charts,
    disputed,
    downloads,
    frame,
    methods,
    scoring_form,
    session,
    truth,
)
from ui.names import short
from ui.subject import Subject, subject

_BARE = {"displayModeBar": False}


def page(found: Subject) -> None:
    found.status()
    st.title("Compare the methods", anchor=False)
    st.markdown(
        "Other methods judge the same candidates in other ways. Where they agree, trust is "
        "cheap; where they do not, look yourself."
    )
    progress(found)
    columns = evaluator_columns(found.table)
    if len(found.table) < 2:
        st.info("At least two candidates are needed to compare orders.", icon=":material/info:")
        return
    if len(columns) < 2:
        st.info("Only EAP is there so far: nothing to compare it with.", icon=":material/info:")
        return
    left, right = st.columns(2, gap="large")
    with left:
        agreement(found, columns)
    with right:
        how_good(found, columns)
    st.subheader("Where the methods disagree", anchor=False)
    disputed.show(found, columns)
    all_scores(found.table, columns, found.project.kind)


def progress(found: Subject) -> None:
    """What is coming, or what could still be computed."""
    store, run = found.store, found.run
    job = scoring_form.under_way(store, found.project.id)
    if job is not None:
        scoring_form.show_progress(store, found.project, job, runs.score_names(store, run.id))
        return
    known = methods.methods_of(store, run)
    lacking = tuple(name for name in methods.OTHERS if name not in known.there)
    if not lacking:
        return
    listed = ", ".join(methods.WORDS[name] for name in lacking)
    st.caption(f"Not computed for this run: {listed}.")
    if found.changed:
        st.warning("The data have changed since this scoring: score again to have them all.")
        st.page_link("pages/score.py", label="Score again", icon=":material/speed:")
    else:
        scoring_form.complete(store, run, lacking, "compare.complete")


def agreement(found: Subject, columns: list[str]) -> None:
    st.subheader("How alike are the methods?", anchor=False)
    compared = cached.comparison(found.run.id, found.state, runs.score_names(opened, found.run.id))
    names = list(compared.names)
    order = compare_charts.like_eap(names, compared.correlation)
    eap, nearest, farthest = order[0], order[1], order[-1]
    st.markdown(
        f"**{methods.words(names[nearest])}** ranks most like EAP "
        f"({compared.correlation[eap, nearest]:.2f}), **{methods.words(names[farthest])}** least "
        f"({compared.correlation[eap, farthest]:.2f}). 1 is the same order, 0 unrelated, "
        "−1 the reverse."
    )
    st.plotly_chart(
        compare_charts.matrix(names, compared.correlation),
        config=_BARE,
        alt="Rank correlation of every pair of methods; with EAP: "
        + ", ".join(
            f"{methods.words(names[i])} {compared.correlation[eap, i]:.2f}" for i in order[1:]
        ),
        key="compare.matrix",
    )
    alike = [methods.words(name) for name in columns if found.table[name].nunique() == 1]
    if alike:
        st.caption(f"{', '.join(alike)}: all candidates have the same score here.")
    with st.expander("What each method looks at", icon=":material/help:"):
        st.markdown(
            "\n".join(f"- {methods.explained(methods.OF_COLUMN[column])}" for column in columns)
        )


def how_good(found: Subject, columns: list[str]) -> None:
    st.subheader("How good is each method here?", anchor=False)
    known = truth.judgements(found.candidates, found.items, found.standing().states)
    if not known:
        or_else = ", or add a metadata.csv in which a column named good says yes or no"
        st.info(
            "To tell, accept some candidates and reject some in the review"
            + (f"{or_else}." if found.project.kind == "images" else "."),
            icon=":material/info:",
        )
        st.page_link("pages/review.py", label="Go to the review", icon=":material/rate_review:")
        return
    judged = known[0]
    if len(known) > 1:
        by = st.segmented_control(
            "Judged by", [one.by for one in known], default=judged.by, key="compare.by",
            required=True,
        )  # fmt: skip
        judged = next(one for one in known if one.by == by)
    good, other = judged.counts
    st.markdown(
        f"By {judged.by}: {good:,} good and {other:,} others. Each bar tells how often a method "
        "puts a good one above another; the thin line, how far chance may reach."
    )
    if min(good, other) < truth.FEW:
        st.warning(
            f"Fewer than {truth.FEW} of one kind: this may well be chance.",
            icon=":material/casino:",
        )
    if judged.by == "the decisions":
        st.caption("Decisions made with the score in sight favour EAP; the blind review does not.")
    bars = truth.quality(found.table, columns, judged)
    st.plotly_chart(
        compare_charts.quality_bars(bars),
        config=_BARE,
        alt="Good candidates placed above others: "
        + ", ".join(f"{methods.words(one.column)} {one.auc:.0%}" for one in bars),
        key="compare.quality",
    )


def all_scores(table: pd.DataFrame, columns: list[str], kind: Kind) -> None:
    st.subheader("All scores", anchor=False)
    raw = st.toggle("Scores as computed instead of percentiles", key="compare.raw")
    shown = table[["id", *columns]]
    if not raw:
        shown = shown.assign(
            **{name: percentiles(shown[name].to_numpy(np.float64)) for name in columns}
        )
    st.dataframe(
        shown.assign(id=short(shown["id"].tolist(), kind)),
        hide_index=True,
        height=320,
        column_config={
            "id": st.column_config.TextColumn("Candidate", pinned=True, width=115),
            **{
                name: st.column_config.NumberColumn(
                    methods.words(name),
                    help=methods.explained(methods.OF_COLUMN[name]),
                    format="%.4g" if raw else "%.0f",
                )
                for name in columns
            },
        },
        key="compare.table",
        alt="Every candidate with the " + ("score" if raw else "percentile") + " of each method",
    )
    address = downloads.offered("compare", lambda: csv_text(shown), "methods.csv")
    downloads.link("Download this table (CSV)", address, "compare.download")


session.current()
with frame.errors_said():
    about = subject()
    if about is not None:
        opened = about.store
        page(about)
