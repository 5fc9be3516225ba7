"""Random scores, the floor that every other evaluator must beat.

A candidate's number depends on the seed and its own id alone, so that neither the order of the
candidates nor their company changes it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eap_core.evaluators.base import Cost
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class Random:
    label: ClassVar[str] = "RandomEv"
    summary: ClassVar[str] = "a random number: the floor"
    cost: ClassVar[Cost] = "instant"

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        scores = np.array([_uniform(bench.seed, name) for name in bench.problem.ids])
        progress(1.0, self.label)
        return scores


def _uniform(seed: int, name: str) -> float:
    digest = hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") / 2**64
