"""What every page has around it: the project's line on top, and errors said in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from eap_core.errors import EapError
from eap_core.store import projects
from eap_core.store.projects import Project
from eap_core.store.store import Store
from ui import session
from ui.words import plain


@contextmanager
def errors_said() -> Iterator[None]:
    """A mistake in the input is one sentence on the page; nothing else is caught."""
    try:
        yield
    except EapError as error:
        st.error(plain(str(error)), icon=":material/error:")


def chosen_project(store: Store) -> Project | None:
    """The project this tab looks at; None if none is chosen or it is gone."""
    wanted = session.current().project
    if wanted is None:
        return None
    project = projects.known(store, wanted)
    if project is None or project.binned_at is not None:
        st.info("The project of this link is not here any more. Choose another.")
        session.look_at(None)
        return None
    return project
