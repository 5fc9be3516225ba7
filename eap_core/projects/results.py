"""The scores of a run beside what is known of each candidate, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eap_core.category import category_of
from eap_core.evaluators import EVALUATORS
from eap_core.queue_order import evaluator_columns
from eap_core.scoring import column_name
from eap_core.store import runs
from eap_core.store.names import names_of
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluator_columns", "run_frame"]
_OURS = frozenset(column_name(name) for name in EVALUATORS)  # also those that are not computed
_EAP = ("eap", "percentile", "rank", "category", "p_y", "weight", "prior", "observations", "p_x")


def run_frame(store: Store, run_id: str) -> pd.DataFrame:
    """One row per candidate of the run that is still in the project, best first.

    It has the columns of what the run has so far: EAP with its parts, other evaluators, metadata.
    """
    import pandas as pd  # slow to import

    run = runs.by_id(store, run_id)
    order = runs.candidates_of(store, run_id)
    known = names_of(store, run.project, "candidate")
    kept = [i for i, item in enumerate(order) if item in known]
    items = [order[i] for i in kept]
    columns: dict[str, Any] = {
        name: values[kept] for name, values in runs.scores_of(store, run_id).items()
    }
    if {"p_y", "covered"} <= set(columns):
        columns["category"] = category_of(columns["p_y"], columns["covered"])
    if "rank" in columns:
        columns["rank"] = columns["rank"].astype(int)
    rows: dict[str, Any] = {"item": items, "id": [known[item][0] for item in items]}
    rows |= {name: columns[name] for name in _in_order(columns)}
    for key, cells in _metadata([known[item][1] for item in items]).items():
        rows[f"{key} (given)" if key in rows or key in _OURS else key] = cells
    frame = pd.DataFrame(rows)
    return frame.sort_values("rank", ignore_index=True) if "rank" in frame else frame


def _in_order(columns: Mapping[str, Any]) -> list[str]:
    """EAP and what it is made of, then the other evaluators."""
    others = [name for name in evaluator_columns(columns) if name != "eap"]
    first = [name for name in _EAP if name in columns]
    return [*first, *(name for name in columns if name not in (*first, *others)), *others]


def _metadata(told: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What people said of each candidate, a column for each thing that any of them has."""
    keys = dict.fromkeys(key for metadata in told for key in metadata)
    return {key: [str(metadata.get(key, "")) for metadata in told] for key in keys}
