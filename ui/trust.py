"""The card that says how right the scores are on a project's own real anomalies."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from eap_core.analysis.score import column_name
from eap_core.analysis.trust import (
    CategoryLines,
    Estimate,
    Lines,
    Rehearsal,
    Trial,
    best_evaluator,
    describe,
    describe_better,
    describe_weakness,
)
from eap_core.evaluators import EVALUATORS
from eap_core.jobs import CompletionJob, RehearsalJob, launch
from eap_core.project.results import choose_score
from ui import cached, jobs
from ui.scored_project import ScoredProject

_HOW = (
    "Your real anomalies were left out in turn and scored like candidates, beside normals that "
    "were left out, too, and rows that cannot be real. In brackets: where the figure lies with "
    "90 % certainty."
)


def show_trust(found: ScoredProject, busy: bool) -> None:
    """The rehearsal of the run that is shown, or how it comes to be."""
    with st.container(border=True):
        st.subheader("Can I trust this here?", anchor=False)
        kept = cached.rehearsal(found.run.id)
        if kept is None:
            _show_missing(found, busy)
        else:
            _show_rehearsal(found, kept)


def offer_better_score(found: ScoredProject, name: str, sentence: str) -> None:
    """Say which evaluator serves better here, and let one click choose it."""
    st.info(sentence, icon=":material/swap_vert:")
    title = EVALUATORS[name].title
    if column_name(name) not in found.table:  # it was rehearsed, but the candidates lack it
        if not found.changed and st.button(f"Compute {title}", key="trust.compute"):
            launch(found.store, CompletionJob(found.run.id, (name,)), found.project.id)
            st.rerun()
    elif st.button(f"Rank by {title}", icon=":material/swap_vert:", key="trust.choose"):
        choose_score(found.store, found.run.id, name)
        st.rerun()


def _show_missing(found: ScoredProject, busy: bool) -> None:
    if not any(item.role == "anomaly" for item in found.items.values()):
        st.markdown("Nobody can tell without a real anomaly: add some, and score again.")
        return
    if busy:
        st.markdown("The last step of the work under way finds out.")
        return
    if found.changed:
        st.markdown("The data have changed since this scoring: score again to find out.")
        return
    job = jobs.latest_job(found.store, found.project.id, RehearsalJob)
    if job is not None and jobs.active_job(job):
        jobs.show_progress(found.store, job.id)
        return
    jobs.show_outcome(job)
    st.markdown(
        "A rehearsal tells: your real anomalies are left out in turn and scored like candidates."
    )
    if st.button("Rehearse", icon=":material/fact_check:", key="trust.rehearse"):
        launch(found.store, RehearsalJob(found.run.id), found.project.id)
        st.rerun()


def _show_rehearsal(found: ScoredProject, kept: Rehearsal) -> None:
    chosen = found.chosen if found.chosen in kept.names else "eap"
    how: Lines = "data" if found.run.settings.get("lines") == "data" else "paper"
    st.markdown(describe(kept, chosen, how))
    weakness = describe_weakness(kept)
    if weakness:
        st.warning(weakness, icon=":material/warning:")
    better, sentence = best_evaluator(kept, chosen), describe_better(kept, chosen)
    if better and sentence:
        offer_better_score(found, better, sentence)
    rows = [_row(each, kept.m, kept.lines_of(each.name, how)) for each in kept.trials]
    st.table(pd.DataFrame(rows).set_index("Score"))
    st.caption(_HOW)
    with st.expander("What each kind of row would be called", icon=":material/category:"):
        _show_lines(kept, how)


def _row(trial: Trial, m: int, lines: CategoryLines | None) -> dict[str, str]:
    return {
        "Score": EVALUATORS[trial.name].title,
        "Above 90 % of unseen normals": f"{trial.found:,} of {m:,} ({_span(trial.found_share)})",
        "Above impossible rows": f"{100 * trial.above_impossible.value:.0f} % "
        f"({_span(trial.above_impossible)})",
        "Called “looks normal”": "–" if lines is None else f"{round(lines.real_normal * m):,}",
        "Normals called realistic": "–" if lines is None else f"{lines.normals_realistic:.0%}",
    }


def _show_lines(kept: Rehearsal, how: Lines) -> None:
    rows = []
    for trial in kept.trials:
        title = EVALUATORS[trial.name].title
        for words, lines in (("your data draw", trial.lines), ("are fixed", trial.fixed)):
            if lines is not None:
                used = " (in use)" if lines == kept.lines_of(trial.name, how) else ""
                rows.append(_calls(f"{title}, lines that {words}{used}", lines))
    st.table(pd.DataFrame(rows).set_index("Lines"))
    st.caption(
        "Lines that your data draw call at most a tenth of the unseen normals anomalous and at "
        "most a tenth of the real anomalies too far, by these rows."
    )


def _calls(title: str, lines: CategoryLines) -> dict[str, str]:
    shares = {
        "Normals called realistic": lines.normals_realistic,
        "Real ones called “looks normal”": lines.real_normal,
        "Real ones called “too far”": lines.real_far,
        "Impossible ones called realistic": lines.impossible_realistic,
    }
    return {"Lines": title, **{words: f"{100 * share:.0f} %" for words, share in shares.items()}}


def _span(figure: Estimate) -> str:
    return f"{100 * figure.low:.0f}–{100 * figure.high:.0f} %"
