"""Rarity score (Han et al., 2023): the smallest ball of any training row that contains the point.

r_k(c) over all of D with k = 10; 0 for a candidate that no ball contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.scoring import rarity

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class Rarity:
    label: ClassVar[str] = "Rarity"
    title: ClassVar[str] = "Rarity"
    summary: ClassVar[str] = "unusual, but not beyond the training data"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 0.02
    in_paper: ClassVar[bool] = True
    n_neighbors: int = 10

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        problem = bench.problem
        return rarity.rarity(
            problem.x_train, problem.x_candidates, self.n_neighbors, bench.budget, progress
        )
