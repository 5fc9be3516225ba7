"""The export on screen: its choices, the picture of what goes out, the bundles there are."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from eap_core.base.table import Role
from eap_core.export import FORMS, Format, Only, forms_of
from eap_core.export.bundle import Bundle, delete, list_bundles
from eap_core.export.request import Counts, ExportRequest, SettledItem
from eap_core.health import count_things
from eap_core.review.queue import mix_of
from eap_core.store.projects import Kind
from ui import files, frame, session
from ui.map_pane import DOUBT, mixture_words
from ui.scored_project import ScoredProject
from ui.text import ROLE_WORDS

_ROWS: dict[str, Only] = {"All candidates": "all", "Accepted only": "accepted"}
_HELD_OUT: tuple[Role, ...] = ("test_normal", "test_anomaly")


@dataclass(frozen=True)
class Rule:
    """How many of the best are also accepted, and whether only picked candidates go along."""

    top: float | None
    items: tuple[str, ...] | None


def choose_rule(candidates: set[str]) -> Rule:
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


def rule_words(found: ScoredProject, settled: Mapping[str, SettledItem]) -> None:
    """What the rule adds: the best of a bad lot is still bad."""
    added = [item for item, each in settled.items() if each.by == "rule"]
    of = mix_of(found.table, added)
    text = f"{count_things(len(added), 'more candidate')} accepted by score"
    text += f", of which {mixture_words(of)}" if added else ""
    rest = "What a reviewer has rejected stays out, and what a reviewer has accepted stays in."
    if of.doubtful:
        st.warning(f"{text}. {DOUBT} {rest}", icon=":material/warning:")
    else:
        st.caption(f"{text}. {rest}")


def choose_form(kind: Kind) -> Format:
    """The form of the bundle, in words."""
    known = forms_of(kind)
    chosen = st.radio(
        "Form of the bundle",
        known,
        format_func=lambda name: FORMS[name].title,
        captions=[FORMS[each].summary for each in known],
        key="export.form",
    )
    if kind != "images":
        st.caption("Image folders can be made of projects that hold images.")
    return chosen


def make_request(chosen: Format, rule: Rule) -> ExportRequest:
    """The rest, which hardly anybody needs to change."""
    with st.expander("More choices"):
        rows = st.segmented_control(
            "The table lists", list(_ROWS), default="All candidates", key="export.rows",
            required=True,
        )  # fmt: skip
        synthetic = real = False
        if FORMS[chosen].has_images:
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
    return ExportRequest(
        chosen, rule.top, _ROWS[rows or "All candidates"], synthetic, real, rule.items
    )


def choose_contents(found: ScoredProject, wanted: ExportRequest, counts: Counts) -> str:
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


def _real(count: int, wanted: ExportRequest) -> list[str]:
    if not count:
        return []
    if wanted.real_in_test:
        return [f"{count:,} real anomalies, in the test data"]
    if wanted.form.real_in_training:
        return [f"{count:,} real anomalies, in the training data"]
    return [f"not the {count:,} real anomalies: this form has no place for them in training"]


# Bundles that are there: listed, downloaded, deleted.


def show_bundles(found: ScoredProject) -> None:
    """Every bundle of the project; the latest is chosen."""
    made = list_bundles(found.store, found.project.id)
    if not made:
        return
    st.subheader("Bundles", anchor=False)
    chosen = made[0] if len(made) == 1 else _choose_bundle(made)
    if chosen is None:
        st.info("Choose a bundle in the table to download or delete it.")
        return
    _show_bundle(found, chosen)


def _choose_bundle(made: Sequence[Bundle]) -> Bundle | None:
    table = pd.DataFrame(
        {
            "made": [frame.clock(each.created) for each in made],
            "form": [FORMS[each.manifest["format"]].title for each in made],
            "accepted": [each.counts["accepted"] for each in made],
            "candidates": [each.counts["candidates"] for each in made],
            "size": [size_in_words(each.size) for each in made],
            "sha256": [each.sha256 for each in made],
        }
    )
    picked = st.dataframe(
        table,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        column_config={
            "made": "Made",
            "form": "Form",
            "accepted": "Accepted",
            "candidates": "Candidates",
            "size": "Size",
            "sha256": "SHA-256",
        },
        # The latest is chosen again when another one comes or goes.
        key=f"export.bundles.{made[0].name}.{len(made)}",
        alt="Bundles of this project, latest first",
    )
    rows = picked["selection"]["rows"]
    return made[rows[0]] if rows else None


def _show_bundle(found: ScoredProject, chosen: Bundle) -> None:
    counts = chosen.counts
    rule = chosen.manifest["selection"]["rule"]
    best = f", the best {rule['accept_best_percent']:g} % by score" if rule else ""
    st.markdown(
        f"**{FORMS[chosen.manifest['format']].title}**, made {frame.clock(chosen.created)}: "
        f"{counts['accepted']:,} of {counts['candidates']:,} candidates accepted{best}"
    )
    st.caption(f"SHA-256 {chosen.sha256}")
    with st.container(horizontal=True, gap="small"):
        files.show_link(
            f"Download everything (ZIP, {size_in_words(chosen.size)})",
            files.bundle_address(found.project.id, chosen.name),
            "export.zip",
            primary=True,
        )
        files.show_link(
            "Download the table alone",
            files.offer_download("table", chosen.read_table, f"{chosen.path.stem}-{chosen.table}"),
            "export.table",
        )
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("Only this bundle goes; candidates and decisions stay.")
            if st.button("Delete this bundle", key="export.delete", type="primary"):
                delete(found.store, found.project.id, chosen.name)
                st.rerun()


def size_in_words(count: int) -> str:
    """Bytes as a person says them."""
    for unit, amount in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= amount:
            return f"{count / amount:.1f} {unit}"
    return f"{count} bytes"


# The picture of what will be exported; nothing here knows Streamlit.

Outcomes = Mapping[str, SettledItem]
_EVERYTHING = "all candidates"
_MOST_GROUPS = 12


@dataclass(frozen=True)
class _Part:
    """One kind of outcome: words, colour (Okabe and Ito's) and pattern say the same."""

    words: str
    colour: str
    pattern: str


PARTS: Mapping[SettledItem, _Part] = {
    SettledItem("accepted", "reviewer"): _Part("accepted by reviewers", "#009E73", ""),
    SettledItem("accepted", "rule"): _Part("accepted by score", "#56B4E9", "/"),
    SettledItem("rejected", "reviewer"): _Part("rejected", "#D55E00", "x"),
    SettledItem("undecided", ""): _Part("undecided", "#BBBBBB", "."),
}


def shares_chart(settled: Outcomes, groups: Mapping[str, str]) -> go.Figure:
    """One bar for all candidates, and one for each group of them, by outcome."""
    lines = _lines(settled, groups)
    names = list(lines)
    figure = go.Figure()
    for outcome, part in PARTS.items():
        counts = [lines[name][outcome] for name in names]
        if not any(counts):
            continue
        totals = [lines[name].total() for name in names]
        figure.add_bar(
            x=[100 * n / total for n, total in zip(counts, totals, strict=True)],
            y=[html.escape(name) for name in names],
            orientation="h",
            name=part.words,
            text=[f"{n:,}" if n else "" for n in counts],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "#000000", "size": 14},
            customdata=totals,
            marker={
                "color": part.colour,
                "pattern": {
                    "shape": part.pattern,
                    "fillmode": "overlay",
                    "fgcolor": "#FFFFFF",
                    "fgopacity": 0.6,
                    "size": 7,
                    "solidity": 0.25,
                },
            },
            hovertemplate="%{text} of %{customdata}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        barmode="stack",
        height=70 + 34 * len(names),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
        xaxis={"visible": False, "range": [0, 100]},
        yaxis={"autorange": "reversed", "automargin": True, "ticksuffix": "  "},
    )
    return figure


def shares_words(settled: Outcomes) -> str:
    """What the picture shows, for whoever does not see it."""
    counts = Counter(settled.values())
    told = ", ".join(f"{counts[each]:,} {part.words}" for each, part in PARTS.items())
    return f"Of {len(settled):,} candidates: {told}"


def _lines(settled: Outcomes, groups: Mapping[str, str]) -> dict[str, Counter[SettledItem]]:
    """The largest groups first; the smallest ones together where there are many."""
    lines = {_EVERYTHING: Counter(settled.values())}
    sizes = Counter(groups[item] for item in settled if item in groups)
    largest = [name for name, _ in sizes.most_common(_MOST_GROUPS)]
    for item, each in settled.items():
        if item in groups:
            name = groups[item] if groups[item] in largest else "others"
            lines.setdefault(_label(name), Counter())[each] += 1
    ordered: Sequence[str] = sorted(lines, key=lambda name: -lines[name].total())
    others = [name for name in ordered if name != _EVERYTHING]
    return {name: lines[name] for name in (_EVERYTHING, *others)}


def _label(name: str) -> str:
    text = name or "not named"
    return text if len(text) <= 30 else f"{text[:29]}…"
