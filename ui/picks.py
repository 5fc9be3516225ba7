"""What a visitor has picked on the map and in the gallery, kept while they move between pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import streamlit as st
from streamlit.errors import StreamlitAPIException

from ui import session

CHART, GALLERY, HEAD = "map.chart", "map.gallery", "map.head"  # fragments, drawn anew by name


@dataclass(frozen=True)
class Picks:
    """``round`` is a part of the chart's key, since Streamlit forgets a selection only with its
    chart; a new ``turn`` tells the gallery to take over the cards as they are here."""

    run: str
    lassoed: tuple[str, ...] = ()
    outline: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    cards: tuple[str, ...] = ()
    round: int = 0
    turn: int = 0


def of_run(run: str) -> Picks:
    """The picks; those made among the candidates of another run are gone."""
    found = cast("Picks | None", session.kept("map.picks"))
    return found if found is not None and found.run == run else Picks(run)


def lasso(run: str, items: Sequence[str], outline: Sequence[dict[str, Any]]) -> None:
    """Show what was drawn around; cards picked before are let go, so that nobody decides unseen."""
    before = of_run(run)
    session.keep(
        "map.picks",
        replace(
            before,
            lassoed=tuple(items),
            outline=tuple(outline),
            cards=(),
            turn=before.turn + 1,
        ),
    )


def pick(run: str, shown: Sequence[str], picked: Sequence[str]) -> None:
    """Of the cards on one page these are picked; picks on other pages stay."""
    before, here = of_run(run), frozenset(shown)
    kept = [item for item in before.cards if item not in here]
    session.keep("map.picks", replace(before, cards=(*kept, *picked)))


def pick_all(run: str, items: Sequence[str]) -> None:
    before = of_run(run)
    session.keep("map.picks", replace(before, cards=tuple(items), turn=before.turn + 1))


def drop_cards(run: str) -> bool:
    """Let go of the cards; whether there were any."""
    found = bool(of_run(run).cards)
    if found:
        pick_all(run, ())
    return found


def let_go(run: str, items: Sequence[str]) -> bool:
    """These are decided, which their gallery knows already; whether any of them was picked."""
    before, gone = of_run(run), frozenset(items)
    left = tuple(item for item in before.cards if item not in gone)
    session.keep("map.picks", replace(before, cards=left))
    return left != before.cards


def redraw(*names: str) -> None:
    """Draw these fragments anew; where one is not there, all that Streamlit was about to draw.

    A late message of a browser may find that the page of its fragments is left.
    """
    try:
        st.rerun(names)
    except StreamlitAPIException:
        return


def clear(run: str) -> None:
    before = of_run(run)
    session.keep("map.picks", Picks(run, round=before.round + 1, turn=before.turn + 1))
