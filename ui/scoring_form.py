"""Starting a run: one button, the settings behind a click, and how far the work is."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from eap_core import jobs as work
from eap_core.evaluators import THIRTEEN
from eap_core.images.roots import configured_roots
from eap_core.projects.plan import Plan
from eap_core.projects.state import state_of
from eap_core.store import jobs as rows
from eap_core.store import projects, runs
from eap_core.store.jobs import Job
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store
from ui import cached, frame, jobs, methods
from ui.clip_form import score_by_command
from ui.settings_form import SettingsForm
from ui.settings_words import in_words
from ui.words import plain

USUAL = Plan(evaluators=THIRTEEN)
_KINDS = ("score", "complete")


def under_way(store: Store, project: str) -> Job | None:
    """The job that computes scores of this project, if there is one."""
    job = jobs.latest(store, project, *_KINDS)
    return job if jobs.active(job) else None


def start(store: Store, project: Project, run: Run | None) -> None:
    """The button that scores, and what it will do."""
    jobs.outcome(jobs.latest(store, project.id, *_KINDS))
    counts = Counter(
        item.role for item in cached.items(project.id, state_of(store, project.id)).values()
    )
    if not counts["normal"] or not counts["candidate"]:
        missing = "normals" if not counts["normal"] else "candidates"
        st.info(f"The project has no {missing} yet: add some first.", icon=":material/info:")
        st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")
        return
    given = USUAL if run is None else Plan.from_record(dict(run.settings))
    form = SettingsForm(project, counts, given, run.id if run else "first")
    words = "Score the candidates" if run is None else "Score again"
    with frame.errors_said():  # an impossible setting leaves the form as it is
        with st.expander("Settings", icon=":material/tune:"):
            plan = form.plan()
            if plan.features == "clip" and not configured_roots():
                score_by_command(project.name, plan, "With a model file that you have, run")
        st.caption(f"{counts['candidate']:,} candidates, {plain(in_words(plan))}.")
        if st.button(words, type="primary", icon=":material/speed:", key="score.start"):
            launch(store, project.id, plan)


def launch(store: Store, project: str, plan: Plan) -> None:
    """Start a run, unless one is under way, and show how far it is."""
    if under_way(store, project) is None:
        work.launch(store, "score", plan.record, project)
    st.switch_page("pages/score.py")


def complete(store: Store, run: Run, names: tuple[str, ...], key: str) -> None:
    """The offer to compute evaluators that a run does not have."""
    listed = ", ".join(methods.WORDS[name] for name in names)
    words = f"Compute {len(names)} further method{'s' if len(names) > 1 else ''}"
    if st.button(words, icon=":material/playlist_add:", help=plain(listed), key=key):
        if under_way(store, run.project) is None:
            arguments = {"run": run.id, "evaluators": list(names)}
            work.launch(store, "complete", arguments, run.project)
        st.rerun()


def show_progress(
    store: Store, project: Project, job: Job, columns: tuple[str, ...] | None = None
) -> None:
    """The bar, and which methods are there already; a page that shows the methods themselves gives
    its ``columns`` to be drawn anew with each further one."""
    jobs.progress(store, job.id)
    _so_far(store, project.id, job.id, project.current_run, columns)


@st.fragment(run_every=1.5)
def _so_far(
    store: Store, project: str, job_id: str, shown: str | None, columns: tuple[str, ...] | None
) -> None:
    """EAP is shown as soon as it is there: then the whole page is drawn anew."""
    with frame.errors_said():
        _methods_so_far(store, project, job_id, shown, columns)


def _methods_so_far(
    store: Store, project: str, job_id: str, shown: str | None, columns: tuple[str, ...] | None
) -> None:
    current = projects.by_id(store, project).current_run
    grown = columns is not None and current and runs.score_names(store, current) != columns
    if current != shown or grown:
        st.rerun(scope="app")
    job = rows.by_id(store, job_id)
    run = runs.by_id(store, current) if current else None
    if run is None or (job.kind == "score" and run.job != job.id):
        st.caption("EAP is computed first and shown as soon as it is there; the rest follows.")
        return
    asked = tuple(job.arguments["evaluators"]) if job.kind == "complete" else ()
    found = methods.methods_of(store, run, asked)
    done = [name for name in found.wanted if name in found.there]
    coming = ", ".join(methods.WORDS[name] for name in found.missing)
    st.caption(
        f"EAP is there. {len(done)} of {len(found.wanted)} further methods are computed"
        + (f"; still to come: {coming}." if coming else ".")
        + " You can leave this page or close it: the work goes on."
    )
