"""Which descriptions of the object let a model find anomalies, chosen by candidates one trusts."""

import streamlit as st

from eap_core.project.prompts import PromptViews, accepted_items
from eap_core.store import runs
from eap_core.store.jobs import Job
from ui import cached, frame, jobs, prompt_form, prompt_results, session
from ui.scored_project import ScoredProject, current_project


def page(found: ScoredProject) -> None:
    found.status()
    st.title("Which words find the anomalies?", anchor=False)
    st.markdown(
        "CLIP, a model that knows pictures and words, can tell an anomaly if it is told how a "
        "normal object and an anomalous one are described. Which two descriptions do that best is "
        "found by candidates that you trust; no real anomaly is needed."
    )
    if found.project.kind != "images":
        st.info(
            "This project is a table: prompts are for images, which such a model can look at.",
            icon=":material/info:",
        )
        return
    if found.table.empty:
        st.info("None of the scored candidates is in the project any more.")
        return
    last = prompt_form.latest_look(found)
    seen = cached.prompt_views(found.project.id, found.state, cached.prompts_mark(found.project.id))
    if seen is not None:
        if jobs.active_job(last) or prompt_form.look_failed(last):
            said = "failed" if prompt_form.look_failed(last) else "is under way"
            st.info(f"Another look {said}: see the end of this page.", icon=":material/info:")
        results(found, seen)
        st.subheader("Look again", anchor=False)
    look(found, seen, last)


def look(found: ScoredProject, seen: PromptViews | None, last: Job | None) -> None:
    """How far the work is, or what it needs: always in the same place."""
    if last is not None and jobs.active_job(last):
        if prompt_form.is_pressed():  # in a tab that did not know
            said = str(prompt_form.refuse_another())
            st.warning(f"{said[:1].upper()}{said[1:]}.")
        jobs.show_progress(found.store, last.id)
        st.caption("You can leave this page or close it: the work goes on.")
        return
    if last is not None and last.status == "finished" and jobs.just_ended(last):
        st.success("All images were looked at: see above.", icon=":material/check:")
    if not prompt_form.is_pressed():  # what went wrong then is not what goes wrong now
        prompt_form.show_look(last)
    prompt_form.show_form(found, seen, last)


def results(found: ScoredProject, seen: PromptViews) -> None:
    if seen.state != found.state:
        st.warning(
            "Files were added or removed since the images were looked at: look again to count "
            "them all.",
            icon=":material/update:",
        )
    mark = cached.prompts_mark(found.project.id)
    columns = runs.score_names(found.store, found.run.id)
    accepted = accepted_items(found.standing().states)
    report = cached.prompt_report(found.run.id, found.state, columns, mark, accepted)
    prompt_results.show_results(found, report)


session.current()
with frame.show_errors():
    about = current_project()
    if about is not None:
        page(about)
