"""AME, average marginal effect (Lin et al., 2022): a Lasso over models of random parts.

Fifty models for each share p of 0.2 … 0.9 keep every row with probability p and add one random
candidate each. A sparse regression of U(S + c) on which candidate was added gives each one's
effect; the shares' own levels of U are taken out first, because they would drown it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats
from eap_core.evaluators.base import Cost
from eap_core.evaluators.marginals import marginal_values, random_rows
from eap_core.scoring.utility import Model

if TYPE_CHECKING:
    from eap_core.scoring.workbench import Workbench


@dataclass(frozen=True)
class Ame:
    label: ClassVar[str] = "AME"
    title: ClassVar[str] = "AME"
    summary: ClassVar[str] = "detection is better in the models that had it"
    cost: ClassVar[Cost] = "seconds"
    seconds: ClassVar[float] = 8.0
    in_paper: ClassVar[bool] = True
    models: int = 50
    shares: tuple[float, ...] = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    exact: bool = False

    def score(self, bench: Workbench, progress: Progress = silent) -> Floats:
        rng, count = bench.rng(self.label), len(bench.problem.ids)
        group = np.repeat(np.arange(len(self.shares)), self.models)
        added = rng.integers(count, size=len(group))
        models = [
            Model(random_rows(bench.problem, rng, self.shares[share]), np.array([candidate]))
            for share, candidate in zip(group, added, strict=True)
        ]
        found = marginal_values(bench, models, self.exact, progress)
        utility = np.array([value.with_each[0] for value in found])
        level = np.array([utility[group == share].mean() for share in range(len(self.shares))])
        design = np.zeros((len(added), count))
        design[np.arange(len(added)), added] = 1.0
        return _lasso(design, utility - level[group])


def _lasso(design: Floats, target: Floats) -> Floats:
    from sklearn.linear_model import LassoCV  # slow to import

    if np.ptp(target) == 0:
        return np.zeros(design.shape[1])
    # Shuffled folds, as the models come sorted by share; the seed makes the choice repeatable.
    folds = np.random.default_rng(0).permutation(len(target)) % 5
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    model = LassoCV(cv=splits, alphas=30, max_iter=20_000).fit(design, target)
    return np.asarray(model.coef_, dtype=np.float64)
