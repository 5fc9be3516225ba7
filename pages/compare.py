"""How the methods agree, how good each is here, and the candidates they dispute."""

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.base.files import csv_text
from eap_core.project import results
from eap_core.review.queue import evaluator_columns
from eap_core.scoring import percentiles
from eap_core.store import runs
from eap_core.store.projects import Kind
from ui import cached, compare, files, frame, score_form, session, text
from ui.scored_project import ScoredProject, current_project
from ui.text import shorten

_BARE = {"displayModeBar": False}


def page(found: ScoredProject) -> None:
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
    compare.show_disputed(found, columns)
    all_scores(found.table, columns, found.project.kind)


def progress(found: ScoredProject) -> None:
    """What is coming, or what could still be computed."""
    store, run = found.store, found.run
    job = score_form.scoring_job(store, found.project.id)
    if job is not None:
        score_form.show_scoring(store, found.project, job, runs.score_names(store, run.id))
        return
    known = text.find_methods(store, run)
    lacking = tuple(name for name in text.OTHERS if name not in known.there)
    if not lacking:
        return
    listed = text.list_methods(lacking)
    st.caption(f"Not computed for this run: {listed}.")
    if found.changed:
        st.warning("The data have changed since this scoring: score again to have them all.")
        st.page_link("pages/score.py", label="Score again", icon=":material/speed:")
    else:
        score_form.launch_missing(store, run, lacking, "compare.complete")


def agreement(found: ScoredProject, columns: list[str]) -> None:
    st.subheader("How alike are the methods?", anchor=False)
    compared = cached.comparison(found.run.id, found.state, runs.score_names(opened, found.run.id))
    names = list(compared.names)
    order = compare.likeness_bars(names, compared.correlation)
    eap, nearest, farthest = order[0], order[1], order[-1]
    st.markdown(
        f"**{text.method_words(names[nearest])}** ranks most like EAP "
        f"({compared.correlation[eap, nearest]:.2f}), **{text.method_words(names[farthest])}** "
        f"least ({compared.correlation[eap, farthest]:.2f}). 1 is the same order, 0 unrelated, −1 "
        "the reverse."
    )
    st.plotly_chart(
        compare.correlation_matrix(names, compared.correlation),
        config=_BARE,
        alt="Rank correlation of every pair of methods; with EAP: "
        + ", ".join(
            f"{text.method_words(names[i])} {compared.correlation[eap, i]:.2f}" for i in order[1:]
        ),
        key="compare.matrix",
    )
    alike = [text.method_words(name) for name in columns if found.table[name].nunique() == 1]
    if alike:
        st.caption(f"{', '.join(alike)}: all candidates have the same score here.")
    with st.expander("What each method looks at", icon=":material/help:"):
        st.markdown(
            "\n".join(f"- {text.explain_method(text.evaluator_of(column))}" for column in columns)
        )


def how_good(found: ScoredProject, columns: list[str]) -> None:
    st.subheader("How good is each method here?", anchor=False)
    known = results.find_judgements(found.candidates, found.items, found.standing().states)
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
    if min(good, other) < results.FEW:
        st.warning(
            f"Fewer than {results.FEW} of one kind: this may well be chance.",
            icon=":material/casino:",
        )
    if judged.by == "the decisions":
        st.caption("Decisions made with the score in sight favour EAP; the blind review does not.")
    bars = results.measure_quality(found.table, columns, judged)
    st.plotly_chart(
        compare.quality_bars(bars),
        config=_BARE,
        alt="Good candidates placed above others: "
        + ", ".join(f"{text.method_words(one.column)} {one.auc:.0%}" for one in bars),
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
        shown.assign(id=shorten(shown["id"].tolist(), kind)),
        hide_index=True,
        height=320,
        column_config={
            "id": st.column_config.TextColumn("Candidate", pinned=True, width=115),
            **{
                name: st.column_config.NumberColumn(
                    text.method_words(name),
                    help=text.explain_method(text.evaluator_of(name)),
                    format="%.4g" if raw else "%.0f",
                )
                for name in columns
            },
        },
        key="compare.table",
        alt="Every candidate with the " + ("score" if raw else "percentile") + " of each method",
    )
    address = files.offer_download("compare", lambda: csv_text(shown), "methods.csv")
    files.show_link("Download this table (CSV)", address, "compare.download")


session.current()
with frame.show_errors():
    about = current_project()
    if about is not None:
        opened = about.store
        page(about)
