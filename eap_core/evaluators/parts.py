"""The parts of EAP as scores of their own, from one pass over the training rows.

P(x), the density of the candidate's place; P(y|x), how anomalous the detector finds it; and their
plain sum P(y|x) + n·P(x), in which n counts all training rows, the anomalies too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eap_core.evaluators.base import Cost
from eap_core.progress import Progress, silent
from eap_core.table import Floats
from eap_core.workbench import Workbench


@dataclass(frozen=True)
class Density:
    label: ClassVar[str] = "P_x"
    summary: ClassVar[str] = "how dense the normal data are around it"
    cost: ClassVar[Cost] = "instant"

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return np.array(bench.single_pass(progress).p_x[0])


@dataclass(frozen=True)
class Conditional:
    label: ClassVar[str] = "P_y|x"
    summary: ClassVar[str] = "how anomalous the detector finds it"
    cost: ClassVar[Cost] = "instant"

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        return np.array(bench.single_pass(progress).p_y[0])


@dataclass(frozen=True)
class Sum:
    label: ClassVar[str] = "P_y|x + N·P_x"
    summary: ClassVar[str] = "the two parts of EAP simply added"
    cost: ClassVar[Cost] = "instant"

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        evidence = bench.single_pass(progress)
        return np.asarray(evidence.p_y[0] + bench.problem.n * evidence.p_x[0])
