"""Images that the chosen pair gets wrong."""

from __future__ import annotations

import streamlit as st

from eap_core.prompts import Choice, Views, mistakes
from eap_core.prompts.choice import Mistake
from ui import side_by_side
from ui.prompt_words import percent
from ui.subject import Subject

_COUNTS = (6, 12, 24, 48)


def show(found: Subject, views: Views, choice: Choice) -> None:
    """The worst first, as many as one wants to see."""
    st.subheader("Images that this pair gets wrong", anchor=False)
    wrong = mistakes(views, choice)
    kind = "test images" if wrong.held_out else "training normals and images that chose it"
    if not wrong.found:
        st.success(f"None of the {wrong.judged:,} {kind}.", icon=":material/check:")
        return
    missed = sum(one.anomalous for one in wrong.found)
    st.markdown(
        f"{len(wrong.found):,} of the {wrong.judged:,} {kind}, the worst first (missed anomalies: "
        f"{missed:,}, false alarms: {len(wrong.found) - missed:,}). An image counts as anomalous "
        f"above {percent(wrong.line)}, the line that best divides the training normals from the "
        "images that chose."
    )
    count = len(wrong.found)
    if count > _COUNTS[0]:
        offered = [n for n, before in zip(_COUNTS, (0, *_COUNTS), strict=False) if before < count]
        count = st.segmented_control(
            "How many",
            offered,
            default=offered[1],
            key="prompts.count",
            persist_state="session",
            required=True,
        )
    with st.container(horizontal=True, gap="small"):
        for one in wrong.found[:count]:
            side_by_side.one(found.store, _error(one), found.items[one.item])


def _error(one: Mistake) -> str:
    kind = "Missed anomaly" if one.anomalous else "False alarm"
    return f"{kind}, {percent(one.probability)}"
