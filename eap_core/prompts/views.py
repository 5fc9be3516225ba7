"""How CLIP sees images in the light of two texts, and which pair of texts tells them apart.

Softmax over two similarities depends on their difference alone, and grows with it. Pairs are
therefore ranked by the difference itself: a softmax near 0 or 1 has no digits left to order by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import rankdata

from eap_core.errors import DataError
from eap_core.roles import Role
from eap_core.table import Floats

Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
Vectors = npt.NDArray[np.floating]
# Equal images must tie wherever they stand: the last bits of a product depend on the place.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Views:
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
class Ranked:
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
) -> Views:
    """All pairs on all images; rows of texts are pairs, all vectors are of length 1."""
    return Views(_differences(images, normal_texts, anomalous_texts), roles, items, scale)


def rank_pairs(views: Views, selected: Ints) -> list[Ranked]:
    """Every pair, the best first: by AUC of the training normals against the selected images.

    Ties go to the pair with the larger gap between the two kinds' mean similarities, then to the
    one that stands first among the templates.
    """
    normals = views.at("normal")
    if not len(normals) or not len(selected):
        missing = "normals" if not len(normals) else "selected images"
        raise DataError(f"there are no {missing} — a pair is chosen by telling the two apart")
    test = views.at("test_normal"), views.at("test_anomaly")
    found = [
        Ranked(
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
