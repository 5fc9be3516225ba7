"""Selections and figures of prompts in words."""

from __future__ import annotations

from ui import methods

_WORDS = {
    "accepted": "Accepted in the review",
    "known": "Known real anomalies",
    "oracle": "All real anomalies, test included",
    "random": "A third at random",
}


def selection_words(name: str) -> str:
    """A selection as a person would call it."""
    return _WORDS.get(name) or f"Best third by {methods.WORDS[name]}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
