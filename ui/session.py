"""One immutable object holds what a browser tab looks at; the URL holds it too.

The URL outlives the tab: a reload or a bookmark comes back to the same project. Moving to another
page drops the URL's parameters, so the session puts them back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import streamlit as st

_KEY = "session"
_PROJECT = "project"


@dataclass(frozen=True)
class Session:
    """What one browser tab is looking at."""

    project: str | None = None
    awaited: str | None = None  # the job of a demo that is to be opened when it is there


def start() -> None:
    """Called by app.py alone, before any page runs."""
    st.session_state.setdefault(_KEY, Session())


def current() -> Session:
    """The session, or home when this page was reached without going through app.py."""
    if _KEY not in st.session_state:
        st.switch_page("app.py", query_params=dict(st.query_params))
    session = cast(Session, st.session_state[_KEY])
    linked = st.query_params.get(_PROJECT)
    if linked and linked != session.project:
        session = replace(session, project=linked)
        st.session_state[_KEY] = session
    elif session.project and not linked:
        st.query_params[_PROJECT] = session.project
    return session


def await_demo(job: str) -> None:
    """Open what this job makes as soon as it is made."""
    st.session_state[_KEY] = replace(current(), awaited=job)


def look_at(project: str | None) -> None:
    """Turn to another project, or to none."""
    st.session_state[_KEY] = replace(current(), project=project, awaited=None)
    if project:
        st.query_params[_PROJECT] = project
    else:
        st.query_params.pop(_PROJECT, None)
