"""Texts that a database must hold exactly, and ids that it can append quickly."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterable
from uuid import UUID

from eap_core.base.errors import DataError, quote


def check_text(text: str, what: str, *, most: int, least: int = 0) -> str:
    """The text itself, if its length is allowed and both databases can keep every character."""
    if len(text) < least:
        raise DataError(f"{what} is empty", advice=f"give at least {least} character")
    if len(text) > most:
        raise DataError(
            f"{what} has {len(text):,} characters",
            advice=f"at most {most:,} are kept",
        )
    if "\0" in text or not _encodable(text):
        raise DataError(
            f"{what} {quote(text)} holds a character that is no text",
            advice="remove it",
        )
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Ids of many rows at once: UUIDs of version 7, which begin with the time.
#
# Rows that come together get neighbouring ids, so a database appends to its index instead of
# writing all over it: random ids made adding 100,000 items take about twice as long.

_COUNTER_BITS = 62
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_ids(count: int) -> list[str]:
    """Different ids in increasing order; the first is random, the others count up from it."""
    head = (time.time_ns() // 1_000_000 << 16 | 0x7000 | secrets.randbits(12)) << 64 | 1 << 63
    first = secrets.randbits(_COUNTER_BITS - 1)  # a free bit, so that counting cannot overflow
    return [str(UUID(int=head | first + i)) for i in range(count)]


def is_id(text: str) -> bool:
    """Ids become names of files and folders: nothing else may pass for one."""
    return _ID.fullmatch(text) is not None


def state_digest(present: Iterable[str]) -> str:
    """What a project holds, as one digest of the ids of its present uploads in their order."""
    return hashlib.sha256("\n".join(present).encode()).hexdigest()
