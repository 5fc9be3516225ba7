"""The papers of a bundle: the dataset card for people, the manifest for machines."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from eap_core.analysis.trust import Estimate, Rehearsal, describe, describe_weakness
from eap_core.base import __version__
from eap_core.base.errors import escape_controls, escape_markdown
from eap_core.export import PlacedImage, describe_loading
from eap_core.export.files import Names
from eap_core.export.request import (
    Counts,
    ExportRequest,
    ExportSelection,
    ExportSource,
    tie_at_cut,
)
from eap_core.health import count_things
from eap_core.review import VERDICT_WORDS, Conflict, Decision, measure_agreement
from eap_core.store.items import Item
from eap_core.store.runs import make_portable

_COUNTED = {
    "candidates": "candidates",
    "accepted_by_reviewers": "accepted by reviewers",
    "accepted_by_rule": "accepted by the rule",
    "rejected": "rejected by reviewers",
    "undecided": "undecided",
    "flagged": "flagged",
}


def write_card(
    source: ExportSource,
    request: ExportRequest,
    selection: ExportSelection,
    images: Sequence[PlacedImage],
    notes: Sequence[str],
    category: str,
    names: Names,
) -> str:
    """README.md; names are data, with every mark taken literally."""
    counts = selection.counts
    parts = [
        f"# {escape_markdown(source.project.name)}: curated synthetic anomalies",
        _what(source, request, images),
        "## How they were chosen",
        _describe_choice(source, request, counts),
        _table(counts),
        *_describe_trust(source.rehearsal),
        *_reviewers(source, counts),
        "## In this bundle",
        _contents(request, images, names.table),
        *([_list(notes)] if notes else []),
        *describe_loading(request.form, images, category, names.table),
        "## Use",
        "For training and checking anomaly detectors on this product. The anomalies are generated: "
        "a measurement on them says nothing about real defects, and they must not be passed on as "
        "photographs of real ones.",
        f"Made with EAP Curator {__version__}; settings, versions and hashes are in "
        f"{_file(names.manifest)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _what(source: ExportSource, request: ExportRequest, images: Sequence[PlacedImage]) -> str:
    what = f"A bundle in the form *{request.form.title}*."
    real = sum(each.item.role != "candidate" for each in images)
    if images:
        made = len(images) - real
        return f"{what} {made:,} of its images are **synthetic** and {real:,} are real."
    kind = "rows" if source.project.kind == "table" else "images"
    return f"{what} Every candidate in the table is **synthetic**: {kind} made by a generator."


def _describe_choice(source: ExportSource, request: ExportRequest, counts: Counts) -> str:
    text = (
        "Each candidate has a score from 0 to 1, the Expected Anomaly Posterior: high where it "
        "looks anomalous and the data reach that far. "
    )
    if counts.accepted_by_reviewers or counts.rejected:
        text += "Reviewers looked at candidates and accepted or rejected them."
    else:
        text += "No reviewer has decided on any candidate."
    if request.top is None:
        text += " Only what a reviewer accepted counts as accepted."
    else:
        text += (
            f" The best {request.top:g} % of all scored candidates were also accepted by rule, "
            "except where a reviewer had decided: reviewers rejected "
            f"{counts.overruled:,} that the rule would take, and accepted {counts.added:,} that it "
            "would not."
        )
    tie = tie_at_cut(source.scores, request.top)
    if tie is not None:
        text += (
            f" The cut falls among candidates with equal scores: {tie.taken:,} of these {tie.of:,} "
            "were taken by the rule, in the order of their names."
        )
    if source.changed:
        text += " Data were added or removed after the scoring."
    return text


def _table(counts: Counts) -> str:
    known = asdict(counts)
    lines = [f"| {words} | {known[name]:,} |" for name, words in _COUNTED.items()]
    return "\n".join(["| what | number |", "|---|---|", *lines])


def _describe_trust(rehearsal: Rehearsal | None) -> list[str]:
    if rehearsal is None:
        return []
    figures = rehearsal.trial("eap")
    lines = [
        describe(rehearsal, "eap"),
        f"Measured on {rehearsal.m:,} real anomalies that were left out in turn and scored like "
        f"candidates, among {rehearsal.normals:,} normals that were left out, too (AUC "
        f"{_interval(figures.above_normals)}) and {rehearsal.impossible:,} rows that cannot be "
        f"real (AUC {_interval(figures.above_impossible)}); in brackets 90 % intervals.",
        describe_weakness(rehearsal) or "",
    ]
    return ["## How far the score can be trusted here", " ".join(filter(None, lines))]


def _interval(figure: Estimate) -> str:
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def _reviewers(source: ExportSource, counts: Counts) -> list[str]:
    names = {item.id for item in source.items["candidate"]}
    found = measure_agreement([row for row in source.log if row.item in names])
    lines = [
        f"{escape_markdown(each.first)} and {escape_markdown(each.second)} "
        f"both decided on {each.items:,} and agree on "
        f"{each.share:.0%}" + ("" if each.kappa is None else f" (Cohen's κ {each.kappa:.2f})")
        for each in found
    ]
    if counts.conflicts:
        lines.append(
            f"reviewers disagree on {count_things(counts.conflicts, 'candidate')} without having "
            "seen each other's decision; the later one counts"
        )
    return ["## Reviewers", _list(lines)] if lines else []


def _contents(request: ExportRequest, images: Sequence[PlacedImage], table: str) -> str:
    if not images:
        rows = "accepted candidates" if request.only == "accepted" else "all candidates"
        return f"{_file(table)}: {rows}, one row each, best first."
    folders: dict[str, int] = {}
    for member in (member for each in images for member in each.members):
        folder = member.path.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0) + 1
    lines = [f"| `{folder}/` | {count:,} |" for folder, count in sorted(folders.items())]
    return "\n".join(["| folder | files |", "|---|---|", *lines])


def _file(name: str) -> str:
    return escape_markdown(name) if "`" in name else f"`{escape_controls(name)}`"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}." for line in lines)


# What was exported, how it was chosen and from what, for machines; no time but one.

KIND = "eap-curator bundle"
VERSION = 1


def make_manifest(
    source: ExportSource,
    request: ExportRequest,
    selection: ExportSelection,
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
            "settings": make_portable(run.settings),
            "versions": dict(run.versions),
            "findings": [
                {key: finding[key] for key in ("code", "severity", "what")}
                for finding in run.findings
            ],
            "scores": [name for name in source.frame if source.frame[name].dtype.kind in "iuf"],
            "data_changed_since": source.changed,
            "rehearsal": _rehearsal(source.rehearsal),
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


def _rehearsal(rehearsal: Rehearsal | None) -> dict[str, Any] | None:
    """Its figures, without those of each real anomaly, and as exact as they are worth."""
    if rehearsal is None:
        return None
    record = rehearsal.record
    for trial in record["trials"]:
        del trial["real"]
    found: dict[str, Any] = json.loads(json.dumps(record), parse_float=_round)
    return found


def _round(number: str) -> float:
    return round(float(number), 4)


def _selection(
    source: ExportSource, request: ExportRequest, selection: ExportSelection
) -> dict[str, Any]:
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


def _by_kind(
    source: ExportSource, selection: ExportSelection, key: str
) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for item in source.items["candidate"]:
        if key in item.metadata and item.id in selection.settled:
            kind = found.setdefault(str(item.metadata[key]), Counter())
            kind[selection.settled[item.id].outcome] += 1
    return {kind: dict(sorted(counts.items())) for kind, counts in sorted(found.items())}


def _review(source: ExportSource, selection: ExportSelection) -> dict[str, Any]:
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
        "agreement": [asdict(each) for each in measure_agreement(own)],
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
    return {"reviewer": row.reviewer, "decision": VERDICT_WORDS[row.verdict]}


def _digest(items: Sequence[Item]) -> str:
    """Of the hashes or names in their order: changes with any item."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item.sha256 or item.name!r}\n".encode())
    return digest.hexdigest()
