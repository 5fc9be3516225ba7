"""The command that repeats the paper's experiment, on its data sets or on a person's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eap_core.base.errors import SettingsError, require
from eap_core.base.progress import Progress, part_of
from eap_core.cli import output

if TYPE_CHECKING:
    from eap_core.study.run import Compute


app = typer.Typer()
Kind = Literal["foreign", "rescaled", "permuted", "uniform", "noise"]


@app.command()
def study(
    data: Annotated[
        Path, typer.Option(help="The folder of data sets: .npz (X, y), .csv, folders of images.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the results; cells in it are kept.")],
    datasets: Annotated[
        str, typer.Option(help="Only these, with commas between; all if not given.")
    ] = "",
    evaluators: Annotated[
        str,
        typer.Option(
            help="The evaluators, with commas between; all are the paper's thirteen, and only "
            "these have ranks."
        ),
    ] = "all",
    unrealistic: Annotated[
        Kind,
        typer.Option(
            help="The unrealistic candidates: foreign rows as in the paper, these rescaled to the "
            "normals' mean and deviation, training rows with their columns permuted, uniform in "
            "the normals' box, or normals with noise."
        ),
    ] = "foreign",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Splits of each data set.")] = 10,
    first_seed: Annotated[int, typer.Option(min=0, help="The seed of the first split.")] = 0,
    curves: Annotated[
        bool,
        typer.Option("--curves/--no-curves", help="Learning curves, nine tenths of the time."),
    ] = True,
    curve_points: Annotated[
        int, typer.Option(min=2, help="Positions of a learning curve that are computed.")
    ] = 25,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; one for each core if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A dask scheduler whose workers compute the cells."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of labels in .csv files; found if not given.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with the cells that are in --out.")
    ] = True,
) -> None:
    """Repeat the paper's experiment: which evaluator finds the realistic candidates?

    Each data set is split with each seed; a cell is one such split, scored by all evaluators. What
    is computed is kept at once: the same command goes on where it was stopped.

    \b
    python -m eap_core study --data adbench --out results
    python -m eap_core study --data mine --out results --datasets pumps,valves --seeds 5
    python -m eap_core study --data adbench --out permuted --unrealistic permuted --no-curves
    python -m eap_core study --data adbench --out results --scheduler tcp://10.0.0.5:8786
    """
    require("matplotlib", "study")  # for the report; said before the work, not after it
    from eap_core.analysis.score import evaluator_names
    from eap_core.study.plan import claim_folder, plan_study
    from eap_core.study.report import write_outputs
    from eap_core.study.run import run_cells

    compute = _compute(workers, scheduler)
    with _show_progress() as progress:
        plan = plan_study(
            data,
            features=out / "features",
            names=_split_names(datasets),
            evaluators=evaluator_names(_split_names(evaluators)),
            seeds=seeds,
            points=curve_points if curves else 0,
            label=label,
            progress=part_of(progress, 0.0, 0.05),
            unrealistic=unrealistic,
            first_seed=first_seed,
        )
        claim_folder(plan, out)
        output.say(*plan.notes)
        cells = plan.cells()
        outcome = run_cells(cells, out / "cells", compute, resume, part_of(progress, 0.05, 1.0))
    written = write_outputs(plan, outcome, out)
    if written:
        output.say(f"{len(outcome.results)} of {len(cells)} cells → {out.name}/report.html")
        output.write_table("Mean AUC_qlt and ranks", *written)
    for failed in outcome.failed:
        output.say(f"failed: {failed.cell.name}: {output.error_words(failed.error)}")
    if outcome.failed:
        sys.exit(1)


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _compute(workers: int | None, scheduler: str | None) -> Compute:
    from eap_core.study.run import on_cluster, on_this_machine

    if scheduler and workers:
        raise SettingsError(
            "--workers and --scheduler are both given",
            advice="the first is for this machine, and a cluster has workers of its own",
        )
    return on_cluster(scheduler) if scheduler else on_this_machine(workers)


@contextmanager
def _show_progress() -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line for each cell, since a study may take hours."""
    if sys.stderr.isatty():
        with output.progress_bar() as progress:
            yield progress
        return
    said: list[str] = []

    def tell(_share: float, step: str) -> None:
        if said[-1:] != [step]:
            said[:] = [step]
            output.say(step)

    yield tell
