"""What was exported, how it was chosen and from what, for machines; no time but one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from eap_core import __version__
from eap_core.agreement import agreements
from eap_core.export.request import Request
from eap_core.export.selection import Selection, tie_at_cut
from eap_core.export.source import Source
from eap_core.review import Conflict, Decision
from eap_core.store.items import Item
from eap_core.store.runs import portable

KIND = "eap-curator bundle"
VERSION = 1
_VERDICT_WORDS = {"accept": "accepted", "reject": "rejected"}


def manifest(
    source: Source,
    request: Request,
    selection: Selection,
    files: Mapping[str, Mapping[str, str | int]],
    notes: Sequence[str],
    created: datetime,
) -> dict[str, Any]:
    """Everything but the data, with the hash of every other file of the bundle."""
    run = source.run
    return {
        "kind": KIND,
        "version": VERSION,
        "made_by": f"EAP Curator {__version__}",
        "created": created.isoformat(timespec="seconds"),
        "format": request.format,
        "project": {
            "id": source.project.id,
            "name": source.project.name,
            "kind": source.project.kind,
        },
        "selection": _selection(source, request, selection),
        "review": _review(source, selection),
        "run": {
            "id": run.id,
            "fingerprint": run.fingerprint,
            "settings": portable(run.settings),
            "versions": dict(run.versions),
            "findings": [
                {key: finding[key] for key in ("code", "severity", "what")}
                for finding in run.findings
            ],
            "scores": [name for name in source.frame if source.frame[name].dtype.kind in "iuf"],
            "data_changed_since": source.changed,
        },
        "inputs": {
            "uploads": [
                {
                    "name": upload.name,
                    "kind": upload.kind,
                    "sha256": upload.sha256,
                    "items": upload.items - upload.removed,
                }
                for upload in source.uploads
            ],
            "items": {
                role: {"count": len(items), "sha256": _digest(items)}
                for role, items in source.items.items()
                if items
            },
        },
        "order": "rows are best first; candidates without a score come last",
        "notes": list(notes),
        "files": {path: dict(each) for path, each in sorted(files.items())},
    }


def _selection(source: Source, request: Request, selection: Selection) -> dict[str, Any]:
    rule = None
    if request.top is not None:
        tie = tie_at_cut(source.scores, request.top)
        rule = {
            "accept_best_percent": request.top,
            "of": "all candidates that have a score",
            "equal_scores_at_the_cut": tie and {"taken": tie.taken, "of": tie.of, "by": "name"},
        }
    return {
        "rule": rule,
        "rows": request.only,
        "synthetic_in": "test" if request.synthetic_in_test else "train",
        "real_anomalies_in_test": request.real_in_test,
        "picked": None if request.items is None else len(selection.settled),
        "counts": asdict(selection.counts),
        "by_defect_type": _by_kind(source, selection, "defect_type"),
        "by_generator": _by_kind(source, selection, "generator"),
    }


def _by_kind(source: Source, selection: Selection, key: str) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for item in source.items["candidate"]:
        if key in item.metadata and item.id in selection.settled:
            kind = found.setdefault(str(item.metadata[key]), Counter())
            kind[selection.settled[item.id].outcome] += 1
    return {kind: dict(sorted(counts.items())) for kind, counts in sorted(found.items())}


def _review(source: Source, selection: Selection) -> dict[str, Any]:
    names = {item.id: item.name for item in source.items["candidate"]}
    decided = Counter(
        source.states[item].reviewer
        for item, settled in selection.settled.items()
        if settled.by == "reviewer"
    )
    own = [row for row in source.log if row.item in names]
    return {
        "log_rows": len(source.log),
        "decisions_by_reviewer": dict(sorted((str(who), n) for who, n in decided.items())),
        "agreement": [asdict(each) for each in agreements(own)],
        "conflicts": [
            _conflict(names[item], conflict)
            for item in selection.settled
            if item in source.states
            for conflict in source.states[item].conflicts
        ],
    }


def _conflict(name: str, conflict: Conflict) -> dict[str, Any]:
    return {
        "id": name,
        "disagree": conflict.disagree,
        "earlier": _decision(conflict.earlier),
        "later": _decision(conflict.later),
    }


def _decision(row: Decision) -> dict[str, str]:
    return {"reviewer": row.reviewer, "decision": _VERDICT_WORDS[row.verdict]}


def _digest(items: Sequence[Item]) -> str:
    """Of the hashes or names in their order: changes with any item."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item.sha256 or item.name!r}\n".encode())
    return digest.hexdigest()
