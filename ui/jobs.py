"""Long work on screen: how far it is, how long it still takes, cancel, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import streamlit as st

from eap_core import jobs
from eap_core.base.errors import EapError
from eap_core.jobs import Work
from eap_core.store import jobs as rows
from eap_core.store.jobs import Job
from eap_core.store.store import Store, now
from ui import frame
from ui.text import duration_words, error_words, escape_markdown

UNEXPLAINED = EapError("it failed")  # a job that failed has an error, but for a damaged row
_NEWS, _BAD_NEWS = timedelta(seconds=45), timedelta(minutes=10)


def latest_job(store: Store, project: str | None, *kinds: type[Work]) -> Job | None:
    """The last job of these kinds."""
    names = {kind.kind for kind in kinds}
    found = [job for job in rows.recent_jobs(store, project) if job.kind in names]
    return found[0] if found else None


def just_ended(job: Job | None) -> bool:
    """Whether it is news: success is soon taken for granted, a failure is told for longer."""
    if job is None or job.finished_at is None:
        return False
    return now() - job.finished_at < (_NEWS if job.status == "finished" else _BAD_NEWS)


def active_job(job: Job | None) -> bool:
    return job is not None and job.status in ("waiting", "running")


@st.fragment(run_every=1.0)
def show_progress(store: Store, job_id: str, ready: Callable[[], bool] = lambda: False) -> None:
    """The bar of a job that is under way; the page is drawn anew when it ends or is far enough."""
    with frame.show_errors():
        _progress(store, job_id, ready)


def _progress(store: Store, job_id: str, ready: Callable[[], bool]) -> None:
    job = rows.by_id(store, job_id)
    if not active_job(job) or ready():
        st.rerun(scope="app")
    if rows.is_dead(job, now()):
        st.warning(
            f"{jobs.kind_of(job).title} stopped at {job.share:.0%}: its process has ended "
            "unexpectedly. Nothing that was saved is lost.",
            icon=":material/error:",
        )
        if st.button("Start again", icon=":material/restart_alt:", key=f"again.{job.id}"):
            jobs.again(store, job.id)
            st.rerun(scope="app")
        return
    left = jobs.time_left(job)
    rest = f" · {duration_words(left.total_seconds())} left" if left else ""
    step = f" · {escape_markdown(job.step)}" if job.step else ""
    st.progress(min(max(job.share, 0.0), 1.0), f"{jobs.kind_of(job).title}{step}{rest}")
    if job.cancel_requested:
        st.caption("Stopping …")
    elif st.button("Cancel", icon=":material/stop_circle:", key=f"cancel.{job.id}"):
        rows.cancel(store, job.id)
        st.rerun(scope="fragment")


def show_outcome(job: Job | None) -> None:
    """What a person should know about a job that has ended badly."""
    if job is None or not just_ended(job):
        return
    if job.status == "failed":
        st.error(escape_markdown(error_words(job.failure or UNEXPLAINED)), icon=":material/error:")
    elif job.status == "cancelled":
        st.info(f"{jobs.kind_of(job).title} was cancelled. What was complete before that is kept.")
