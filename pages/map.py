"""All candidates at once: on a map, as a gallery, and many of them decided in one step."""

import streamlit as st

from ui import cached, frame, gallery_filters, gallery_pane, map_pane, session, threshold
from ui.gallery_view import View
from ui.subject import Subject, subject


def gallery_and_map(found: Subject) -> None:
    insight = cached.insight(found.run.id)
    place = st.container()
    shown = gallery_filters.row(found.table, twins_known=insight is not None)
    view = View(found, shown.wanted, insight, cached.places(found.run.id))
    with place:
        threshold.head(view)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        map_pane.show(view)
    with right:
        gallery_pane.show(view, shown.sort, shown.size)


session.current()
with frame.errors_said():
    scored = subject()
    if scored is not None:
        gallery_and_map(scored)
