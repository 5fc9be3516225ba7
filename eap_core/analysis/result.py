"""Scores with all that can be asked of them: the library's own view of one scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eap_core.analysis.compare import Comparison, compare_scores, known_quality
from eap_core.analysis.explain import Explanation, explain
from eap_core.analysis.priors import Sweep, sweep_priors
from eap_core.analysis.score import ScoreTable, column_name, evaluator_names
from eap_core.analysis.score import score as score_bench
from eap_core.base.errors import SettingsError
from eap_core.base.prepare import problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Table, drop_labels, free_name
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, Settings
from eap_core.scoring.workbench import Workbench

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Result:
    """One scoring: the problem and settings in ``bench``, the scores in ``table``.

    ``extras`` are the candidates' columns that are no features; they travel along.
    """

    bench: Workbench
    table: ScoreTable
    evaluators: tuple[str, ...]
    prior: Prior | None = None
    extras: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        return self.bench.problem

    def frame(self) -> pd.DataFrame:
        """A row per candidate: its score, rank, category, parts, and one column per evaluator."""
        frame = self.table.frame()
        for name, values in self.extras.items():
            frame[free_name(name, frame.__contains__)] = list(values)
        return frame

    def explain(self, candidate: str) -> Explanation:
        """Why one candidate has its score, in numbers and in a sentence."""
        settings, evidence = self.bench.settings, self.bench.evidence()
        return explain(self.problem, evidence, settings, candidate, self.prior)

    def compare(self) -> Comparison:
        """How the evaluators agree, and how right each is where a column tells the truth."""
        scores = {name: self.table.columns[column_name(name)] for name in self.evaluators}
        return compare_scores(scores, known_quality(self.extras))

    def sweep(self, rates: Sequence[float] | None = None, top: int | None = None) -> Sweep:
        """How much the order of the candidates hangs on the prior."""
        return sweep_priors(self.problem, self.bench.evidence(), rates, top)


def score(
    train: Table | Problem,
    candidates: Table | None = None,
    anomalies: Table | None = None,
    *,
    evaluators: Sequence[str] = ("eap",),
    settings: Settings = AUTHORS,
    prior: Prior | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Result:
    """Give every candidate its quality score.

    ``train`` holds normals and real anomalies with their labels, or normals only beside a table of
    ``anomalies``; or it is a whole problem, which has its candidates in it.

    >>> import numpy as np, eap_core as eap
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(size=(200, 2)), rng.normal(3, 0.5, size=(8, 2))])
    >>> made = np.array([[2.8, 2.8], [0.0, 0.0], [40.0, -40.0]])
    >>> problem = eap.Problem(rows, np.repeat([0, 1], [200, 8]), made, ("scratch", "none", "star"))
    >>> result = eap.score(problem, evaluators=["eap", "rarity"], seed=0)
    >>> result.frame().sort_values("rank")["id"].iloc[0]
    'scratch'
    >>> result.explain("star").category
    'unrealistic'
    >>> result.compare().names
    ('eap', 'rarity')
    >>> len(result.sweep([0.02, 0.1]).scores)
    2
    """
    names = evaluator_names(evaluators)
    problem, extras = _make_problem(train, candidates, anomalies)
    bench = Workbench(problem, settings, seed)
    return Result(bench, score_bench(bench, names, prior, progress), names, prior, extras)


def _make_problem(
    train: Table | Problem, candidates: Table | None, anomalies: Table | None
) -> tuple[Problem, Mapping[str, Sequence[str]]]:
    if isinstance(train, Problem):
        if candidates is not None or anomalies is not None:
            raise SettingsError(
                "a problem has its candidates in it", advice="give no tables beside it"
            )
        return train, {}
    if candidates is None:
        raise SettingsError(
            "no candidates are given", advice="give their table after the training table"
        )
    made = drop_labels(candidates)
    problem = problem_from_tables(train, made, anomalies)
    kept = frozenset(problem.ids)  # rows with gaps may have been dropped
    made = made.only(np.array([name in kept for name in made.ids]))
    return problem, made.ordered_like(train.columns).extras
