"""Why a candidate has its score, from what the run has kept, beside what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.analysis.explain import in_words, place_in_words, reach_in_words
from eap_core.analysis.trust import JUDGED_BY, Lines, describe_label
from eap_core.evaluators import EVALUATORS
from eap_core.project.results import CandidateFacts
from eap_core.scoring.posterior import INDISTINGUISHABLE, REALISTIC
from eap_core.scoring.reach import VIEWS
from eap_core.store.items import Item
from eap_core.store.store import Store
from ui import cached, charts
from ui.scored_project import ScoredProject
from ui.text import escape_markdown

# A candidate beside the training images that its score rests on.

_WIDTH = 165  # two beside one another on a phone


def find_neighbours(
    insight: CandidateFacts, item: str, items: Mapping[str, Item]
) -> list[tuple[str, Item]]:
    """The nearest normals and the nearest real anomaly of a candidate that are still there."""
    row = int(insight.rows([item])[0])
    found = [("Nearest normal", int(i)) for i in insight.nearest[row]]
    found.append(("Nearest real anomaly", int(insight.anomaly[row])))
    named = [(words, insight.training[i]) for words, i in found if i >= 0]
    return [(words, items[other]) for words, other in named if other in items]


def show_side_by_side(store: Store, pictures: list[tuple[str, Item]]) -> None:
    """Images in a row, each with what it is."""
    with st.container(horizontal=True, gap="small"):
        for words, item in pictures:
            show_picture(store, words, item)


def show_picture(store: Store, words: str, item: Item, width: int = _WIDTH) -> None:
    """One image with its caption; the thumbnail where there is one."""
    assert item.sha256 is not None  # every image has its original
    path = store.blobs.thumbnail_path(item.sha256)
    picture = path if path.is_file() else store.blobs.path(item.sha256)
    caption = f"{words}: {escape_markdown(item.name)}" if words else None
    st.image(str(picture), caption, width=width, alt=f"{words} {item.name}".strip())


_BARE: dict[str, Any] = {"displayModeBar": False}


def show_why(found: ScoredProject, item: str) -> None:
    """The sentence, what the score is made of, and the training data behind it."""
    row = found.table[found.table["item"] == item].iloc[0]
    st.text(f"{row['id']} — {charts.WORDS[row['category']]}")
    insight = cached.insight(found.run.id)
    st.markdown(why_in_words(found, row, insight))
    unexpected = surprise_words(row, found.table)
    if unexpected:
        st.info(unexpected, icon=":material/lightbulb:")
    if insight is None or item not in insight.candidates:
        st.caption("Its nearest training examples are not known yet.")
    else:
        _neighbours(found, insight, item)
    _figures(found.table, row)


def why_in_words(found: ScoredProject, row: pd.Series, insight: CandidateFacts | None) -> str:
    """Why a candidate has its place, and how often its category is wrong here."""
    error = _error_in_words(found, str(row["category"]))
    return f"{_place_in_words(found, row, insight)} {error}".rstrip()


def _error_in_words(found: ScoredProject, category: str) -> str:
    kept = cached.rehearsal(found.run.id)
    if kept is None:
        return ""
    name = found.chosen if found.chosen in JUDGED_BY else "eap"
    how: Lines = "data" if found.run.settings.get("lines") == "data" else "paper"
    return describe_label(kept, name, category, how)


def _place_in_words(found: ScoredProject, row: pd.Series, insight: CandidateFacts | None) -> str:
    """By the chosen score's own parts where it has any."""
    of = max(len(found.table), int(found.table["rank"].max()))
    place = place_in_words(int(row["rank"]), of, int(row["tied"]))
    if found.chosen == "reach":
        view = list(VIEWS)[int(row["reach_limit"])]
        training = len(insight.training) if insight else None
        return reach_in_words(row["looks"], row["rows"], training, view, place)
    said = in_words(row["category"], row["looks"], row["support"], place)
    if found.chosen == "eap":
        return said
    return f"{said} The order is by {EVALUATORS[found.chosen].title}; the rest is EAP's."


