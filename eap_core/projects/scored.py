"""A run: the candidates scored, each evaluator's figures kept as soon as they are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eap_core.health.finding import gravest_first
from eap_core.health.scored import scored_findings
from eap_core.progress import Cancelled, Progress, part_of, silent
from eap_core.projects.contents import prepared
from eap_core.projects.plan import Plan, fitted_to, versions
from eap_core.projects.state import state_of
from eap_core.scoring import evaluator_names, one_by_one
from eap_core.store import runs
from eap_core.store.runs import Run
from eap_core.store.store import Store
from eap_core.workbench import Workbench


def score_project(
    store: Store,
    project: str,
    plan: Plan,
    progress: Progress = silent,
    token: str | None = None,
) -> Run:
    """Score every candidate; the run becomes current when the last figure is on the disk.

    ``token`` is that of the job that does it, if one does.
    """
    evaluator_names(plan.evaluators)  # an unknown name is said before the work
    state = state_of(store, project)  # before looking: what is added meanwhile is another state
    ready = prepared(store, project, plan, part_of(progress, 0.0, 0.6))
    settings, notes = fitted_to(plan.settings, len(ready.problem.normals))
    plan = replace(plan, settings=settings)
    record: dict[str, Any] = {
        **plan.record,
        "state": state,
        "notes": [*ready.problem.notes, *ready.notes, *notes],
        "warnings": list(ready.problem.warnings),
    }
    run = runs.start(
        store,
        project,
        [item.id for item in ready.candidates],
        record,
        versions(),
        ready.problem.fingerprint,
        token,
    )
    bench = Workbench(ready.problem, settings, plan.seed)
    try:
        for columns in one_by_one(bench, plan.evaluators, plan.belief, part_of(progress, 0.6, 1.0)):
            _keep(store, run.id, columns)
    except Cancelled:
        runs.cancel(store, run.id)
        raise
    except Exception as error:
        runs.fail(store, run.id, str(error))
        raise
    findings = gravest_first(
        scored_findings(ready.problem, bench.evidence(), settings, plan.belief)
    )
    runs.finish(store, run.id, [finding.record for finding in findings])
    return runs.by_id(store, run.id)


def _keep(store: Store, run: str, columns: Mapping[str, np.ndarray]) -> None:
    for name, values in columns.items():
        if np.issubdtype(values.dtype, np.number):  # a category follows from the numbers
            runs.add_scores(store, run, name, values.astype(np.float64))
