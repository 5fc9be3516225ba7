"""Whether 8 bits keep the ranking, found out on the images at hand before they are used.

The trial is made on normals alone, so that no candidate's score depends on another candidate. They
are the harder test: images that hardly differ are the first to change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import rankdata

from eap_core.clip.int8 import InEightBits, NotConvertibleError
from eap_core.clip.loading import Located
from eap_core.clip.model import Vectors
from eap_core.embed.base import Bools, Source
from eap_core.embed.cache import Cache
from eap_core.embed.clip_vectors import Eye, image_vectors
from eap_core.errors import DataError
from eap_core.progress import Progress
from eap_core.table import Floats

ENOUGH: Final = 0.99  # correlation of the ranks of all distances
_SAMPLE, _LEAST = 48, 8


@dataclass(frozen=True)
class Trial:
    """By which eye the images are looked at, and why."""

    eye: Eye
    why: str


def trial(
    model: Located, images: Sequence[Source], normal: Bools, cache: Cache, progress: Progress
) -> Trial:
    """8 bits where they keep the order of the distances between normals, otherwise 32."""
    eight = InEightBits(model)
    distinct = {source.sha256: source for source, own in zip(images, normal, strict=True) if own}
    sample = [distinct[name] for name in sorted(distinct)[:_SAMPLE]]
    if len(sample) < _LEAST:
        return Trial(model, f"32 bits are used: with {len(sample)} normals 8 cannot be tried")

    def told(_: float, step: str) -> None:
        progress(0.0, f"trying 8 bits: {step}")

    fine = image_vectors(model, sample, cache, told)
    try:
        coarse = image_vectors(eight, sample, cache, told)
    except (NotConvertibleError, DataError) as error:  # the images themselves were fine just now
        return Trial(model, f"32 bits are used: this model cannot be used in 8 ({error})")
    kept = same_order(fine, coarse)
    found = f"on {len(sample)} normals the ranks of their distances correlate by {kept:.4f}"
    if kept < ENOUGH:
        return Trial(model, f"32 bits are used, for 8 would change the ranking: {found}")
    return Trial(eight, f"looked at in 8 bits, which keep the ranking: {found}")


def same_order(fine: Vectors, coarse: Vectors) -> float:
    """Spearman's correlation of all distances, each column on its own scale as in the score."""
    ranks = [rankdata(pdist(_scaled(rows))) for rows in (fine, coarse)]
    if any(np.ptp(own) == 0 for own in ranks):
        return 0.0  # without an order there is none to keep
    return float(np.corrcoef(ranks)[0, 1])


def _scaled(rows: Vectors) -> Floats:
    values = rows.astype(np.float64)
    spread = values.std(axis=0)
    return np.asarray(values / np.where(spread > 0, spread, 1.0))
