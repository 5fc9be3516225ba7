"""The slider that says what accepting from a percentile would mean."""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from eap_core.review import Verdict
from eap_core.selection import Above, Mixture, above
from ui import deciding, frame, picks
from ui.gallery_view import View
from ui.words import plain

DOUBT = "Fewer than half of them are realistic: look at them before accepting."
_KINDS = {"defect_type": "defect types", "generator": "generators"}


@st.fragment(key=picks.HEAD)
def head(view: View) -> None:
    """How the review stands, and the threshold; a decision draws both anew."""
    with frame.errors_said():
        _shown(view)


def _shown(view: View) -> None:
    standing = view.subject.standing()
    frame.status(view.subject.project, standing, view.items)
    left, middle, right = st.columns([3, 6, 2], vertical_alignment="center", gap="medium")
    percentile = left.slider(
        "Accept from percentile", 0, 100, 80, key="threshold", bind="query-params"
    )
    found = above(view.subject.table, percentile, standing.states, view.twins, view.group)
    text = sentence(percentile, found, view.insight is not None)
    if found.mixture.doubtful:
        middle.warning(f"{text} {DOUBT}", icon=":material/warning:")
    else:
        middle.markdown(text)
    accept: Verdict = "accept"
    count = len(found.undecided)
    right.button(
        f"Accept these {count:,}" if count else "Accept these",
        icon=":material/done_all:",
        key="map.accept_above",
        help="Accepts those that are not decided yet; decisions already made stay.",
        disabled=not count,
        on_click=deciding.decide,
        args=(view, found.undecided, accept, standing.seq, str(uuid4())),
    )


def mixed(found: Mixture) -> str:
    """How many are of each category, in words."""
    looks = "looks" if found.looks_normal == 1 else "look"
    return (
        f"{found.realistic:,} realistic, {found.looks_normal:,} {looks} normal, "
        f"{found.too_far:,} too far from the data"
    )


def sentence(percentile: float, found: Above, twins_known: bool) -> str:
    """What the threshold would accept, in one sentence."""
    count = len(found.items)
    noun = "candidate" if count == 1 else "candidates"
    parts = [mixed(found.mixture)]
    if twins_known:
        parts.append(f"{found.twins:,} near-duplicate{'' if found.twins == 1 else 's'}")
    parts += [f"{found.rejected:,} already rejected", f"{found.accepted:,} already accepted"]
    text = f"Accept from percentile {percentile:.0f}: **{count:,}** {noun}"
    text += f", of which {', '.join(parts)}"
    if found.group:
        kinds = _KINDS.get(found.group, f"values of {plain(found.group)}")
        text += f"; {found.kinds:,} of {found.all_kinds:,} {kinds} covered"
    return f"{text}."
