"""What each selection of candidates would choose, and where the chosen pair errs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eap_core.prompts.views import Bools, Ints, Ranked, Views, rank_pairs
from eap_core.table import Floats


@dataclass(frozen=True, eq=False)
class Selection:
    """Images that stand for anomalies while a pair is chosen: positions among the views."""

    name: str
    rows: Ints


@dataclass(frozen=True, eq=False)
class Choice:
    """What one selection leads to; ``ranking`` has every pair, the chosen one first."""

    selection: Selection
    ranking: tuple[Ranked, ...]

    @property
    def best(self) -> Ranked:
        return self.ranking[0]


@dataclass(frozen=True)
class Mistake:
    """An image on the wrong side; ``anomalous`` is what it is, ``probability`` what it seems."""

    item: str
    anomalous: bool
    probability: float


@dataclass(frozen=True)
class Mistakes:
    """Among ``judged`` images those that a pair gets wrong, the farthest beyond the line first.

    ``line`` is the probability above which an image counts as anomalous; ``held_out`` tells whether
    the images are a test set, and not those the pair was chosen by.
    """

    found: tuple[Mistake, ...]
    judged: int
    line: float
    held_out: bool


def compare_selections(views: Views, selections: Sequence[Selection]) -> list[Choice]:
    """The pair that each selection chooses, and how good it is; empty selections are left out."""
    return [
        Choice(selection, tuple(rank_pairs(views, selection.rows)))
        for selection in selections
        if len(selection.rows)
    ]


def mistakes(views: Views, choice: Choice) -> Mistakes:
    """The test images that the chosen pair gets wrong; without a test set, those it was chosen by.

    The line between the two kinds is drawn where it divides the training normals and the selection
    best: a softmax of one half is no natural line, for either text may attract every image.
    """
    row = views.differences[choice.best.pair]
    normals, selected = views.at("normal"), choice.selection.rows
    line = best_line(row[normals], row[selected])
    if views.has_test:
        normals, selected = views.at("test_normal"), views.at("test_anomaly")
    rows = np.concatenate([normals, selected])
    anomalous: Bools = np.repeat([False, True], [len(normals), len(selected)])
    depth = np.where(anomalous, line - row[rows], row[rows] - line)
    wrong = np.flatnonzero((row[rows] > line) != anomalous)
    wrong = wrong[np.lexsort((rows[wrong], -depth[wrong]))]
    probability = views.probability(row)
    found = (
        Mistake(views.items[rows[i]], bool(anomalous[i]), float(probability[rows[i]]))
        for i in wrong
    )
    return Mistakes(tuple(found), len(rows), float(views.probability(line)), views.has_test)


def may_be_guessing(views: Views, choice: Choice) -> bool:
    """Whether the chosen pair does no better on the test images than guesses might: within two
    standard deviations of their AUC (Mann and Whitney)."""
    if choice.best.test_auc is None:
        return False
    normals, anomalies = len(views.at("test_normal")), len(views.at("test_anomaly"))
    strays = math.sqrt((normals + anomalies + 1) / (12 * normals * anomalies))
    return choice.best.test_auc < 0.5 + 2 * strays


def best_line(low: Floats, high: Floats) -> float:
    """The line above which most of ``high`` and least of ``low`` lie; each kind counts the same,
    however many more there are of one.

    It runs midway between two neighbouring values; of equally good lines the one in the widest gap
    is taken, then the lowest. Where no line helps it is the largest value: nothing lies above.
    """
    values = np.unique(np.concatenate([low, high]))
    lines = np.append((values[:-1] + values[1:]) / 2, values[-1])
    widths = np.append(np.diff(values), 0.0)
    missed = np.searchsorted(np.sort(high), lines, side="right") / len(high)
    false = 1 - np.searchsorted(np.sort(low), lines, side="right") / len(low)
    return float(lines[np.lexsort((-widths, np.round(missed + false, 12)))[0]])
