"""The scores of a run beside what is known of each candidate, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eap_core.category import category_of
from eap_core.queue_order import evaluator_columns
from eap_core.store import runs
from eap_core.store.items import items_of
from eap_core.store.store import Store

__all__ = ["evaluator_columns", "run_frame"]

if TYPE_CHECKING:
    import pandas as pd


def run_frame(store: Store, run_id: str) -> pd.DataFrame:
    """One row per candidate of the run that is still in the project, best first."""
    import pandas as pd  # slow to import

    run = runs.by_id(store, run_id)
    order = runs.candidates_of(store, run_id)
    known = {item.id: item for item in items_of(store, run.project, "candidate")}
    kept = [i for i, item in enumerate(order) if item in known]
    items = [known[order[i]] for i in kept]
    scores = {name: values[kept] for name, values in runs.scores_of(store, run_id).items()}
    frame = pd.DataFrame(
        {"item": [item.id for item in items], "id": [item.name for item in items], **scores}
    )
    if {"p_y", "covered"} <= set(scores):
        frame["category"] = category_of(scores["p_y"], scores["covered"])
    for key in dict.fromkeys(key for item in items for key in item.metadata):
        name = key if key not in frame else f"{key} (given)"
        frame[name] = [str(item.metadata.get(key, "")) for item in items]
    return frame.sort_values("rank", ignore_index=True) if "rank" in frame else frame
