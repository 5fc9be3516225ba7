"""Data-OOB (Kwon and Zou, 2023): how often models that never saw a candidate call it anomalous.

Each model learns from a random half of D. With h of the M models right, the score is the F1 of
predicting label 1, 2h/(h + M).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.evaluators.marginals import random_rows

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class DataOob:
    label: ClassVar[str] = "DataOob"
    title: ClassVar[str] = "Out of bag"
    summary: ClassVar[str] = "models that never saw it call it anomalous"
    cost: ClassVar[Cost] = "instant"
    seconds: ClassVar[float] = 2.5
    in_paper: ClassVar[bool] = True
    models: int = 50

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng = bench.rng(self.label)
        masks = [random_rows(bench.problem, rng, 0.5) for _ in range(self.models)]
        hits = np.sum(bench.utility.calls(masks, progress), axis=0)
        return np.asarray(2.0 * hits / (hits + self.models))
