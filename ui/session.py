"""One immutable object holds what the user did; one key holds the object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

_KEY = "session"


@dataclass(frozen=True)
class Session:
    """What one browser tab is looking at."""

    project: str = "demo"


def start() -> None:
    """Called by app.py alone, before any page runs."""
    st.session_state.setdefault(_KEY, Session())


def current() -> Session:
    """The session, or home when this page was reached without going through app.py."""
    if _KEY not in st.session_state:
        st.switch_page("app.py")
    return cast(Session, st.session_state[_KEY])
