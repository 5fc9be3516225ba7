"""A run: current as soon as EAP and what is said of it are there, then completed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eap_core.errors import DataError, EapError
from eap_core.evaluators import EVALUATORS
from eap_core.health.finding import Finding, gravest_first
from eap_core.health.scored import scored_findings
from eap_core.progress import Cancelled, Progress, part_of, silent
from eap_core.projects.contents import Prepared, prepared
from eap_core.projects.insight import has_insight, make_insight
from eap_core.projects.maps import has_map, make_map
from eap_core.projects.plan import Plan, fitted_to, versions
from eap_core.projects.state import state_of
from eap_core.scoring import column_name, eap_columns, evaluator_names
from eap_core.store import projects, runs
from eap_core.store.runs import Run
from eap_core.store.store import Store
from eap_core.workbench import Workbench


@dataclass(frozen=True, eq=False)
class _Work:
    """A run and what its further figures are computed from."""

    store: Store
    run: Run
    ready: Prepared
    bench: Workbench


def score_project(
    store: Store,
    project: str,
    plan: Plan,
    progress: Progress = silent,
    token: str | None = None,
) -> Run:
    """Score every candidate; the run becomes current with EAP, and is then completed.

    ``token`` is that of the job that does it, if one does; started again, the job only completes
    the run that it has finished before.
    """
    evaluator_names(plan.evaluators)  # an unknown name is said before the work
    done = None if token is None else runs.finished_by(store, token)
    if done is None:
        work = _begun(store, project, plan, part_of(progress, 0.0, 0.5), token)
        _complete(work, _missing(store, work.run), part_of(progress, 0.5, 1.0))
        done = work.run
    else:
        complete_run(store, done.id, progress)
    return runs.by_id(store, done.id)


def complete_run(
    store: Store, run_id: str, progress: Progress = silent, evaluators: Sequence[str] = ()
) -> None:
    """Add what a finished run lacks: insight, maps, its plan's evaluators and these.

    One that failed before is tried again only if it is named.
    """
    evaluator_names(evaluators)
    run = runs.by_id(store, run_id)
    if run.status != "finished":
        raise DataError(f"the run cannot be completed, it is {run.status} — score again")
    missing = _missing(store, run, evaluators)
    if not missing:
        return
    plan = Plan.from_record(dict(run.settings))
    ready = prepared(store, run.project, plan, part_of(progress, 0.0, 0.3))
    if ready.problem.fingerprint != run.fingerprint:
        raise DataError(
            "the data have changed since this scoring, so nothing can be added to it — score again"
        )
    bench = Workbench(ready.problem, plan.settings, plan.seed)
    _complete(_Work(store, run, ready, bench), missing, part_of(progress, 0.3, 1.0))


def _begun(store: Store, project: str, plan: Plan, progress: Progress, token: str | None) -> _Work:
    """A finished run with EAP, its parts, the insight and a first map."""
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
    candidates = [item.id for item in ready.candidates]
    run = runs.start(
        store, project, candidates, record, versions(), ready.problem.fingerprint, token
    )
    bench = Workbench(ready.problem, settings, plan.seed)
    work = _Work(store, run, ready, bench)
    try:
        _first_figures(work, plan, part_of(progress, 0.6, 1.0))
    except Cancelled:
        runs.cancel(store, run.id)
        raise
    except Exception as error:
        runs.fail(store, run.id, str(error))
        raise
    findings = scored_findings(ready.problem, bench.evidence(), settings, plan.belief)
    runs.finish(store, run.id, [finding.record for finding in gravest_first(findings)])
    return work


def _first_figures(work: _Work, plan: Plan, progress: Progress) -> None:
    for name, values in eap_columns(work.bench, plan.belief, part_of(progress, 0.0, 0.8)).items():
        if np.issubdtype(values.dtype, np.number):  # a category follows from the numbers
            runs.add_scores(work.store, work.run.id, name, values.astype(np.float64))
    _insight(work, part_of(progress, 0.8, 0.95))
    make_map(work.store, work.run, "pca", work.ready.problem, part_of(progress, 0.95, 1.0))


def _missing(store: Store, run: Run, asked: Sequence[str] = ()) -> list[str]:
    """The steps that the run lacks, in the order in which they are done."""
    found = [] if has_insight(store, run.id) else ["insight"]
    found += [method for method in ("pca", "umap") if not has_map(store, run, method)]
    there = runs.score_names(store, run.id)
    failed = {record["code"] for record in run.findings}
    for name in evaluator_names((*run.settings["evaluators"], *asked)):
        if column_name(name) not in there and (name in asked or _code(name) not in failed):
            found.append(name)
    return found


def _complete(work: _Work, missing: Iterable[str], progress: Progress) -> None:
    steps = list(missing)
    for i, step in enumerate(steps):
        share = part_of(progress, i / len(steps), (i + 1) / len(steps))
        if step == "insight":
            _insight(work, share)
        elif step in ("pca", "umap"):
            make_map(work.store, work.run, step, work.ready.problem, share)  # type: ignore[arg-type]
        else:
            _evaluate(work, step, share)


def _insight(work: _Work, progress: Progress) -> None:
    bench = work.bench
    ranks = runs.scores_of(work.store, work.run.id)["rank"].astype(np.intp)
    tabular = projects.by_id(work.store, work.run.project).kind == "table"
    make_insight(
        work.store, work.run.id, work.ready, bench.evidence(), bench.settings, ranks, progress,
        tabular,
    )  # fmt: skip


def _evaluate(work: _Work, name: str, progress: Progress) -> None:
    """Add one evaluator's scores; one that fails is told of, and the others go on."""
    finding = None
    try:
        progress(0.0, EVALUATORS[name].label)
        scores = EVALUATORS[name].score(work.bench, progress)
        runs.add_scores(work.store, work.run.id, column_name(name), scores.astype(np.float64))
    except EapError as error:
        if column_name(name) in runs.score_names(work.store, work.run.id):
            return  # another job was faster
        what = f"{EVALUATORS[name].label} could not be computed: {error}"
        finding = Finding(_code(name), "warning", what).record
    runs.replace_finding(work.store, work.run.id, _code(name), finding)


def _code(name: str) -> str:
    return f"evaluator-failed-{name}"
