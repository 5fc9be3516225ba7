"""Influence (Feldman and Zhang, 2020): mean U(S + c) − mean U(S) over S of 70 % of D."""

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
class Influence:
    label: ClassVar[str] = "Inf"
    summary: ClassVar[str] = "detection improves when it is added to 70 % of the rows"
    cost: ClassVar[Cost] = "seconds"
    models: int = 50
    share: float = 0.7
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng, n = bench.rng(self.label), bench.problem.n
        size = max(3, round(self.share * n))
        masks = [rng.permutation(n) < size for _ in range(self.models)]
        return mean_gain(bench, [np.asarray(mask) for mask in masks], self.exact, progress)
