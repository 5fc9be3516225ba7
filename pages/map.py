"""All candidates at once: on a map, as a gallery, and many of them decided in one step."""

import streamlit as st

from ui import cached, frame, gallery, map_pane, session
from ui.map_selection import View
from ui.scored_project import ScoredProject, current_project


def gallery_and_map(found: ScoredProject) -> None:
    insight = cached.insight(found.run.id)
    place = st.container()
    shown = gallery.filter_row(found.table, twins_known=insight is not None)
    view = View(found, shown.wanted, insight, cached.places(found.run.id))
    with place:
        map_pane.show_threshold(view)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        map_pane.show_map(view)
    with right:
        gallery.show_gallery(view, shown.sort, shown.size)


session.current()
with frame.show_errors():
    scored = current_project()
    if scored is not None:
        gallery_and_map(scored)
