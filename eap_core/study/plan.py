"""What a study consists of: its cells, each with a key of all that its result depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn

from eap_core.base.errors import DataError, EapError, quote
from eap_core.base.files import key_of
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.evaluators import EVALUATORS
from eap_core.scoring.settings import AUTHORS
from eap_core.study.data import (
    FEWEST_IN_TABLES,
    DataSet,
    choose_datasets,
    find_datasets,
    fingerprint,
    with_rows,
)
from eap_core.study.run import Cell

_FORM = "1"  # counted up whenever the same plan comes to mean other figures


@dataclass(frozen=True)
class StudyPlan:
    """``datasets`` are studied, ``pool`` are all that may lend rows."""

    datasets: tuple[DataSet, ...]
    pool: tuple[DataSet, ...]
    seeds: int
    evaluators: tuple[str, ...]
    points: int
    notes: tuple[str, ...] = ()

    def cells(self) -> list[Cell]:
        """Seed by seed, so that an unfinished study knows something of every data set."""
        prints = {one.name: fingerprint(one) for one in {*self.pool, *self.datasets}}
        return [
            Cell(data, seed, self.pool, self.evaluators, self.points, self._key(data, seed, prints))
            for seed in range(self.seeds)
            for data in self.datasets
        ]

    def _key(self, data: DataSet, seed: int, prints: dict[str, str]) -> str:
        lenders = [one for one in self.pool if one.track == data.track]
        return key_of(
            *(_FORM, np.__version__, sklearn.__version__, repr(AUTHORS)),
            *(repr(EVALUATORS[name]) for name in self.evaluators),
            *(str(self.points), data.name, data.label or "", str(seed), prints[data.name]),
            *(text for one in lenders for text in (one.name, prints[one.name])),
        )


def plan_study(
    folder: Path,
    features: Path,
    names: Sequence[str],
    evaluators: Sequence[str],
    seeds: int,
    points: int,
    label: str | None = None,
    progress: Progress = silent,
) -> StudyPlan:
    """The study of a folder's data sets, or of those of these names.

    Images become rows in the folder ``features`` first. A data set that cannot be read stays in, so
    that its cells say why, but lends no rows.
    """
    found = find_datasets(folder, label)
    choose_datasets(found, names)  # a wrong name is said before the work
    made = [
        with_rows(one, features, step) if one.is_folder else one
        for one, step in zip(found, equal_parts(progress, len(found)), strict=True)
    ]
    anomalies = {one: _anomalies(one) for one in made}
    wanted, notes = (choose_datasets(made, names), ()) if names else _large_enough(anomalies)
    if not wanted:
        raise DataError(
            f"{quote(folder.name)} holds only tables with fewer than {FEWEST_IN_TABLES} "
            "anomalies, which the paper leaves out",
            advice="name data sets to study them all the same",
            code="datasets-small",
        )
    pool = tuple(one for one, count in anomalies.items() if count is not None)
    return StudyPlan(tuple(wanted), pool, seeds, tuple(evaluators), points, notes)


def _large_enough(
    anomalies: Mapping[DataSet, int | None],
) -> tuple[list[DataSet], tuple[str, ...]]:
    """The data sets without the tables of few anomalies, and what to say about those."""
    small = [
        one
        for one, count in anomalies.items()
        if one.track == "tables" and count is not None and count < FEWEST_IN_TABLES
    ]
    if not small:
        return list(anomalies), ()
    note = (
        f"{len(small)} tables with fewer than {FEWEST_IN_TABLES} anomalies are not studied, as in "
        f"the paper, but lend rows: {', '.join(one.name for one in small)} — name them to "
        "have them in"
    )
    return [one for one in anomalies if one not in small], (note,)


def _anomalies(data: DataSet) -> int | None:
    try:
        return int(data.rows().labels.sum())
    except EapError:
        return None
