"""Home: the demos, a new project, and all projects with how far each is."""

from __future__ import annotations

import streamlit as st

from eap_core import jobs as work
from eap_core.projects.demos import NAMES, Demo
from eap_core.store import overview, projects
from eap_core.store.projects import Kind
from eap_core.store.store import Store
from ui import frame, jobs, session
from ui.words import ROLE_WORDS, plain

_DEMOS: dict[Demo, tuple[str, str, str]] = {
    "images": (
        "Machined parts",
        ":material/image:",
        "120 drawn defects by four generators, beside photographs of good and damaged flanges.",
    ),
    "table": (
        "Tumour measurements",
        ":material/table_chart:",
        "160 made-up malignant rows, beside measurements of benign and malignant tumours.",
    ),
}


def show(store: Store) -> None:
    """All that can be opened, and what can be begun."""
    st.title("Which synthetic anomalies are worth keeping?", anchor=False)
    st.markdown(
        "Score generated defects or frauds, look at them, accept or reject each with one key, and "
        "export a set you can defend."
    )
    deleted = session.taken("home.deleted")
    if deleted:
        st.success(f"{plain(str(deleted))} is deleted. It can be taken back below the list.")
    found = overview.overviews(store)
    _demos(store, {row.project.name: row for row in found})
    with st.container(border=True):
        _new(store)
    if found:
        st.subheader("Projects", anchor=False)
    for row in found:
        _row(row)
    _bin(store)


def _demos(store: Store, known: dict[str, overview.Overview]) -> None:
    job = jobs.latest(store, None, "demo")
    awaited = job is not None and job.id == session.current().awaited
    if job is not None and awaited:
        there = known.get(NAMES[job.arguments["kind"]])
        if there is not None and there.project.current_run is not None:
            _open(there.project.id)  # scored: further methods and the map follow by themselves
    if job is not None and jobs.active(job) and awaited:
        jobs.progress(store, job.id, ready=lambda: _scored(store, job.arguments["kind"]))
        return
    jobs.outcome(job)
    columns = st.columns(len(_DEMOS))
    for column, (kind, (title, icon, words)) in zip(columns, _DEMOS.items(), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"{icon} **Demo: {title}**  \n{words}")
            if st.button(f"Try {title.lower()}", key=f"demo.{kind}", icon=":material/play_arrow:"):
                there = known.get(NAMES[kind])
                if there is not None and there.project.current_run is not None:
                    _open(there.project.id)
                session.await_demo(work.launch(store, "demo", {"kind": kind}).id)
                st.rerun()


def _scored(store: Store, kind: Demo) -> bool:
    return any(
        row.project.name == NAMES[kind] and row.project.current_run is not None
        for row in overview.overviews(store)
    )


def _open(project: str) -> None:
    session.look_at(project)
    st.switch_page("pages/review.py", query_params=session.link())


def _new(store: Store) -> None:
    with st.form("data.new", border=False):
        st.subheader("New project", anchor=False)
        name = st.text_input("Name", max_chars=120, placeholder="Bottle line 3, October")
        kinds: dict[str, Kind] = {"Images": "images", "Table": "table"}
        kind = st.segmented_control("What do you have?", list(kinds), default="Images")
        if st.form_submit_button("Create", type="primary", icon=":material/add:"):
            with frame.errors_said():
                made = projects.create(store, name, kinds[kind or "Images"])
                session.look_at(made.id)
                st.rerun()


def _row(row: overview.Overview) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        icon = ":material/image:" if row.project.kind == "images" else ":material/table_chart:"
        # The name is the button: every one of them is called differently.
        if st.button(
            plain(row.project.name), key=f"open.{row.project.id}", icon=icon, type="tertiary"
        ):
            session.look_at(row.project.id)
            st.rerun()
        st.caption(_summary(row))
        if row.candidates and row.project.current_run:
            share = row.reviewed / row.candidates
            words = f"reviewed {row.reviewed:,} of {row.candidates:,}, accepted {row.accepted:,}"
            st.progress(min(share, 1.0), words, width=280)


def _summary(row: overview.Overview) -> str:
    counts = ", ".join(
        f"{row.items[role]:,} {words.lower()}"
        for role, words in ROLE_WORDS.items()
        if row.items.get(role)
    )
    scored = "" if row.project.current_run or not counts else " · not scored yet"
    return (counts or "empty") + scored


def _bin(store: Store) -> None:
    binned = projects.in_bin(store)
    if not binned:
        return
    with st.expander(f"Deleted projects ({len(binned):,})"):
        st.caption("Nothing of them is lost until an operator empties the bin.")
        for project in binned:
            if st.button(
                f"Take back {plain(project.name)}", key=f"back.{project.id}", icon=":material/undo:"
            ):
                with frame.errors_said():
                    projects.from_bin(store, project.id)
                    st.rerun()
