"""From the tables a person has to the Problem the evaluators need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import numpy as np

from eap_core.errors import DataError, SettingsError, listed, shown
from eap_core.medians import filled
from eap_core.one_hot import encoded
from eap_core.problem import ASSUMED_RATE, LARGEST, Problem
from eap_core.table import Floats, Labels, Table

Scale = Literal["standard", "none"]
WITHOUT_ANOMALIES = "there are no real anomalies"
_SMALL_SPREAD = 0.001  # columns that vary less are centred, not scaled


def problem_from_tables(
    normals: Table,
    candidates: Table,
    anomalies: Table | None = None,
    *,
    scale: Scale = "standard",
    assumed_rate: float | None = None,
) -> Problem:
    """Match the tables' columns by name, drop what never varies, standardise, validate.

    ``normals`` may itself hold both classes in a label column; then ``anomalies`` is added to them.
    Text columns of few values become columns of 0 and 1, and gaps are filled, both as the training
    data alone say; rows of a table that drops gaps may be fewer after it.
    """
    parts, labels, candidates = _matched(normals, candidates, anomalies)
    normals, train = parts[0], np.concatenate([part.values for part in parts])
    rate, warnings = _rate(labels, assumed_rate)
    varies = np.ptp(train, axis=0) > 0
    if len(train) > 1 and not varies.any():
        raise DataError(
            f"all {len(train):,} training rows are identical — at least one column must vary"
        )
    constant = [name for name, keep in zip(normals.columns, varies, strict=True) if not keep]
    if constant:
        warnings += (
            f"{normals.source}: {listed(constant)} never varies in the training data — "
            "carries nothing and is left out",
        )
    centre, spread = standardisation(train[:, varies], scale)
    return Problem(
        x_train=(train[:, varies] - centre) / spread,
        y_train=labels,
        x_candidates=(candidates.values[:, varies] - centre) / spread,
        ids=candidates.ids,
        train_ids=_distinct(parts),
        columns=tuple(name for name, keep in zip(normals.columns, varies, strict=True) if keep),
        rate=rate,
        centre=centre,
        spread=spread,
        notes=_once(note for part in [*parts, candidates] for note in part.notes),
        warnings=_once(text for part in [*parts, candidates] for text in part.warnings) + warnings,
    )


def _matched(
    normals: Table, candidates: Table, anomalies: Table | None
) -> tuple[list[Table], Labels, Table]:
    """Tables with the same columns, all of numbers, and the labels of the training rows."""
    parts = [normals] if anomalies is None else [normals, anomalies]
    *parts, candidates = encoded(parts, _labels(parts), candidates)
    *parts, candidates = [t.ordered_like(parts[0].columns) for t in [*parts, candidates]]
    if not parts[0].columns:
        raise DataError(f"{normals.source} has no column to score — leave one as a feature")
    for part in [*parts, candidates]:
        _check_size(part)
    labels = np.concatenate(_labels(parts))
    *parts, candidates = filled(parts, labels, candidates)
    return parts, labels, candidates


def _labels(parts: list[Table]) -> list[Labels]:
    return [_labels_of(part, default=position) for position, part in enumerate(parts)]


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _check_size(part: Table) -> None:
    """Refuse what could not be squared, before anything is computed from it."""
    bad = np.argwhere(np.abs(part.values) >= LARGEST)
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{part.source}, row {shown(part.ids[i])}, column {shown(part.columns[j])} holds "
            f"{part.values[i, j]:g} — numbers from {LARGEST:g} on are not accepted; use larger "
            "units"
        )


def _labels_of(part: Table, default: int) -> Labels:
    if part.labels is None:
        return np.full(len(part), default, dtype=np.int8)
    if default == 1 and not part.labels.all():
        raise DataError(
            f"{part.source} is given as anomalies but holds rows labelled 0 — remove them, or give "
            "the file as training data"
        )
    return part.labels


def _rate(labels: Labels, assumed: float | None) -> tuple[float, tuple[str, ...]]:
    if assumed is not None and not 0 < assumed < 0.5:
        raise SettingsError(
            f"an assumed share of anomalies of {assumed:g} is not possible — "
            "it must lie above 0 and below 0.5"
        )
    if labels.any():
        return float(labels.mean()), ()
    rate = assumed or ASSUMED_RATE
    return rate, (
        f"{WITHOUT_ANOMALIES}: the prior, the threshold and k cannot be learned — an "
        f"anomaly rate of {rate:g} is assumed for the first two, and k keeps its prior, which "
        "draws the balls wide; evaluators that measure detection (loo, ame, influence, data_oob, "
        "data_banzhaf and the Shapley values) have nothing to measure and give 0; state the rate "
        "you expect, or add a few real anomalies",
    )


def standardisation(train: Floats, scale: Scale = "standard") -> tuple[Floats, Floats]:
    """The centre and the spread that rows are brought to the training rows' scale with."""
    d = train.shape[1]
    if scale == "none":
        return np.zeros(d), np.ones(d)
    spread = train.std(axis=0, ddof=1)
    return train.mean(axis=0), np.where(spread < _SMALL_SPREAD, 1.0, spread)


def _distinct(parts: list[Table]) -> tuple[str, ...]:
    """Training ids; an id that stands in both tables is told apart by its file."""
    counts = Counter(name for part in parts for name in part.ids)
    return tuple(
        name if counts[name] == 1 else f"{part.source}:{name}"
        for part in parts
        for name in part.ids
    )
