"""What may not enter the log, each with the sentence that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from eap_core.errors import DataError, shown
from eap_core.review import REASONS, VERDICTS, Decision
from eap_core.store.texts import checked_text

LONGEST_NOTE = 2_000
_LONGEST_REVIEWER = 100
_LONGEST_ID = 64
# A retry may know more of the log than the first try did, so ``seen`` is no part of the content.
_content = attrgetter("uuid", "item", "verdict", "reviewer", "reason", "note", "batch", "undo_of")


def check(decision: Decision) -> None:
    """Refuse a decision that is not one, whatever the log holds."""
    _refuse_unknown(decision.verdict, VERDICTS, "verdict")
    if decision.reason is not None:
        _refuse_unknown(decision.reason, tuple(REASONS), "reason")
    if (decision.verdict == "undo") != (decision.undo_of is not None):
        raise DataError("an undo must name the decision it takes back, and only an undo may")
    checked_text(decision.reviewer.strip(), "the reviewer's name", most=_LONGEST_REVIEWER, least=1)
    checked_text(decision.note, "the note", most=LONGEST_NOTE)
    for text in (decision.uuid, decision.item, decision.batch, decision.undo_of):
        if text is not None:
            checked_text(text, "an id", most=_LONGEST_ID, least=1)


def fresh(new: Sequence[Decision], known: Mapping[str, Decision]) -> list[Decision]:
    """What is not saved yet, each once; a uuid with another content is refused."""
    found = dict(known)
    for decision in new:
        before = found.setdefault(decision.uuid, decision)
        if _content(before) != _content(decision):
            raise DataError(
                f"the decision {shown(decision.uuid)} is saved with another content — a new "
                "decision needs a new uuid"
            )
    return [decision for uuid, decision in found.items() if uuid not in known]


def _refuse_unknown(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise DataError(f"{shown(value)} is no {what} — choose one of {', '.join(allowed)}")