def surprise_words(row: pd.Series, table: pd.DataFrame) -> str | None:
    """Why the category and the rank seem to contradict one another, where they do."""
    above = table[table["rank"] < row["rank"]]
    if row["category"] == REALISTIC and row["percentile"] < 50:
        usual = float(above["support"].median())
        if row["support"] < usual:
            return (
                "Realistic, and yet in the lower half: the normal data say little about its place, "
                f"so only {row['support']:.0%} of its score is evidence and the rest is what is "
                f"believed of any candidate. Those above it have {usual:.0%} as a rule."
            )
        others = float(above["looks"].median())
        return (
            "Realistic, and yet in the lower half: it looks anomalous with "
            f"{row['looks']:.0%} only, those above it with {others:.0%} as a rule."
        )
    if row["category"] == INDISTINGUISHABLE and row["percentile"] >= 50:
        passed = table[(table["rank"] > row["rank"]) & (table["category"] == REALISTIC)]
        if len(passed):
            return (
                f"It looks more normal than anomalous, and yet ranks above {len(passed):,} "
                "realistic candidates: the data say more about its place than about theirs."
            )
    return None


def _neighbours(found: ScoredProject, insight: CandidateFacts, item: str) -> None:
    near = find_neighbours(insight, item, found.items)
    if found.project.kind == "images":
        show_side_by_side(found.store, [("Candidate", found.items[item]), *near])
        return
    for words in dict.fromkeys(words for words, _ in near):
        names = ", ".join(other.name for other_words, other in near if other_words == words)
        st.text(f"{words}: {names}")
    _deviations(insight, item)


def _deviations(insight: CandidateFacts, item: str) -> None:
    """For tables: the features by which it differs most from its nearest normals."""
    if insight.deviations is None:
        return
    made, row = insight.deviations, int(insight.rows([item])[0])
    kept = np.flatnonzero(made.which[row] >= 0)
    st.markdown("**What is unusual about it**, compared with its nearest normals")
    st.dataframe(
        pd.DataFrame(
            {
                "feature": [made.columns[j] for j in made.which[row][kept]],
                "z": made.z[row][kept],
                "value": made.value[row][kept],
                "typical": made.typical[row][kept],
            }
        ),
        hide_index=True,
        column_config={
            "feature": st.column_config.TextColumn("Feature", width=120),
            "z": st.column_config.NumberColumn(
                "Unusual by",
                format="%+.1f",
                width=80,
                help="In widths of the normal spread; most normals lie within ±1.",
            ),
            "value": st.column_config.NumberColumn("Here", format="%.4g", width=75),
            "typical": st.column_config.NumberColumn("Nearest normals", format="%.4g", width=85),
        },
        alt="The features that differ most from the nearest normals",
    )


def _figures(table: pd.DataFrame, row: pd.Series) -> None:
    weight, p_y, prior = (float(row[name]) for name in ("support", "looks", "prior"))
    st.plotly_chart(
        charts.parts_chart(weight, p_y, prior, best=float(table["posterior"].max())),
        config=_BARE,
        alt=f"Score {row['posterior']:.2f}: evidence {weight * p_y:.2f}, the rest is prior belief",
        key="why.bar",
    )
    with st.expander("Compared with all candidates", icon=":material/scatter_plot:"):
        st.markdown(
            "A candidate scores high when it **looks anomalous** and the normal data give "
            "**evidence** about its place. Dotted lines join equal scores."
        )
        st.plotly_chart(
            charts.sides_chart(table, str(row["item"])),
            config=_BARE,
            alt="Each candidate by how anomalous it looks and by evidence; "
            f"{escape_markdown(row['id'])} "
            f"looks anomalous with {p_y:.0%} and has {weight:.0%} evidence",
            key="why.sides",
        )
