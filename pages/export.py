"""The curated set to take along: what goes in, in which form, and the bundles made so far."""

import streamlit as st

from eap_core.export.request import Counts, ExportRequest, select
from eap_core.health import count_things
from eap_core.jobs import ExportJob, launch
from ui import export, frame, jobs, session
from ui.scored_project import ScoredProject, current_project

_GROUPS = {"defect_type": "defect type", "generator": "generator"}


def show_page(found: ScoredProject) -> None:
    found.status()
    place = st.container()
    candidates = [item.id for item in found.items.values() if item.role == "candidate"]
    rule = export.choose_rule(set(candidates))
    scored = set(found.candidates)
    unscored = [item for item in candidates if item not in scored]
    chosen = select(found.candidates, found.standing().states, rule.top, unscored, rule.items)
    with place:
        picture(found, chosen.settled)
    if rule.top is not None:
        export.rule_words(found, chosen.settled)
    told(found, chosen.counts)
    left, right = st.columns(2, gap="large")
    with left:
        form = export.choose_form(found.project.kind)
        wanted = export.make_request(form, rule)
    with right:
        st.markdown("**The bundle will hold**")
        st.markdown(export.choose_contents(found, wanted, chosen.counts))
        make(found, wanted, chosen.counts)
    export.show_bundles(found)


def picture(found: ScoredProject, settled: export.Outcomes) -> None:
    """Everything as one bar, and by a group that somebody chooses."""
    known = [key for key in _GROUPS if key in found.table]
    by = known[0] if known else None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.title("Export", anchor=False, width="content")
        if len(known) > 1:
            by = st.segmented_control(
                "Bars by",
                known,
                default=by,
                format_func=_GROUPS.__getitem__,
                key="export.by",
                required=True,
                label_visibility="collapsed",
            )
    groups = {
        item.id: str(item.metadata.get(by, ""))
        for item in found.items.values()
        if by and item.id in settled
    }
    st.plotly_chart(
        export.shares_chart(settled, groups),
        config={"displayModeBar": False},
        alt=export.shares_words(settled),
    )


def told(found: ScoredProject, counts: Counts) -> None:
    """What should be known before the set is passed on."""
    said = []
    if counts.accepted + counts.rejected == 0:
        st.info(
            "Nothing is decided yet. Review the candidates, or accept the best of them by score.",
            icon=":material/info:",
        )
    elif counts.undecided:
        said.append(
            f"Undecided: {count_things(counts.undecided, 'candidate')}, left out of the images and "
            "listed as undecided in the table."
        )
    if counts.conflicts:
        said.append(
            f"Reviewers disagree on {count_things(counts.conflicts, 'candidate')}, without having "
            "seen each other's decision. The later decision counts."
        )
    if found.changed:
        said.append("The data have changed since the scoring: new candidates have no score.")
    if said:
        st.warning("  \n".join(said), icon=":material/warning:")
    if counts.undecided or counts.conflicts:
        st.page_link("pages/review.py", label="Go to the review", icon=":material/rate_review:")


def make(found: ScoredProject, wanted: ExportRequest, counts: Counts) -> None:
    """The button, or how far the last one is."""
    job = jobs.latest_job(found.store, found.project.id, ExportJob)
    if jobs.active_job(job):
        assert job is not None
        jobs.show_progress(found.store, job.id)
        return
    jobs.show_outcome(job)
    if job is not None and job.status == "finished" and jobs.just_ended(job):
        st.success("The bundle is ready: download it below.", icon=":material/check:")
    empty = wanted.has_images and not counts.accepted
    if st.button(
        "Make the bundle",
        key="export.make",
        type="primary",
        disabled=empty,
        icon=":material/ios_share:",
    ):
        launch(found.store, ExportJob(wanted), found.project.id)
        st.rerun()
    if empty:
        st.caption("An image folder needs at least one accepted candidate.")


session.current()
with frame.show_errors():
    scored_project = current_project()
    if scored_project is not None:
        show_page(scored_project)
