"""Random scores, the floor that every other evaluator must beat.

A candidate's number depends on the seed and its own id alone, so that neither the order of the
candidates nor their company changes it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class Random:
    label: ClassVar[str] = "RandomEv"
    title: ClassVar[str] = "Random"
    summary: ClassVar[str] = "a random number: the floor"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = True

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        scores = np.array([_uniform(bench.seed, name) for name in bench.problem.ids])
        progress(1.0, self.label)
        return scores


def _uniform(seed: int, name: str) -> float:
    digest = hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") / 2**64
