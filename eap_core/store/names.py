"""Names and metadata of a role's items, without the rest of each row: a tenth of the time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Text, select, type_coerce

from eap_core.collector import paused_collector
from eap_core.roles import Role
from eap_core.store.schema import items
from eap_core.store.store import Store


def names_of(store: Store, project: str, role: Role) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The name and the metadata of each item that is not removed, by its id."""
    written = type_coerce(items.c.metadata, Text)  # as it is kept: JSON
    query = select(items.c.id, items.c.name, written).where(
        items.c.project == project, items.c.role == role, items.c.removed_at.is_(None)
    )
    with paused_collector(), store.reading() as connection:
        rows = connection.execute(query).all()
        # One text is parsed much faster than thousands.
        known = json.loads(f"[{','.join(text for _, _, text in rows)}]")
        return {
            item: (name, metadata) for (item, name, _), metadata in zip(rows, known, strict=True)
        }
