"""Text that a person gave and a database must hold exactly."""

from __future__ import annotations

from eap_core.errors import DataError, shown


def checked_text(text: str, what: str, *, most: int, least: int = 0) -> str:
    """The text itself, if its length is allowed and both databases can keep every character."""
    if len(text) < least:
        raise DataError(f"{what} is empty — give at least {least} character")
    if len(text) > most:
        raise DataError(f"{what} has {len(text):,} characters — at most {most:,} are kept")
    if "\0" in text or not _encodable(text):
        raise DataError(f"{what} {shown(text)} holds a character that is no text — remove it")
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
