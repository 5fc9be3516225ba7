"""A candidate beside the training images that its score rests on."""

from __future__ import annotations

import streamlit as st

from eap_core.explain import Explanation
from eap_core.roles import Role
from eap_core.store.items import Item, items_of
from eap_core.store.store import Store
from ui.words import plain

_WIDTH = 190


def show(store: Store, project: str, found: Explanation) -> None:
    """The candidate, its nearest normals, and the nearest real anomaly."""
    shown: list[tuple[str, Role, str]] = [("Candidate", "candidate", found.id)]
    shown += [("Nearest normal", "normal", near.id) for near in found.nearest_normals]
    if found.nearest_anomaly:
        shown.append(("Nearest real anomaly", "anomaly", found.nearest_anomaly.id))
    items = {(item.role, item.name): item for item in items_of(store, project)}
    with st.container(horizontal=True, gap="small"):
        for words, role, name in shown:
            item = items.get((role, name.removeprefix("the images:")))
            if item is not None:
                _one(store, words, item)


def _one(store: Store, words: str, item: Item) -> None:
    assert item.sha256 is not None  # every image has its original
    path = store.blobs.thumbnail_path(item.sha256)
    picture = path if path.is_file() else store.blobs.path(item.sha256)
    st.image(str(picture), f"{words}: {plain(item.name)}", width=_WIDTH, alt=f"{words} {item.name}")
