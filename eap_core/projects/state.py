"""What a project holds at present, as one digest: the key of everything derived from it."""

from __future__ import annotations

import hashlib

from eap_core.store.items import uploads_of
from eap_core.store.store import Store


def state_of(store: Store, project: str) -> str:
    """Changes whenever an upload is added, removed or put back; an upload itself never changes."""
    digest = hashlib.sha256()
    for upload in uploads_of(store, project):
        if upload.removed_at is None:
            digest.update(f"{upload.id} {upload.items - upload.removed}\n".encode())
    return digest.hexdigest()
