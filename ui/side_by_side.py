"""A candidate beside the training images that its score rests on."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from eap_core.projects.insight import Insight
from eap_core.store.items import Item
from eap_core.store.store import Store
from ui.words import plain

_WIDTH = 165  # two beside one another on a phone


def neighbours(insight: Insight, item: str, items: Mapping[str, Item]) -> list[tuple[str, Item]]:
    """The nearest normals and the nearest real anomaly of a candidate that are still there."""
    row = int(insight.rows([item])[0])
    found = [("Nearest normal", int(i)) for i in insight.nearest[row]]
    found.append(("Nearest real anomaly", int(insight.anomaly[row])))
    named = [(words, insight.training[i]) for words, i in found if i >= 0]
    return [(words, items[other]) for words, other in named if other in items]


def show(store: Store, pictures: list[tuple[str, Item]]) -> None:
    """Images in a row, each with what it is."""
    with st.container(horizontal=True, gap="small"):
        for words, item in pictures:
            one(store, words, item)


def one(store: Store, words: str, item: Item, width: int = _WIDTH) -> None:
    """One image with its caption; the thumbnail where there is one."""
    assert item.sha256 is not None  # every image has its original
    path = store.blobs.thumbnail_path(item.sha256)
    picture = path if path.is_file() else store.blobs.path(item.sha256)
    caption = f"{words}: {plain(item.name)}" if words else None
    st.image(str(picture), caption, width=width, alt=f"{words} {item.name}".strip())
