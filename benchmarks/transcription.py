"""EAP written down as plainly as it can be: the oracle of the tests and the benchmarks' reference.

It follows the paper's definitions line by line, tries one k after the other, and fits everything
anew on each subset. Nothing here is shared with the product but the settings.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from scipy.spatial.distance import cdist
from scipy.stats import beta, hmean

from eap_core.scoring.settings import Settings

Floats = npt.NDArray[np.float64]


def radii_of(rows: Floats, k: int) -> Floats:
    """Distance of each row to its k-th nearest other; its own 0 comes first."""
    return np.asarray(np.sort(cdist(rows, rows), axis=1)[:, k])


def is_inside(distances: Floats, radii: Floats, settings: Settings) -> npt.NDArray[np.bool_]:
    return distances <= radii if settings.ball == "closed" else distances < radii


def rarity(points: Floats, normals: Floats, radii: Floats, settings: Settings) -> Floats:
    found = []
    for point in points:
        distances = cdist([point], normals)[0]
        containing = radii[is_inside(distances, radii, settings)]
        found.append(containing.min() if len(containing) else np.inf)
    return np.array(found)


def find_k(normals: Floats, anomalies: Floats, settings: Settings) -> int:
    if settings.k is not None:
        return min(settings.k, len(normals) - 1)
    most = len(normals) - 1
    distances = cdist(anomalies, normals) if len(anomalies) else np.empty((0, len(normals)))
    needed = np.full(len(anomalies), most)
    open_cases = np.ones(len(anomalies), dtype=bool)
    for k in range(settings.k_min, most + 1):
        covered = is_inside(distances, radii_of(normals, k), settings).any(axis=1)
        needed[open_cases & covered] = k
        open_cases &= ~covered
        if not open_cases.any():
            break
    share = (needed - settings.k_min) / max(most - settings.k_min, 1)
    a, b = 1 + share.sum(), 1 + len(share) - share.sum()
    k = int(beta.ppf(settings.quantile, a, b) * (most - settings.k_min) + settings.k_min)
    return min(max(k, settings.k_min), most)


def floored(values: Floats) -> Floats:
    positive = values[values > 0]
    return np.maximum(values, positive.min()) if len(positive) else values


def densities(
    train: Floats, labels: npt.NDArray[np.int8], anomalies: Floats, points: Floats, s: Settings
) -> tuple[Floats, int, int]:
    normals = train[labels == 0]
    k = find_k(normals, anomalies, s)
    radii = floored(radii_of(normals, k))
    counted = normals if s.density_rows == "normals" else train
    of_train = rarity(counted, normals, radii, s)
    of_train[: len(normals)] = np.minimum(of_train[: len(normals)], radii)
    inverse = 1 / rarity(points, normals, radii, s)
    return inverse / (inverse + (1 / of_train).sum()), k, len(counted)


def detector_named(name: str, seed: int) -> BaseDetector:
    return IForest(random_state=seed) if name == "iforest" else KNN()


def conditional(
    train: Floats,
    labels: npt.NDArray[np.int8],
    points: Floats,
    rate: float,
    s: Settings,
    seed: int,
    fitted: tuple[BaseDetector, Floats] | None = None,
) -> Floats:
    """``fitted`` is a detector that saw other rows, with its scores of these training rows."""
    if fitted is None:
        detector = detector_named(s.detector, seed).fit(train)
        of_train = detector.decision_scores_
    else:
        detector, of_train = fitted
    low, high = detector.decision_scores_.min(), detector.decision_scores_.max()
    k = min(s.ssdo_k, len(train) - 1)
    eta = hmean(floored(radii_of(train, k)))

    def score(rows: Floats, unsupervised: Floats) -> Floats:
        prior = np.clip((unsupervised - low) / (high - low), 0, 1)
        nearness = 2.0 ** -((cdist(rows, train) / eta) ** 2)
        a = nearness[:, labels == 1].sum(axis=1)
        b = nearness[:, labels == 0].sum(axis=1)
        return np.asarray((prior + s.ssdo_weight * a) / (1 + s.ssdo_weight * (a + b)))

    scores = score(train, of_train)
    if s.threshold == "percentile":
        threshold = np.percentile(scores, int(100 * (1 - rate)))
    else:
        threshold = np.sort(scores)[len(scores) - 1 - round(rate * len(scores))]
    return np.asarray(
        1 - 2.0 ** -((score(points, detector.decision_function(points)) / threshold) ** 2)
    )


def single_pass(
    train: Floats,
    labels: npt.NDArray[np.int8],
    anomalies: Floats,
    points: Floats,
    rate: float,
    settings: Settings,
    seed: int,
    fitted: tuple[BaseDetector, Floats] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """P(x), P(y|x) and φ; the training rows have their normals first."""
    p_x, _, n = densities(train, labels, anomalies, points, settings)
    p_y = conditional(train, labels, points, rate, settings, seed, fitted)
    observations = n * p_x
    return p_x, p_y, (rate + observations * p_y) / (1 + observations)
