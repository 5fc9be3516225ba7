"""What the JSON in a backup's rows must hold, so that nothing that reads it later can stumble.

A function for each table names the first value that the program could not use, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eap_core.errors import printable
from eap_core.store.blobs import is_hash

Row = Mapping[str, Any]
Shape = Mapping[str, type | tuple[type, ...]]
_NUMBER, _ABSENT = (int, float), ()
_TAKEN: Shape = {"counts": dict, "skipped": list, "notes": list, "warnings": list}
_TABLE: Shape = {
    **{"reading": dict, "source": str, "columns": list, "texts": list, "categorical": list},
    **{"missing": str, "digest": str},
}
_PLAN: Shape = {
    **{"evaluators": list, "settings": dict, "prior": (*_NUMBER, type(None))},
    **{"assumed_rate": (*_NUMBER, type(None)), "seed": int, "features": str},
    **{"notes": list, "warnings": list},
}
_OF_CLIP: Shape = {"clip_model": str, "weights": (str, type(None)), "int8": bool}
_FINDING: Shape = {"code": str, "severity": str, "what": str, "todo": str, "where": list}
_SEVERITIES = ("stop", "warning", "note")
_FACTS: Shape = {
    **{"width": int, "height": int, "mode": str, "format": str, "grey": bool},
    **{"brightness": _NUMBER, "contrast": _NUMBER, "perceptual": str, "pixels": str},
    **{"notes": list},
}


def upload_lacks(row: Row) -> str | None:
    details = row["details"]
    wrong = _lacking(details, _TAKEN if row["kind"] != "table" else {**_TAKEN, **_TABLE})
    if wrong is None and not all(_pair(each) for each in details["skipped"]):
        wrong = "skipped"
    if wrong is None and row["kind"] == "table":
        wrong = None if is_hash(details["digest"]) else "digest"
    if wrong is None and row["kind"] in ("table", "features"):
        wrong = _reading_lacks(row)
    return wrong and f"uploads.details.{wrong}"


def item_lacks(row: Row, kind: str) -> str | None:
    """``kind`` is that of the upload."""
    if not isinstance(row["metadata"], dict):
        return "items.metadata"
    if kind != "images":
        return None if isinstance(row["facts"], dict) else "items.facts"
    if row["sha256"] is None:
        return "items.sha256"
    wrong = _lacking(row["facts"], _FACTS, alone=True)
    return wrong and f"items.facts.{wrong}"


def run_lacks(row: Row) -> str | None:
    from eap_core.settings import Settings  # slow to import

    wrong = _lacking(row["settings"], _PLAN) or _misfit(row["settings"])
    if wrong is None and not _makes(Settings, row["settings"]["settings"]):
        wrong = "settings"
    if wrong is not None:
        return f"runs.settings.{wrong}"
    if not isinstance(row["candidates"], list):
        return "runs.candidates"
    return None if all(_finding(each) for each in row["findings"]) else "runs.findings"


def _reading_lacks(row: Row) -> str | None:
    from eap_core.readers import Reading  # slow to import

    given = row["details"].get("reading")
    if row["sha256"] is None or not isinstance(given, dict):
        return "reading"
    lists = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return None if _makes(Reading, lists) else "reading"


def _lacking(found: object, shape: Shape, *, alone: bool = False) -> str | None:
    """The first key that is absent or of another type; ``alone`` allows no further keys."""
    if not isinstance(found, dict):
        return "*"
    wrong = [key for key, kind in shape.items() if not isinstance(found.get(key, _ABSENT), kind)]
    return next(iter([*wrong, *(found.keys() - shape.keys() if alone else ())]), None)


def _misfit(found: Row) -> str | None:
    """What is wrong of what is said of CLIP; an older program said nothing of it."""
    wrong = _lacking(found, {key: kind for key, kind in _OF_CLIP.items() if key in found})
    texts = ((key, found.get(key) or "") for key in ("clip_model", "weights"))
    return wrong or next((key for key, text in texts if printable(text) != text), None)


def _pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _finding(record: object) -> bool:
    if not isinstance(record, dict) or _lacking(record, _FINDING, alone=True) is not None:
        return False
    return record["severity"] in _SEVERITIES and all(isinstance(w, str) for w in record["where"])


def _makes(kind: Callable[..., object], fields: Mapping[str, Any]) -> bool:
    try:
        kind(**fields)
    except (TypeError, ValueError):
        return False
    return True
