"""The errors a caller can act on. Everything else is a bug and is left to surface."""

from __future__ import annotations

_SHOWN = 60


class EapError(ValueError):
    """What is wrong — where — what is accepted or what to do, in one sentence."""


class DataError(EapError):
    """The given data cannot be used."""


class UnavailableError(DataError):
    """The disk or the database refused what was given; the same may be taken later."""


class SettingsError(EapError):
    """A setting is outside what the method allows."""


def shown(value: object) -> str:
    """A value as it may appear in a message: escaped, quoted and cut to 60 characters."""
    text = value if isinstance(value, str) else repr(value)
    safe = printable(text[: _SHOWN + 1])  # cut first: a cell may hold megabytes
    return f"'{safe}'" if len(safe) <= _SHOWN else f"'{safe[:_SHOWN]}…'"


def printable(text: str) -> str:
    """Without control characters, which could rewrite a terminal or fake a name."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def listed(names: list[str], most: int = 5) -> str:
    """Some names as they may appear in a message, with the number left out."""
    head = ", ".join(shown(name) for name in names[:most])
    return head if len(names) <= most else f"{head} and {len(names) - most:,} more"
