"""The dataset card: what is in the bundle and how it was chosen, for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict

from eap_core import __version__
from eap_core.agreement import agreements
from eap_core.errors import printable
from eap_core.export.layout import Placed
from eap_core.export.loading import loading
from eap_core.export.names import Names
from eap_core.export.request import FORMATS, Request
from eap_core.export.selection import Counts, Selection, tie_at_cut
from eap_core.export.source import Source
from eap_core.health.finding import counted

_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$:&])")
_COUNTED = {
    "candidates": "candidates",
    "accepted_by_reviewers": "accepted by reviewers",
    "accepted_by_rule": "accepted by the rule",
    "rejected": "rejected by reviewers",
    "undecided": "undecided",
    "flagged": "flagged",
}


def card(
    source: Source,
    request: Request,
    selection: Selection,
    images: Sequence[Placed],
    notes: Sequence[str],
    category: str,
    names: Names,
) -> str:
    """README.md; names are data, with every mark taken literally."""
    counts = selection.counts
    parts = [
        f"# {plain(source.project.name)}: curated synthetic anomalies",
        _what(source, request, images),
        "## How they were chosen",
        _chosen(source, request, counts),
        _table(counts),
        *_reviewers(source, counts),
        "## In this bundle",
        _contents(request, images, names.table),
        *([_list(notes)] if notes else []),
        *loading(request, images, category, names.table),
        "## Use",
        "For training and checking anomaly detectors on this product. The anomalies are generated: "
        "a measurement on them says nothing about real defects, and they must not be passed on as "
        "photographs of real ones.",
        f"Made with EAP Curator {__version__}; settings, versions and hashes are in "
        f"{_file(names.manifest)}.",
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Text for Markdown, with nothing in it understood as such."""
    return _MARKS.sub(r"\\\1", printable(text))


def _what(source: Source, request: Request, images: Sequence[Placed]) -> str:
    what = f"A bundle in the form *{FORMATS[request.format]}*."
    real = sum(each.item.role != "candidate" for each in images)
    if images:
        made = len(images) - real
        return f"{what} {made:,} of its images are **synthetic** and {real:,} are real."
    kind = "rows" if source.project.kind == "table" else "images"
    return f"{what} Every candidate in the table is **synthetic**: {kind} made by a generator."


def _chosen(source: Source, request: Request, counts: Counts) -> str:
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


def _reviewers(source: Source, counts: Counts) -> list[str]:
    names = {item.id for item in source.items["candidate"]}
    found = agreements([row for row in source.log if row.item in names])
    lines = [
        f"{plain(each.first)} and {plain(each.second)} both decided on {each.items:,} and agree on "
        f"{each.share:.0%}" + ("" if each.kappa is None else f" (Cohen's κ {each.kappa:.2f})")
        for each in found
    ]
    if counts.conflicts:
        lines.append(
            f"reviewers disagree on {counted(counts.conflicts, 'candidate')} without having seen "
            "each other's decision; the later one counts"
        )
    return ["## Reviewers", _list(lines)] if lines else []


def _contents(request: Request, images: Sequence[Placed], table: str) -> str:
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
    return plain(name) if "`" in name else f"`{printable(name)}`"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}." for line in lines)
