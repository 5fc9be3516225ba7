"""The choices of an export: the rule, the form, and what goes where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from eap_core.export.request import FORMATS, TABLES, Format, Only, Request
from eap_core.export.selection import Counts, Settled
from eap_core.health.finding import counted
from eap_core.roles import Role
from eap_core.selection import mixture
from ui import session
from ui.subject import Subject
from ui.threshold import DOUBT, mixed
from ui.words import ROLE_WORDS

_ABOUT: dict[Format, str] = {
    "csv": "One row per candidate, for Excel, LibreOffice or pandas.",
    "parquet": "The same table for programs: exact types, small.",
    "anomalib": "Folders that anomalib's Folder reads: normal, abnormal, mask, synthetic.",
    "mvtec": "train/good, test, ground_truth as in MVTec AD; synthetic images beside it.",
    "imagefolder": "train and test with a metadata.csv, for load_dataset.",
}
_ROWS: dict[str, Only] = {"All candidates": "all", "Accepted only": "accepted"}
_HELD_OUT: tuple[Role, ...] = ("test_normal", "test_anomaly")


@dataclass(frozen=True)
class Rule:
    """How many of the best are also accepted, and whether only picked candidates go along."""

    top: float | None
    items: tuple[str, ...] | None


def rule(candidates: set[str]) -> Rule:
    """Off until somebody wants it; what a reviewer said always counts more."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        wanted = st.toggle("Also accept the best, where nobody has decided", key="export.rule")
        top = None
        if wanted:
            top = st.slider(
                "Best of all candidates, in percent", 1, 100, 20, key="export.top", width=320
            )
    picked = tuple(item for item in session.current().chosen if item in candidates)
    items = None
    if picked and st.toggle(f"Only the {len(picked):,} chosen on the map", key="export.picked"):
        items = picked
    return Rule(None if top is None else float(top), items)


def said_of_rule(found: Subject, settled: Mapping[str, Settled]) -> None:
    """What the rule adds: the best of a bad lot is still bad."""
    added = [item for item, each in settled.items() if each.by == "rule"]
    of = mixture(found.table, added)
    text = f"{counted(len(added), 'more candidate')} accepted by score"
    text += f", of which {mixed(of)}" if added else ""
    rest = "What a reviewer has rejected stays out, and what a reviewer has accepted stays in."
    if of.doubtful:
        st.warning(f"{text}. {DOUBT} {rest}", icon=":material/warning:")
    else:
        st.caption(f"{text}. {rest}")


def form(kind: str) -> Format:
    """The form of the bundle, in words."""
    known = [each for each in FORMATS if kind == "images" or each in TABLES]
    chosen = st.radio(
        "Form of the bundle",
        known,
        format_func=FORMATS.__getitem__,
        captions=[_ABOUT[each] for each in known],
        key="export.form",
    )
    if kind != "images":
        st.caption("Image folders can be made of projects that hold images.")
    return chosen


def request(chosen: Format, rule: Rule) -> Request:
    """The rest, which hardly anybody needs to change."""
    with st.expander("More choices"):
        rows = st.segmented_control(
            "The table lists", list(_ROWS), default="All candidates", key="export.rows",
            required=True,
        )  # fmt: skip
        synthetic = real = False
        if chosen not in TABLES:
            synthetic = st.toggle(
                "Put the synthetic images into the test data, not into training",
                key="export.synthetic",
                help="A test on generated anomalies says nothing about real ones.",
            )
            real = st.toggle(
                "Put the real anomalies into the test data",
                key="export.real",
                help="The scores have learnt from them, so that a test on them flatters.",
            )
    return Request(chosen, rule.top, _ROWS[rows or "All candidates"], synthetic, real, rule.items)


def contents(found: Subject, wanted: Request, counts: Counts) -> str:
    """What the bundle will hold, as a list."""
    listed = counts.accepted if wanted.only == "accepted" else counts.candidates
    lines = [f"a table of {listed:,} candidates with scores, decisions and reasons"]
    if wanted.has_images:
        lines.append(
            f"{counts.accepted:,} accepted synthetic images, in the "
            + ("test data" if wanted.synthetic_in_test else "training data")
        )
        roles = [item.role for item in found.items.values()]
        for role in ("normal", *_HELD_OUT):
            if n := roles.count(role):
                lines.append(f"{n:,} {ROLE_WORDS[role].lower()}")
        lines += _real(roles.count("anomaly"), wanted)
        lines.append("masks, where images have them")
    lines.append("a manifest with settings, versions and hashes, and a dataset card")
    return "\n".join(f"- {line}" for line in lines)


def _real(count: int, wanted: Request) -> list[str]:
    if not count:
        return []
    if wanted.real_in_test:
        return [f"{count:,} real anomalies, in the test data"]
    if wanted.format == "imagefolder":
        return [f"{count:,} real anomalies, in the training data"]
    return [f"not the {count:,} real anomalies: this form has no place for them in training"]
