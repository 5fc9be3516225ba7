"""EAP, the expected anomaly posterior (Perini et al., 2024).

φ = (α0 + N·P(y|x)) / (α0 + β0 + N) with N = n·P(x), averaged over random subsets of the training
rows; the prior expects the share m/n of anomalies unless another is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eap_core.evaluators.base import Cost
from eap_core.posterior import Prior, parts
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class Eap:
    label: ClassVar[str] = "EAP"
    summary: ClassVar[str] = "clearly anomalous, and where the data reach"
    cost: ClassVar[Cost] = "seconds"
    prior: Prior | None = None

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        prior = self.prior or Prior.of_rate(bench.problem.rate)
        return parts(bench.evidence(progress), prior).eap
