"""What a project holds at present, as one digest: the key of everything derived from it."""

from __future__ import annotations

from eap_core.store.ids import state_digest
from eap_core.store.items import present_uploads
from eap_core.store.store import Store


def state_of(store: Store, project: str) -> str:
    """Changes whenever an upload is added, removed or put back; an upload itself never changes."""
    return state_digest(present_uploads(store, project))
