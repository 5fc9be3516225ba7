"""A scored table behind the server's back, and what its log amounts to."""

from __future__ import annotations

import time
from pathlib import Path

from eap_core.analysis import Plan
from eap_core.project import InputFile, Target
from eap_core.project.intake import take
from eap_core.project.run import score_project
from eap_core.review import ItemState, fold
from eap_core.store import projects
from eap_core.store.decisions import read_log
from eap_core.store.items import items_of
from eap_core.store.store import Store
from tests.eap_core.project.conftest import table_text

CANDIDATES = 40
_ROWS: tuple[tuple[Target, int, float], ...] = (
    ("normal", 80, 0.0),
    ("anomaly", 5, 3.0),
    ("candidate", CANDIDATES, 2.0),
)


def scored_table(store: Store, folder: Path) -> str:
    made = projects.create(store, f"rows {time.monotonic_ns()}", "table").id
    for seed, (target, rows, shift) in enumerate(_ROWS, 1):
        file = folder / f"{target}.csv"
        file.write_text(table_text(rows, seed, shift, generator="drawn"))
        take(store, made, [InputFile.at(file)], target)
    score_project(store, made, Plan())
    return made


def states(store: Store, project: str) -> dict[str, ItemState]:
    """How each candidate stands, by its name."""
    names = {item.id: item.name for item in items_of(store, project)}
    return {names[item]: state for item, state in fold(read_log(store, project)).items()}
