"""The scores of a run beside what is known of each candidate, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eap_core.category import category_of
from eap_core.store import runs
from eap_core.store.items import items_of
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


def run_frame(store: Store, run_id: str) -> pd.DataFrame:
    """One row per candidate of the run: item, name, scores, category, metadata."""
    import pandas as pd  # slow to import

    run = runs.by_id(store, run_id)
    order = runs.candidates_of(store, run_id)
    known = {item.id: item for item in items_of(store, run.project, "candidate", removed=True)}
    items = [known[item] for item in order]
    scores = runs.scores_of(store, run_id)
    frame = pd.DataFrame(
        {"item": list(order), "id": [item.name for item in items], **scores}, copy=True
    )
    if {"p_y", "covered"} <= set(scores):
        frame["category"] = category_of(scores["p_y"], scores["covered"])
    for key in dict.fromkeys(key for item in items for key in item.metadata):
        name = key if key not in frame else f"{key} (given)"
        frame[name] = [str(item.metadata.get(key, "")) for item in items]
    return frame.sort_values("rank", ignore_index=True) if "rank" in frame else frame
