"""Data Banzhaf (Wang and Jia, 2023): mean U(S + c) − mean U(S) over random halves S of D.

Each training row is in S with probability one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eap_core.evaluators.base import Cost
from eap_core.marginals import mean_gain, random_rows
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class DataBanzhaf:
    label: ClassVar[str] = "DataBanzhaf"
    summary: ClassVar[str] = "detection improves when it is added to half of the rows"
    cost: ClassVar[Cost] = "seconds"
    models: int = 50
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng = bench.rng(self.label)
        masks = [random_rows(bench.problem, rng, 0.5) for _ in range(self.models)]
        return mean_gain(bench, masks, self.exact, progress)
