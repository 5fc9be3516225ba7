"""What each selection of candidates would choose, and where the chosen pair errs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import rankdata

from eap_core.base.errors import DataError
from eap_core.base.table import Bools, Floats, Ints, Role

# How CLIP sees images in the light of two texts, and which pair of texts tells them apart.
#
# Softmax over two similarities depends on their difference alone, and grows with it. Pairs are
# therefore ranked by the difference itself: a softmax near 0 or 1 has no digits left to order by.

Vectors = npt.NDArray[np.floating]
# Equal images must tie wherever they stand: the last bits of a product depend on the place.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class ClipViews:
    """``differences[pair, image]``: how much more an image is like the anomalous text of a pair.

    ``roles`` names what each image is, ``items`` which one it is; ``scale`` is the model's.
    """

    differences: Floats
    roles: tuple[Role, ...]
    items: tuple[str, ...]
    scale: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.differences).all():
            raise FloatingPointError("similarities that are not finite")
        self.differences.setflags(write=False)

    def at(self, role: Role) -> Ints:
        """The positions of the images of this role."""
        return np.array([i for i, own in enumerate(self.roles) if own == role], dtype=np.intp)

    def rows(self, items: Sequence[str]) -> Ints:
        """The positions of those of these images that were looked at."""
        places = {item: i for i, item in enumerate(self.items)}
        return np.array([places[item] for item in items if item in places], dtype=np.intp)

    @property
    def has_test(self) -> bool:
        """Whether there are test images of both kinds."""
        return {"test_normal", "test_anomaly"} <= set(self.roles)

    def probability(self, differences: Floats | float) -> Floats:
        """How anomalous that is by softmax over the two similarities."""
        return np.asarray(expit(self.scale * np.asarray(differences)))


@dataclass(frozen=True)
class RankedPair:
    """A pair by its place among the templates; without a test set there is no test AUC."""

    pair: int
    selection_auc: float
    test_auc: float | None
    gap: float


def zero_shot(
    images: Vectors,
    normal_text: Vectors,
    anomalous_text: Vectors,
    scale: float,
) -> Floats:
    """P(anomalous) of each image: softmax over its scaled similarities to the two texts.

    A model's bias is added to both similarities, so it cancels.
    """
    found = _differences(images, normal_text[None], anomalous_text[None])[0]
    return np.asarray(expit(scale * found))


def views_of(
    images: Vectors,
    normal_texts: Vectors,
    anomalous_texts: Vectors,
    roles: tuple[Role, ...],
    items: tuple[str, ...],
    scale: float,
) -> ClipViews:
    """All pairs on all images; rows of texts are pairs, all vectors are of length 1."""
    return ClipViews(_differences(images, normal_texts, anomalous_texts), roles, items, scale)


def rank_pairs(views: ClipViews, selected: Ints) -> list[RankedPair]:
    """Every pair, the best first: by AUC of the training normals against the selected images.

    Ties go to the pair with the larger gap between the two kinds' mean similarities, then to the
    one that stands first among the templates.
    """
    normals = views.at("normal")
    if not len(normals) or not len(selected):
        missing = "normals" if not len(normals) else "selected images"
        raise DataError(
            f"there are no {missing}",
            advice="a pair is chosen by telling the two apart",
        )
    test = views.at("test_normal"), views.at("test_anomaly")
    found = [
        RankedPair(
            pair,
            auc(row[normals], row[selected]),
            auc(row[test[0]], row[test[1]]) if views.has_test else None,
            round(_mean(row[selected]) - _mean(row[normals]), _DIGITS),
        )
        for pair, row in enumerate(views.differences)
    ]
    return sorted(found, key=lambda one: (-one.selection_auc, -one.gap, one.pair))


def _mean(values: Floats) -> float:
    """The same in any order."""
    return math.fsum(values) / len(values)


def auc(low: Floats, high: Floats) -> float:
    """How often one of ``high`` is above one of ``low``, ties counting half."""
    ranks = rankdata(np.concatenate([low, high]))
    above = ranks[len(low) :].sum() - len(high) * (len(high) + 1) / 2
    return float(above / (len(low) * len(high)))


def _differences(
    images: Vectors,
    normal: Vectors,
    anomalous: Vectors,
) -> Floats:
    texts = anomalous.astype(np.float64) - normal.astype(np.float64)
    return np.round(texts @ images.astype(np.float64).T, _DIGITS)


@dataclass(frozen=True, eq=False)
class PromptSelection:
    """Images that stand for anomalies while a pair is chosen: positions among the views."""

    name: str
    rows: Ints


@dataclass(frozen=True, eq=False)
class PromptChoice:
    """What one selection leads to; ``ranking`` has every pair, the chosen one first."""

    selection: PromptSelection
    ranking: tuple[RankedPair, ...]

    @property
    def best(self) -> RankedPair:
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


def compare_selections(
    views: ClipViews, selections: Sequence[PromptSelection]
) -> list[PromptChoice]:
    """The pair that each selection chooses, and how good it is; empty selections are left out."""
    return [
        PromptChoice(selection, tuple(rank_pairs(views, selection.rows)))
        for selection in selections
        if len(selection.rows)
    ]


def find_mistakes(views: ClipViews, choice: PromptChoice) -> Mistakes:
    """The test images that the chosen pair gets wrong; without a test set, those it was chosen by.

    The line between the two kinds is drawn where it divides the training normals and the selection
    best: a softmax of one half is no natural line, for either text may attract every image.
    """
    row = views.differences[choice.best.pair]
    normals, selected = views.at("normal"), choice.selection.rows
    line = find_best_line(row[normals], row[selected])
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


def may_be_guessing(views: ClipViews, choice: PromptChoice) -> bool:
    """Whether the chosen pair does no better on the test images than guesses might: within two
    standard deviations of their AUC (Mann and Whitney)."""
    if choice.best.test_auc is None:
        return False
    normals, anomalies = len(views.at("test_normal")), len(views.at("test_anomaly"))
    strays = math.sqrt((normals + anomalies + 1) / (12 * normals * anomalies))
    return choice.best.test_auc < 0.5 + 2 * strays


def find_best_line(low: Floats, high: Floats) -> float:
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
