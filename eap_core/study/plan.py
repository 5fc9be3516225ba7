"""What a study consists of: its cells, each with a key of all that its result depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn

from eap_core.base.errors import DataError, EapError, SettingsError, quote
from eap_core.base.files import explain_unwritable, key_of, whole_file
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
from eap_core.study.unrealistic import FOREIGN, Unrealistic, check_kind

_FORM = "1"  # counted up whenever the same plan comes to mean other figures


@dataclass(frozen=True)
class StudyPlan:
    """``datasets`` are studied, ``pool`` are all that may lend rows.

    Without ``points`` there are no learning curves. Seeds are counted from ``first_seed``.
    """

    datasets: tuple[DataSet, ...]
    pool: tuple[DataSet, ...]
    seeds: int
    evaluators: tuple[str, ...]
    points: int
    notes: tuple[str, ...] = ()
    unrealistic: Unrealistic = FOREIGN
    first_seed: int = 0

    def cells(self) -> list[Cell]:
        """Seed by seed, so that an unfinished study knows something of every data set."""
        prints = {one.name: fingerprint(one) for one in {*self.pool, *self.datasets}}
        return [
            Cell(
                data,
                seed,
                self.pool,
                self.evaluators,
                self.points,
                self._key(data, seed, prints),
                self.unrealistic,
            )
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            for data in self.datasets
        ]

    def _key(self, data: DataSet, seed: int, prints: dict[str, str]) -> str:
        lenders = [one for one in self.pool if one.track == data.track]
        return key_of(
            *(_FORM, np.__version__, sklearn.__version__, repr(AUTHORS)),
            *(repr(EVALUATORS[name]) for name in self.evaluators),
            *(str(self.points), data.name, data.label or "", str(seed), prints[data.name]),
            *(text for one in lenders for text in (one.name, prints[one.name])),
            # Cells of the paper's kind were kept before there were others.
            *(() if self.unrealistic == FOREIGN else (self.unrealistic,)),
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
    unrealistic: str = FOREIGN,
    first_seed: int = 0,
) -> StudyPlan:
    """The study of a folder's data sets, or of those of these names.

    Images become rows in the folder ``features`` first. A data set that cannot be read stays in, so
    that its cells say why, but lends no rows.
    """
    kind = check_kind(unrealistic)
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
    chosen = tuple(wanted), pool, seeds, tuple(evaluators), points, notes
    return StudyPlan(*chosen, kind, first_seed)


# What a folder of results is of: figures of two kinds of candidates would not compare.

_FILE = "plan.json"


def claim_folder(plan: StudyPlan, out: Path) -> None:
    """Say in the folder which kind of unrealistic candidates it is for; refuse another's."""
    known = _kind_of(out)
    if known is not None and known != plan.unrealistic:
        raise SettingsError(
            f"{quote(out.name)} holds a study whose unrealistic candidates are {quote(known)}, not "
            f"{quote(plan.unrealistic)}",
            advice="keep each kind in a folder of its own",
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(out / _FILE) as file:
            file.write(json.dumps({"unrealistic": plan.unrealistic}).encode())
    except OSError as error:
        raise explain_unwritable(out, error) from error


def _kind_of(out: Path) -> str | None:
    """The kind in a folder's plan; the paper's where there are cells from before there were any."""
    try:
        found = json.loads((out / _FILE).read_text(encoding="utf-8"))
        return str(found["unrealistic"])
    except (OSError, ValueError, LookupError, TypeError):
        return FOREIGN if any((out / "cells").glob("*.json")) else None


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
