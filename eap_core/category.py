"""What kind of candidate it is, from its own evidence alone.

Definition 1 of the paper made practical: a candidate is *unrealistic* where the data do not reach,
*indistinguishable* where they do and call it normal, and *realistic* otherwise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eap_core.posterior import Parts
from eap_core.table import Floats

REALISTIC, INDISTINGUISHABLE, UNREALISTIC = "realistic", "indistinguishable", "unrealistic"
CATEGORIES = (REALISTIC, INDISTINGUISHABLE, UNREALISTIC)


def categories(parts: Parts) -> npt.NDArray[np.str_]:
    """The category of each candidate."""
    return category_of(parts.p_y, parts.covered)


def category_of(p_y: Floats, covered: Floats) -> npt.NDArray[np.str_]:
    """The category by how anomalous each looks and the share of passes that reach it."""
    looks_normal = np.where(p_y < 0.5, INDISTINGUISHABLE, REALISTIC)
    return np.where(covered < 0.5, UNREALISTIC, looks_normal)
