"""A run: current as soon as EAP and what is said of it are there, then completed step by step."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from eap_core.analysis import Plan, fit_plan, reading_seconds, stretches, versions, working_seconds
from eap_core.analysis.score import column_name, eap_columns, evaluator_names, score_columns
from eap_core.analysis.trust import Rehearsal
from eap_core.base.errors import (
    DataError,
    EapError,
    UnavailableError,
    error_from_record,
    quote,
)
from eap_core.base.progress import Cancelled, Progress, silent
from eap_core.evaluators import EVALUATORS
from eap_core.features.clip_hub import NoWeightsError
from eap_core.health import Finding, sort_by_gravity
from eap_core.health.rows import find_in_scores
from eap_core.project.problem import PreparedProblem, feature_cache, prepare_problem, state_of
from eap_core.project.rehearsal import make_rehearsal, read_rehearsal
from eap_core.project.results import has_map, make_facts, make_map, read_facts
from eap_core.scoring.workbench import Workbench
from eap_core.store import projects, runs
from eap_core.store.items import items_of
from eap_core.store.runs import Run
from eap_core.store.store import Store

_FIRST = ("eap", "insight", "pca")  # a run is not current without
_LACKING = "lacking"  # where a run keeps why it does without CLIP
_FAILED = "evaluator-failed-"  # how the findings begin that say so, of the other steps, too
_LABELS = MappingProxyType(
    {
        "insight": "What is said beside the scores",
        "pca": "The flat map",
        "umap": "The map",
        "rehearsal": "How far the scores can be trusted here",
    }
)


@dataclass(frozen=True, eq=False)
class _RunWork:
    """A run and what its figures are computed from."""

    store: Store
    run: Run
    ready: PreparedProblem
    bench: Workbench
    plan: Plan
    lacking: NoWeightsError | None = None  # why the features are not those asked for


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
    names = evaluator_names(plan.evaluators)  # an unknown name is said before the work
    done = None if token is None else runs.finished_by(store, token)
    if done is not None:
        complete_run(store, done.id, progress)
        return runs.by_id(store, done.id)
    later = ["umap", *names[1:], *_last_steps(store, project)]
    read, *steps = _stretches(store, project, plan, [*_FIRST, *later], progress)
    work = _begin_run(store, project, plan, read, token)
    _first_figures(work, steps)
    for step, share in zip(later, steps[len(_FIRST) :], strict=True):
        _add(work, step, share)
    return runs.by_id(store, work.run.id)


def complete_run(
    store: Store, run_id: str, progress: Progress = silent, evaluators: Sequence[str] = ()
) -> None:
    """Add what a finished run lacks: insight, maps, its plan's evaluators, these, the rehearsal.

    An evaluator or a rehearsal that failed before is tried again only if it is asked for, all else
    always.
    """
    evaluator_names(evaluators)
    run = _finished(store, run_id)
    missing = missing_evaluators(store, run, evaluators)
    if not missing:
        return
    work, steps = _take_up(store, run, missing, progress)
    for step, share in zip(missing, steps, strict=True):
        _add(work, step, share)


def rehearse_project(store: Store, run_id: str, progress: Progress = silent) -> Rehearsal:
    """Rehearse with the features, settings and seed of a finished run, and keep it with the run."""
    run = _finished(store, run_id)
    work, (step,) = _take_up(store, run, ["rehearsal"], progress)
    found = make_rehearsal(store, run.id, work.ready.problem, work.plan, step)
    runs.replace_finding(store, run.id, _FAILED + "rehearsal", None)
    return found


def _finished(store: Store, run_id: str) -> Run:
    run = runs.by_id(store, run_id)
    if run.status != "finished":
        raise DataError(
            f"the run cannot be completed, it is {run.status}",
            advice="score again",
        )
    return run


def _take_up(
    store: Store, run: Run, missing: Sequence[str], progress: Progress
) -> tuple[_RunWork, list[Progress]]:
    """The problem of a finished run once more, to add these steps to it."""
    plan = Plan.from_record(dict(run.settings))
    read, *steps = _stretches(store, run.project, plan, missing, progress)
    ready = prepare_problem(store, run.project, plan, read)
    if ready.problem.fingerprint != run.fingerprint:
        raise DataError(
            "the data have changed since this scoring, so nothing can be added to it",
            advice="score again",
        )
    bench = Workbench(ready.problem, plan.settings, plan.seed)
    return _RunWork(store, run, ready, bench, plan), steps


def missing_evaluators(store: Store, run: Run, asked: Sequence[str] = ()) -> list[str]:
    """What a finished run lacks of its plan and of what is asked, in the order it is made."""
    found = [] if read_facts(store, run.id) is not None else ["insight"]
    found += [method for method in ("pca", "umap") if not has_map(store, run, method)]
    there = runs.score_names(store, run.id)
    failed = {record["code"] for record in run.findings}
    for name in evaluator_names((*run.settings["evaluators"], *asked)):
        if column_name(name) not in there and (name in asked or _FAILED + name not in failed):
            found.append(name)
    if _FAILED + "rehearsal" not in failed and read_rehearsal(store, run.id) is None:
        found += _last_steps(store, run.project)
    return found


def _last_steps(store: Store, project: str) -> list[str]:
    """The rehearsal, where there is a real anomaly to rehearse with."""
    known = any(item.role == "anomaly" for item in items_of(store, project))
    return ["rehearsal"] if known else []


def _stretches(
    store: Store, project: str, plan: Plan, steps: Sequence[str], progress: Progress
) -> list[Progress]:
    """For reading the data, then for each step."""
    counts = Counter(item.role for item in items_of(store, project))
    candidates, training = counts["candidate"], counts["normal"] + counts["anomaly"]
    unseen = 0
    if projects.by_id(store, project).kind == "images":
        # Of how many the features are known cannot be told quickly: as many as have been kept.
        kept = 0 if _first_by_clip(store, project, plan) else _kept_features(store)
        unseen = max(0, training + candidates - kept)
    seconds = [working_seconds(step, plan.settings, training, candidates) for step in steps]
    return stretches(progress, [reading_seconds(unseen, plan.features), *seconds])


def _first_by_clip(store: Store, project: str, plan: Plan) -> bool:
    """Whether a CLIP model is about to see these images for the first time."""
    asked = (plan.features, plan.clip_model, plan.weights)
    seen = (Plan.from_record(dict(run.settings)) for run in runs.runs_of(store, project))
    return plan.features == "clip" and all(
        (one.features, one.clip_model, one.weights) != asked for one in seen
    )


def _kept_features(store: Store) -> int:
    return sum(1 for _ in feature_cache(store).folder.glob("*/*.bin"))


def _begin_run(
    store: Store, project: str, plan: Plan, progress: Progress, token: str | None
) -> _RunWork:
    state = state_of(store, project)  # before looking: what is added meanwhile is another state
    ready, used, lacking = _ready(store, project, plan, progress)
    settings, notes = fit_plan(plan.settings, len(ready.problem.normals))
    plan = replace(plan, settings=settings, features=used)
    record: dict[str, Any] = {
        **plan.record,
        "state": state,
        "notes": [*ready.problem.notes, *ready.notes, *notes],
        "warnings": list(ready.problem.warnings),
    }
    if lacking is not None:
        record["notes"].append(describe_fallback(lacking))
        record[_LACKING] = lacking.record
    candidates = [item.id for item in ready.candidates]
    fingerprint = ready.problem.fingerprint
    run = runs.start(store, project, candidates, record, versions(), fingerprint, token)
    bench = Workbench(ready.problem, settings, plan.seed)
    return _RunWork(store, run, ready, bench, plan, lacking)


def _ready(
    store: Store, project: str, plan: Plan, progress: Progress
) -> tuple[PreparedProblem, str, NoWeightsError | None]:
    """The problem, the features that it is of in fact, and why they are not those asked for."""
    try:
        return prepare_problem(store, project, plan, progress), plan.features, None
    except NoWeightsError as error:
        usual = replace(plan, features=Plan.features)
        return prepare_problem(store, project, usual, progress), usual.features, error


def describe_fallback(lacking: EapError) -> str:
    """What is noted of a run that does without CLIP."""
    return f"the usual image features are used instead of CLIP: {lacking}"


def lacking_of(run: Run) -> EapError | None:
    """Why a run does without CLIP; None where it does not, or an older program did not keep it."""
    try:
        return error_from_record(run.settings.get(_LACKING))
    except ValueError:
        return None


def _first_figures(work: _RunWork, steps: Sequence[Progress]) -> None:
    """All that a run needs to be looked at; then it is finished, and current."""
    store, run = work.store, work.run.id
    try:
        columns = eap_columns(work.bench, work.plan.belief, steps[0])
        for name, values in columns.items():
            if np.issubdtype(values.dtype, np.number):  # a category follows from the numbers
                runs.add_scores(store, run, name, values.astype(np.float64))
        for step, share in zip(_FIRST[1:], steps[1:], strict=False):
            _do(work, step, share)
        evidence = work.bench.parts[0].evidence()
        instead = describe_fallback(work.lacking) if work.lacking else None
        findings = [
            *([Finding("other-features", "warning", instead)] if instead else []),
            *find_in_scores(work.ready.problem, evidence, work.plan.settings, columns),
        ]
        runs.finish(store, run, [finding.record for finding in sort_by_gravity(findings)])
    except Cancelled:
        runs.cancel(store, run)
        raise
    except Exception as error:
        runs.fail(store, run, str(error))
        raise


def _add(work: _RunWork, step: str, progress: Progress) -> None:
    """Add to a finished run what one step makes; one that fails is told of, and the others go on.

    What the disk or the database refuses may succeed later, so it ends the job and is not told.
    """
    finding = None
    try:
        _do(work, step, progress)
    except (Cancelled, UnavailableError):
        raise
    except Exception as error:
        if step in EVALUATORS and column_name(step) in runs.score_names(work.store, work.run.id):
            return  # another job was faster
        finding = Finding(_FAILED + step, "warning", _describe_failure(step, error)).record
    runs.replace_finding(work.store, work.run.id, _FAILED + step, finding)


def _describe_failure(step: str, error: Exception) -> str:
    label = _LABELS[step] if step in _LABELS else EVALUATORS[step].label
    reason = str(error)
    if not isinstance(error, EapError):  # a bug, or numbers that nobody thought of
        # A worker's log is what it writes to stderr, where this goes.
        logging.getLogger(__name__).error("%s failed", step, exc_info=error)
        reason = f"an unexpected error, {type(error).__name__} {quote(str(error))}"
    return f"{label} could not be computed: {reason}"


def _do(work: _RunWork, step: str, progress: Progress) -> None:
    if step == "insight":
        ranks = runs.scores_of(work.store, work.run.id)["rank"].astype(np.intp)
        make_facts(work.store, work.run, work.ready, work.bench, ranks, progress)
    elif step == "pca":
        make_map(work.store, work.run, "pca", work.ready.problem, progress)
    elif step == "umap":
        make_map(work.store, work.run, "umap", work.ready.problem, progress)
    elif step == "rehearsal":
        make_rehearsal(work.store, work.run.id, work.ready.problem, work.plan, progress)
    else:
        progress(0.0, EVALUATORS[step].label)
        made = score_columns(step, EVALUATORS[step], work.bench, work.plan.belief, progress)
        runs.add_columns(work.store, work.run.id, made)
