"""The command that tries the scores out on the real anomalies of files or of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eap_core.base.errors import SettingsError
from eap_core.cli import output
from eap_core.cli.options import (
    InputFiles,
    Seed,
    input_options,
    memory_option,
    prior_option,
    settings_options,
    with_options,
)
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eap_core.analysis.trust import CategoryLines, Estimate, Rehearsal

app = typer.Typer()

_USUAL = "eap,reach,near_real"


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def rehearse(
    files: InputFiles,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    project: Annotated[
        str | None,
        typer.Argument(metavar="PROJECT", help="A project that is scored, instead of files."),
    ] = None,
    evaluators: Annotated[
        str, typer.Option(help="The scores to try out, with commas between.")
    ] = _USUAL,
    seed: Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say how far scores can be trusted on these data: the real anomalies are left out in turn.

    They pose as candidates beside normals that are left out, too, and rows that cannot be real.
    Candidates are not needed. Of a project, the current run is rehearsed by its own settings.

    \b
    python -m eap_core rehearse --train train.csv
    python -m eap_core rehearse --normals good.csv --anomalies bad.csv --evaluators eap,lava
    python -m eap_core rehearse bottle
    """
    names = [name.strip() for name in evaluators.split(",") if name.strip()]
    if project is None:
        found = _rehearse_files(files, settings, prior, budget, names, seed, json)
    else:
        if any(files.paths) or (settings, prior, evaluators, seed) != (AUTHORS, None, _USUAL, 0):
            raise SettingsError(
                "a project is rehearsed from its own data, by the settings of its current run",
                advice="leave out the project or the other options",
            )
        found = _rehearse_run(project, json)
    if json:
        _write_json(found)
    else:
        _write_words(found)


def _rehearse_files(
    files: InputFiles,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    names: Sequence[str],
    seed: int,
    quiet: bool,
) -> Rehearsal:
    from eap_core.analysis.score import evaluator_names
    from eap_core.analysis.trust import rehearse as rehearse_problem

    known = evaluator_names(names)  # an unknown name is said before the work
    problem = files.training_problem(files.tables())
    if problem is None:
        raise SettingsError(
            "no training data are given",
            advice="name a labelled file with --train, or --normals and --anomalies, or a project",
        )
    output.say(*problem.notes, *problem.warnings)
    with output.progress_bar(quiet=quiet) as progress:
        return rehearse_problem(problem, settings, seed, known, progress, prior, budget)


def _rehearse_run(name: str, quiet: bool) -> Rehearsal:
    """What is kept with the current run, made where it is not there yet."""
    from eap_core.cli.projects import find_scored
    from eap_core.project.rehearsal import read_rehearsal
    from eap_core.project.run import rehearse_project
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        _, run = find_scored(store, name)
        kept = read_rehearsal(store, run)
        if kept is not None:
            return kept
        with output.progress_bar(quiet=quiet) as progress:
            return rehearse_project(store, run, progress)


def _write_json(found: Rehearsal) -> None:
    from eap_core.analysis.trust import best_evaluator, describe

    sentences = {name: describe(found, name) for name in found.names}
    better = best_evaluator(found)
    output.write_json({**found.record, "sentences": sentences, "better_than_eap": better})


def _write_words(found: Rehearsal) -> None:
    from eap_core.analysis.trust import describe, describe_better, describe_weakness
    from eap_core.evaluators import EVALUATORS

    rows = [
        [
            each.name,
            f"{each.found} of {found.m} ({_interval(each.found_share)})",
            _estimate(each.above_normals),
            _estimate(each.above_impossible),
            *_calls(found.lines_of(each.name), found.m),
        ]
        for each in found.trials
    ]
    output.write_table(
        f"{found.m:,} real anomalies among {found.normals:,} unseen normals and "
        f"{found.impossible:,} impossible rows, in {found.folds} folds",
        [
            "score",
            "above 90 % of normals",
            "AUC normals",
            "AUC impossible",
            "looks normal",
            "too far",
        ],
        rows,
    )
    for name in found.names:
        output.write(f"{EVALUATORS[name].title}: {describe(found, name)}\n")
    for sentence in (describe_better(found), describe_weakness(found)):
        if sentence:
            output.write(f"{sentence}\n")


def _estimate(figure: Estimate) -> str:
    return f"{figure.value:.2f} ({figure.low:.2f}–{figure.high:.2f})"


def _interval(figure: Estimate) -> str:
    return f"{100 * figure.low:.0f}–{100 * figure.high:.0f} %"


def _calls(lines: CategoryLines | None, m: int) -> tuple[str, str]:
    """How many real anomalies would be called so."""
    if lines is None:
        return "–", "–"
    return f"{round(lines.real_normal * m)}", f"{round(lines.real_far * m)}"
