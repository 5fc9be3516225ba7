"""What every evaluator is given: a training set and the candidates to score."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, SettingsError, list_names, quote
from eap_core.base.table import Floats, Labels

ASSUMED_RATE = 0.05
_FEWEST_NORMALS = 3  # what the smallest k_min of any convention needs
LARGEST = 1e140  # squares of larger differences are not finite


@dataclass(frozen=True, eq=False)
class Problem:
    """n training rows, m of them anomalies, and l candidates, validated and read-only.

    ``centre`` and ``spread`` record the standardisation that the arrays have been through;
    ``rate`` is m/n, or the assumed share of anomalies where there are none.
    """

    x_train: Floats
    y_train: Labels
    x_candidates: Floats
    ids: tuple[str, ...]
    train_ids: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rate: float = 0.0
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    spread: Floats = field(default_factory=lambda: np.ones(0))
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        d = self.x_train.shape[-1]
        defaults = {
            "x_train": _frozen(self.x_train, np.float64),
            "y_train": _frozen(_labels(self.y_train), np.int8),
            "x_candidates": _frozen(self.x_candidates, np.float64),
            "train_ids": self.train_ids or tuple(f"row {i + 1}" for i in range(len(self.x_train))),
            "columns": self.columns or tuple(f"f{j}" for j in range(d)),
            "rate": self.rate or float(np.mean(self.y_train)) or ASSUMED_RATE,
            "centre": _frozen(self.centre if self.centre.size else np.zeros(d), np.float64),
            "spread": _frozen(self.spread if self.spread.size else np.ones(d), np.float64),
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)
        _check_shapes(self)
        _check_values("training", self.x_train, self.train_ids, self.columns)
        _check_values("candidate", self.x_candidates, self.ids, self.columns)
        _check_ids("training", self.train_ids)
        _check_ids("candidate", self.ids)
        _check_labels(self)

    @property
    def n(self) -> int:
        return len(self.y_train)

    @property
    def m(self) -> int:
        return int(self.y_train.sum())

    @cached_property
    def normals(self) -> npt.NDArray[np.intp]:
        """The training rows that are normal."""
        return np.flatnonzero(self.y_train == 0)

    @cached_property
    def anomalies(self) -> npt.NDArray[np.intp]:
        """The training rows that are real anomalies."""
        return np.flatnonzero(self.y_train == 1)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of all that a score can depend on: the key of everything derived from it."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_candidates):
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
        for names in (self.columns, self.train_ids, self.ids):
            for name in names:
                encoded = name.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
        digest.update(np.float64(self.rate).tobytes())
        return digest.hexdigest()

    def parts(self, budget: int, arrays: int) -> list[Problem]:
        """The problem with some of its candidates at a time, as many as let the given number of
        training rows × candidates arrays fit into the budget."""
        step = max(1, budget // (8 * self.n * arrays))
        return [self] if step >= len(self.ids) else self.parts_of(step)

    def parts_of(self, step: int) -> list[Problem]:
        """The problem with so many of its candidates at a time."""
        return [
            replace(self, x_candidates=self.x_candidates[i : i + step], ids=self.ids[i : i + step])
            for i in range(0, len(self.ids), step)
        ]

    def drawn(self, most_normals: int, seed: int) -> Problem:
        """The problem with at most so many of its normals, drawn at random.

        Anomalies stay, unless they would no longer be rarer than the normals: then a quarter of the
        normals' number is drawn. The share of anomalies is that of what is drawn.
        """
        if len(self.normals) <= most_normals:
            return self
        rng = np.random.default_rng(seed)
        normals = rng.choice(self.normals, most_normals, replace=False)
        anomalies = self.anomalies
        if self.m >= most_normals:
            anomalies = rng.choice(anomalies, most_normals // 4, replace=False)
        rows = np.sort(np.concatenate([normals, anomalies]))
        assumed = self.rate if self.m == 0 else 0.0
        note = f"{most_normals:,} of {len(self.normals):,} normals are drawn for scoring"
        if len(anomalies) < self.m:
            note += f", and {len(anomalies):,} of {self.m:,} real anomalies"
        return replace(
            self,
            x_train=self.x_train[rows],
            y_train=self.y_train[rows],
            train_ids=tuple(self.train_ids[row] for row in rows),
            rate=assumed,
            notes=(*self.notes, f"{note}: more would not rank the candidates better"),
        )

    def position(self, candidate: str) -> int:
        """The row of a candidate."""
        try:
            return self.ids.index(candidate)
        except ValueError:
            raise DataError(
                f"no candidate has the id {quote(candidate)}",
                advice=f"the ids are {list_names(list(self.ids))}",
            ) from None


def _frozen(array: npt.ArrayLike, dtype: type) -> npt.NDArray[np.float64]:
    out: npt.NDArray[np.float64] = np.array(array, dtype=dtype, order="C")
    out.setflags(write=False)
    return out


def _labels(labels: npt.ArrayLike) -> npt.NDArray[np.generic]:
    given = np.asarray(labels)
    odd = sorted({str(value) for value in given.ravel() if value not in (0, 1)})
    if odd:
        raise DataError(
            f"the labels hold {list_names(odd)}",
            advice="only 0 (normal) and 1 (anomaly) are accepted",
        )
    return given


def _check_shapes(problem: Problem) -> None:
    x, y, c = problem.x_train, problem.y_train, problem.x_candidates
    if x.ndim != 2 or c.ndim != 2 or y.ndim != 1 or x.shape[1] == 0:
        raise DataError(
            f"training {x.shape}, labels {y.shape} and candidates {c.shape} do not fit",
            advice="rows × columns tables with at least one column and one label per training row "
            "are accepted",
        )
    if c.shape[1] != x.shape[1]:
        raise DataError(
            f"the candidates have {c.shape[1]:,} columns and the training data {x.shape[1]:,}",
            advice="both must have the same",
        )
    lengths = {
        "labels": (len(y), len(x)),
        "training ids": (len(problem.train_ids), len(x)),
        "candidate ids": (len(problem.ids), len(c)),
        "column names": (len(problem.columns), x.shape[1]),
    }
    for what, (given, wanted) in lengths.items():
        if given != wanted:
            raise DataError(
                f"there are {given:,} {what} for {wanted:,}",
                advice="one each is needed",
            )
    if len(c) == 0:
        raise DataError(
            "there are no candidates",
            advice="give at least one row to score",
        )


def _check_values(
    role: str, values: Floats, ids: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    bad = np.argwhere(~(np.abs(values) < LARGEST))  # true of NaN as well
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{role} row {quote(ids[i])}, column {quote(columns[j])} holds {values[i, j]} "
            f"({len(bad):,} such values)",
            advice="only finite numbers are accepted, and after standardising none beyond "
            f"{LARGEST:g}",
        )


def _check_ids(role: str, ids: tuple[str, ...]) -> None:
    if len(set(ids)) < len(ids):
        twice = [name for name, count in Counter(ids).items() if count > 1]
        raise DataError(
            f"the {role} id {list_names(twice)} stands twice",
            advice="ids must be unique",
        )


def _check_labels(problem: Problem) -> None:
    n, m = problem.n, problem.m
    if m == n:
        raise DataError(
            f"there are no normal rows among the {n:,} training rows",
            advice="label some 0",
        )
    if n - m < _FEWEST_NORMALS:
        raise DataError(
            f"there are only {n - m} normal rows",
            advice=f"at least {_FEWEST_NORMALS} are needed, and with the default settings 7",
        )
    if 2 * m >= n:
        raise DataError(
            f"{m:,} of {n:,} training rows are anomalies",
            advice="the ranking guarantee needs fewer than half; add normal rows or remove "
            "anomalies",
        )
    if not 0 < problem.rate < 0.5:
        raise SettingsError(
            f"an anomaly rate of {problem.rate:g} is not possible",
            advice="it must lie above 0 and below 0.5",
        )
    normals = problem.x_train[problem.normals]
    if np.ptp(normals, axis=0).max() < 1 / LARGEST:
        raise DataError(
            f"all {n - m:,} normal rows are identical, or closer than {1 / LARGEST:g}",
            advice="at least one must differ; give the columns in larger units",
        )
