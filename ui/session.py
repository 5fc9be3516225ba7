"""One immutable object holds what a browser tab looks at; the URL holds it too.

The URL outlives the tab: a reload or a bookmark comes back to the same project. Moving to another
page drops the URL's parameters, so the session puts them back.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import unquote, urlsplit

import streamlit as st

_KEY, _WANTED = "session", "wanted"
_IN_URL = ("project", "reviewer")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Session:
    """What one browser tab is looking at, and who sits before it."""

    project: str | None = None
    reviewer: str | None = None
    awaited: str | None = None  # the job of a demo that is to be opened when it is there
    chosen: tuple[str, ...] = ()  # items picked in the gallery, to be reviewed or exported


def start() -> None:
    """Called by app.py alone, before any page runs."""
    st.session_state.setdefault(_KEY, Session())


def go_on(steps: Sequence[str]) -> None:
    """Return to the step that a link led to, had it not been the server's first visit.

    Until app.py has run once, Streamlit runs a file in pages/ without it.
    """
    wanted = st.session_state.pop(_WANTED, None)
    if wanted in steps:
        st.switch_page(f"pages/{wanted}.py", query_params=dict(st.query_params))


def current() -> Session:
    """The session; without one app.py has not run yet, and must first."""
    if _KEY not in st.session_state:
        st.session_state[_WANTED] = urlsplit(st.context.url or "").path.rpartition("/")[2]
        st.switch_page("app.py", query_params=dict(st.query_params))
    session = cast(Session, st.session_state[_KEY])
    for name in _IN_URL:
        linked = _clean(st.query_params.get(name, ""))
        if linked and linked != getattr(session, name):
            session = _change(session, name, linked)
        elif not linked and getattr(session, name):
            st.query_params[name] = getattr(session, name)
    st.session_state[_KEY] = session
    return session


def reviewer() -> str:
    """Whose decisions these are; until somebody says so, a name that others hardly have."""
    session = current()
    if session.reviewer is None:
        before = _clean(unquote(st.context.cookies.get("eap_reviewer", "")))
        name = before or f"Reviewer {random.randint(10_000, 99_999)}"
        session = replace(session, reviewer=name)
        st.session_state[_KEY] = session
        st.query_params["reviewer"] = str(session.reviewer)
    return str(session.reviewer)


def call_reviewer(name: str) -> None:
    """Whoever sits here is called so from now on."""
    name = _clean(name)
    if name:
        st.session_state[_KEY] = replace(current(), reviewer=name)
        st.query_params["reviewer"] = name


def await_demo(job: str) -> None:
    """Open what this job makes as soon as it is made."""
    st.session_state[_KEY] = replace(current(), awaited=job)


def choose(items: Sequence[str]) -> None:
    """Keep some candidates for the next step."""
    st.session_state[_KEY] = replace(current(), chosen=tuple(items))


def point_at(item: str) -> None:
    """Say in the link which candidate is looked at, so that a reload comes back to it."""
    st.query_params["item"] = item


def pointed_at() -> str | None:
    return st.query_params.get("item")


def look_at(project: str | None) -> None:
    """Turn to another project, or to none."""
    st.session_state[_KEY] = replace(current(), project=project, awaited=None, chosen=())
    if project:
        st.query_params["project"] = project
    else:
        st.query_params.pop("project", None)


def link() -> dict[str, str]:
    """What a link to another step carries, so that it opens the same."""
    session = current()
    found = {name: getattr(session, name) for name in _IN_URL}
    return {name: value for name, value in found.items() if value}


def _clean(name: str) -> str:
    """A name on one line, of characters that every database keeps."""
    text = "".join(c for c in " ".join(name.split()) if c.isprintable())
    return text.encode("utf-8", "ignore").decode()[:_LONGEST_NAME]


def _change(session: Session, name: str, value: str) -> Session:
    if name == "project":
        return replace(session, project=value, chosen=())
    return replace(session, reviewer=value)


def remember(name: str, value: object) -> None:
    """Remember something of a page until it is drawn next."""
    st.session_state[f"kept.{name}"] = value


def recall(name: str) -> object | None:
    return cast(object, st.session_state.get(f"kept.{name}"))


def take(name: str) -> object | None:
    """The same, and forget it: true of one run of the page only."""
    return cast(object, st.session_state.pop(f"kept.{name}", None))


def widget(key: str) -> object | None:
    """What a control that was drawn before is set to."""
    return cast(object, st.session_state.get(key))


def set_widget(key: str, value: object) -> None:
    """Only before the control is drawn, as callbacks are."""
    st.session_state[key] = value
