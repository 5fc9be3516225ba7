"""Leave one out: U(D + c) − U(D), what one candidate adds to all training rows.

``exact`` refits the detector for every candidate instead of holding it fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eap_core.evaluators.base import Cost
from eap_core.marginals import mean_gain
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class Loo:
    label: ClassVar[str] = "Loo"
    summary: ClassVar[str] = "detection improves when it is added to all training rows"
    cost: ClassVar[Cost] = "instant"
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        everything = np.ones(bench.problem.n, dtype=bool)
        return mean_gain(bench, [everything], self.exact, progress)
