"""Which descriptions of the object let a model find anomalies, chosen by candidates one trusts."""

import streamlit as st

from eap_core.projects.prompt_report import accepted_items
from eap_core.store import runs
from ui import cached, frame, jobs, prompt_form, prompt_results, session
from ui.subject import Subject, subject


def page(found: Subject) -> None:
    found.status()
    st.title("Which words find the anomalies?", anchor=False)
    st.markdown(
        "A model that knows images and words (CLIP) can tell an anomaly by two descriptions of "
        "the object. Candidates you trust choose the descriptions; no real anomaly is needed."
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
    job = prompt_form.under_way(found)
    if job is not None:
        jobs.progress(found.store, job.id)
        st.caption("You can leave this page or close it: the work goes on.")
    seen = cached.prompted(found.run.id, found.state, cached.prompts_mark(found.run.id))
    if job is None:
        prompt_form.form(found, seen)
    if seen is None:
        return
    if seen.state != found.state:
        st.warning(
            "Files were added or removed since the images were looked at: look again to count "
            "them all.",
            icon=":material/update:",
        )
    mark, columns = cached.prompts_mark(found.run.id), runs.score_names(found.store, found.run.id)
    accepted = accepted_items(found.standing().states)
    report = cached.prompt_report(found.run.id, found.state, columns, mark, accepted)
    prompt_results.show(found, report)


session.current()
with frame.errors_said():
    about = subject()
    if about is not None:
        page(about)
