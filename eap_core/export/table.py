"""The curated table: one row per candidate, with what was decided and what its score rests on."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eap_core.base.files import csv_text
from eap_core.base.table import KEYS, free_name
from eap_core.export.request import ExportSelection, ExportSource
from eap_core.review.log import REASONS, UNTOUCHED
from eap_core.store.items import Item

if TYPE_CHECKING:
    import pandas as pd


_SCORES = ("eap", "percentile", "rank", "p_y", "weight", "observations", "prior", "category")


def curate_table(
    source: ExportSource,
    selection: ExportSelection,
    rows: list[str],
    split: str,
    files: Mapping[str, str],
) -> pd.DataFrame:
    """The rows in their order; ``files`` are the paths of images in the bundle by item."""
    import pandas as pd  # slow to import

    items = {item.id: item for item in source.items["candidate"]}
    own = [items[row] for row in rows]
    frame = pd.DataFrame(
        {
            "id": _texts(item.name for item in own),
            "file": _texts(files.get(row, "") for row in rows),
            "sha256": _texts(item.sha256 or "" for item in own),
            **_decisions(source, selection, rows),
            **_scores(source, rows),
            "run": _texts(source.run.id for _ in rows),
        }
    )
    for name, values in _metadata(own).items():
        frame[free_name(name, {*frame, "synthetic", "split"}.__contains__)] = _texts(values)
    frame["synthetic"] = True
    frame["split"] = _texts(split for _ in rows)
    return frame


def write_parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def write_csv(frame: pd.DataFrame) -> bytes:
    return csv_text(frame).encode()


def _decisions(source: ExportSource, selection: ExportSelection, rows: list[str]) -> dict[str, Any]:
    states = [source.states.get(row, UNTOUCHED) for row in rows]
    decided = [state if state.decided else UNTOUCHED for state in states]
    return {
        "decision": _texts(selection.settled[row].outcome for row in rows),
        "decided_by": _texts(selection.settled[row].by for row in rows),
        "reason": _texts(REASONS[state.reason] if state.reason else "" for state in decided),
        "note": _texts(state.note for state in decided),
        "reviewer": _texts(state.reviewer or "" for state in decided),
        "decided_at": _texts(state.at.isoformat() if state.at else "" for state in decided),
        "flagged": [state.flagged for state in states],
    }


def _scores(source: ExportSource, rows: list[str]) -> dict[str, Any]:
    """The score with its parts first, then every other number that the run has."""
    known = source.frame.set_index("item").reindex(rows)
    numbers = [str(name) for name in known if known[name].dtype.kind in "iuf"]
    first = [name for name in _SCORES if name in numbers or name == "category"]
    found = {name: known[name].reset_index(drop=True) for name in dict.fromkeys(first + numbers)}
    found["rank"] = found["rank"].astype("Int64")  # a whole number also beside gaps
    found["category"] = found["category"].fillna("")
    return found


def _metadata(items: Sequence[Item]) -> dict[str, list[str]]:
    """What people said of the candidates; the names that everybody knows come first."""
    keys = dict.fromkeys(key for item in items for key in item.metadata)
    ordered = [key for key in KEYS if key in keys] + [key for key in keys if key not in KEYS]
    return {key: [str(item.metadata.get(key, "")) for item in items] for key in ordered}


def _texts(values: Iterable[str]) -> pd.Series:
    import pandas as pd

    return pd.Series(list(values), dtype="str")  # also where there is not a single row
