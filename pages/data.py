"""Projects, what is in them, and how healthy it is."""

from typing import Literal

import streamlit as st

from eap_core.analysis import Plan
from eap_core.health import Finding
from eap_core.jobs import HealthJob, ScoringJob, UploadJob, launch
from eap_core.project import IntakeReport
from eap_core.project.health import recall_health
from eap_core.project.problem import state_of
from eap_core.store import projects
from eap_core.store.items import remove_upload, restore_upload, uploads_of
from eap_core.store.projects import Project
from ui import cached, data, frame, health, jobs, session
from ui.text import ROLE_WORDS, escape_markdown

_MOST_SHOWN = 200


def one_project(project: Project) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(escape_markdown(project.name), anchor=False)
        _settings(project)
        if st.button("All projects", icon=":material/list:"):
            session.look_at(None)
            st.rerun()
    added = jobs.latest_job(opened, project.id, UploadJob)
    if jobs.active_job(added):
        assert added is not None
        jobs.show_progress(opened, added.id)
        data.add_files(opened, project, busy=True)
    else:
        jobs.show_outcome(added)
        if added is not None and added.status == "finished" and jobs.just_ended(added):
            _taken(IntakeReport.from_record(added.result))
        with frame.show_errors():
            data.add_files(opened, project)
    _contents(project)
    _health(project)


def _settings(project: Project) -> None:
    """Another name, or into the bin; both can be taken back."""
    with st.popover("Project", icon=":material/settings:"):
        with st.form("data.rename", border=False):
            name = st.text_input("Name of the project", project.name, max_chars=120)
            if st.form_submit_button("Rename", icon=":material/edit:"):
                with frame.show_errors():
                    projects.rename(opened, project.id, name)
                    st.rerun()
        if st.button("Delete this project", icon=":material/delete:"):
            with frame.show_errors():
                projects.to_bin(opened, project.id)
                session.look_at(None)
                session.remember("home.deleted", project.name)
                st.rerun()


def _counts(taken: IntakeReport) -> str:
    return ", ".join(f"{n:,} {ROLE_WORDS[role].lower()}" for role, n in taken.counts.items())


def _taken(taken: IntakeReport) -> None:
    counts = _counts(taken)
    st.success(f"Added: {counts or 'nothing new'}.", icon=":material/check:")
    for warning in taken.warnings:
        st.warning(escape_markdown(warning), icon=":material/warning:")
    if taken.skipped:
        _details(taken)


def _details(taken: IntakeReport) -> None:
    """What was not used, and how the rest was read."""
    if taken.skipped:
        st.markdown(f"**{len(taken.skipped):,} files were not used**")
        st.text("\n".join(f"{name} {reason}" for name, reason in taken.skipped[:_MOST_SHOWN]))
    for text in (*taken.warnings, *taken.notes):
        st.text(text)


def _contents(project: Project) -> None:
    given = uploads_of(opened, project.id)
    if not given:
        return
    st.subheader("In this project", anchor=False)
    for upload in given:
        taken = IntakeReport.from_record(dict(upload.details))
        away = upload.removed_at is not None
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            counts = ", ".join(
                f"{n:,} {ROLE_WORDS[role].lower()}" for role, n in taken.counts.items()
            )
            state = " (removed)" if away else ""
            st.markdown(
                f"{escape_markdown(upload.name)}{state}  "
                f"\n:gray[{escape_markdown(counts or upload.kind)}]",
                width="stretch",
            )
            if taken.skipped or taken.warnings or taken.notes:
                with st.popover("Details", icon=":material/info:"):
                    _details(taken)
            change, words = (restore_upload, "Put back") if away else (remove_upload, "Remove")
            if st.button(words, key=f"upload.{upload.id}"):
                with frame.show_errors():
                    change(opened, project.id, upload.id)
                    st.rerun()


def _health(project: Project) -> None:
    if not any(upload.removed_at is None for upload in uploads_of(opened, project.id)):
        return
    st.subheader("Health of the data", anchor=False)
    looking = HealthJob(state_of(opened, project.id))
    job = jobs.latest_job(opened, project.id, HealthJob)
    if jobs.active_job(job):
        assert job is not None
        jobs.show_progress(opened, job.id)
        return
    findings = recall_health(opened, project.id)
    if findings is None and job is not None and job.arguments == looking.record:
        jobs.show_outcome(job)
        if job.status == "finished":
            findings = tuple(Finding.from_record(record) for record in job.result)
        if st.button("Look at the data again", icon=":material/monitor_heart:"):
            launch(opened, looking, project.id)
            st.rerun()
    elif findings is None:
        jobs.show_progress(opened, launch(opened, looking, project.id).id)
    if findings is not None:
        health.show_report(findings)
        _score(project, any(finding.severity == "stop" for finding in findings))


def _score(project: Project, stopped: bool) -> None:
    job = jobs.latest_job(opened, project.id, ScoringJob)
    if jobs.active_job(job):
        assert job is not None
        jobs.show_progress(opened, job.id)
        return
    jobs.show_outcome(job)
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "Score again" if project.current_run else "Score the candidates"
        kind: Literal["primary", "secondary"] = "secondary" if project.current_run else "primary"
        if st.button(words, type=kind, disabled=stopped, icon=":material/speed:"):
            launch(opened, ScoringJob(Plan(("all",))), project.id)
            st.rerun()
        if project.current_run:
            st.page_link("pages/score.py", label="See the scores", icon=":material/arrow_forward:")
            st.page_link("pages/review.py", label="Start reviewing", icon=":material/rate_review:")


session.current()
opened = cached.shared_store()
with frame.show_errors():
    chosen = frame.chosen_project(opened)
    if chosen is None:
        data.show_projects(opened)
    else:
        one_project(chosen)
