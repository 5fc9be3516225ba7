"""The command line: a thin shell over the library."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eap_core import (
    cli_check,
    cli_export,
    cli_keeping,
    cli_listing,
    cli_projects,
    cli_prompts,
    cli_study,
    console,
)
from eap_core.cli_options import (
    Seed,
    input_options,
    memory_option,
    prior_option,
    settings_options,
    with_options,
)
from eap_core.compare import compare as compare_scores
from eap_core.compare import known_quality
from eap_core.demo import write_demo
from eap_core.errors import EapError, SettingsError, shown
from eap_core.evaluators import EVALUATORS
from eap_core.explain import explain as explain_candidate
from eap_core.inputs import Files
from eap_core.posterior import Prior
from eap_core.problem import Problem
from eap_core.scoring import column_name, evaluator_names
from eap_core.scoring import score as score_problem
from eap_core.settings import Settings
from eap_core.sweep import Sweep
from eap_core.sweep import check as check_sweep
from eap_core.sweep import sweep as sweep_priors
from eap_core.workbench import Workbench
from eap_core.writers import check_target, csv_text, write_frame

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    name="python -m eap_core",
    help="Score synthetic anomalies: which are realistic, which invisible, which impossible.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Out = Annotated[Path | None, typer.Option(help="Where to write: .csv or .parquet.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
_SHOWN_ROWS = 20
_INTERRUPTED = 130


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def score(
    files: Files,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    evaluators: Annotated[
        str, typer.Option(help="Further scores, with commas between: rarity,sum; or all.")
    ] = "eap",
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Give every candidate its quality score (EAP), its parts and its category.

    \b
    python -m eap_core score --train train.csv --candidates candidates.csv --out scores.csv
    python -m eap_core score --normals good.csv --anomalies bad.csv --candidates made.parquet
    python -m eap_core score --train train.csv --candidates c.csv --evaluators all --out s.csv
    """
    _check_out(out, files)
    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    problem, candidates = files.problem()
    console.say(*problem.notes, *problem.warnings)
    bench = Workbench(problem, settings, seed, budget)
    with console.progress_bar(quiet=json) as progress:
        frame = score_problem(bench, names, prior, progress).frame()
    for name, values in candidates.extras.items():
        frame[name if name not in frame else f"{name} (given)"] = list(values)
    if out:
        write_frame(frame, out)
        console.say(f"{len(frame):,} candidates scored → {out.name}")
    if json:
        console.write_json(frame.to_dict(orient="records"))
    elif sys.stdout.isatty():
        best = frame.sort_values("rank").head(_SHOWN_ROWS)
        shown = ["id", "percentile", "category", "eap", "p_y", "weight", "covered"]
        title = f"The best {len(best)} of {len(frame):,} candidates"
        console.write_table(title, shown, best[shown].itertuples(index=False))
    elif not out:
        console.write(csv_text(frame))


@app.command()
@with_options(files=input_options, settings=settings_options, budget=memory_option)
def sweep(
    files: Files,
    settings: Settings,
    budget: int,
    priors: Annotated[
        str | None,
        typer.Option(help="Expected shares of anomalies, with commas between, each below 0.5."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Compare the best this many (a third if not given).")
    ] = None,
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Show how much the order of the candidates hangs on the prior.

    \b
    python -m eap_core sweep --train train.csv --candidates candidates.csv
    python -m eap_core sweep --train t.csv --candidates c.csv --priors 0.02,0.1 --out sweep.csv
    """
    _check_out(out, files)
    rates = _rates(priors)
    problem, _ = files.problem()
    check_sweep(problem, rates, top)
    console.say(*problem.notes, *problem.warnings)
    with console.progress_bar(quiet=json) as progress:
        evidence = Workbench(problem, settings, seed, budget).evidence(progress)
    found = sweep_priors(problem, evidence, rates, top)
    if out:
        write_frame(_sweep_frame(problem, found), out)
    summary = [
        {"prior": rate, "kendall": float(tau), "top_overlap": float(overlap), "top": found.top}
        for rate, tau, overlap in zip(found.rates, found.kendall, found.overlap, strict=True)
    ]
    if json:
        console.write_json(summary)
        return
    console.write_table(
        f"Agreement with the default prior of {found.default:.4g}",
        ["prior", "Kendall τ", f"same among the best {found.top}"],
        [[row["prior"], row["kendall"], f"{row['top_overlap']:.0%}"] for row in summary],
    )


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def compare(
    files: Files,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    evaluators: Annotated[
        str, typer.Option(help="The evaluators to compare, with commas between; or all.")
    ] = "all",
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Show where evaluators agree, and how right each is where the truth is known.

    The truth is a column of the candidates named category (realistic, indistinguishable,
    unrealistic) or good (1, 0).

    \b
    python -m eap_core compare --train train.csv --candidates candidates.csv
    python -m eap_core compare --train t.csv --candidates c.csv --evaluators rarity,lava
    """
    _check_out(out, files)
    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    problem, candidates = files.problem()
    good = known_quality(candidates.extras)
    console.say(*problem.notes, *problem.warnings)
    with console.progress_bar(quiet=json) as progress:
        table = score_problem(Workbench(problem, settings, seed, budget), names, prior, progress)
    scores = {name: table.columns[column_name(name)] for name in names}
    found = compare_scores(scores, good)
    if good is None:
        console.say("no column category or good says which candidates are good: AUC is left out")
    if out:
        write_frame(table.frame(), out)
    if json:
        console.write_json(console.comparison_record(found, problem.ids))
    else:
        console.write_comparison(found, problem.ids)


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def explain(
    candidate: Annotated[str, typer.Argument(metavar="ID", help="The candidate's id.")],
    files: Files,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Say why one candidate has its score.

    \b
    python -m eap_core explain scratch-17 --train train.csv --candidates candidates.csv
    """
    problem, _ = files.problem()
    problem.position(candidate)  # an unknown id is said before the work, not after it
    console.say(*problem.notes, *problem.warnings)
    with console.progress_bar(quiet=json) as progress:
        evidence = Workbench(problem, settings, seed, budget).evidence(progress)
    found = explain_candidate(problem, evidence, settings, candidate, prior)
    if json:
        console.write_json(asdict(found))
    else:
        console.write(console.explanation(found))


@app.command("list")
def list_evaluators(json: Json = False) -> None:
    """List the evaluators: name, what each measures, how long it takes."""
    rows = [(name, e.label, e.summary, e.cost) for name, e in EVALUATORS.items()]
    if json:
        keys = ("name", "label", "summary", "cost")
        console.write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        console.write_table("Evaluators", ["name", "in the paper", "high for", "takes"], rows)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="The folder to write the two files to.")],
) -> None:
    """Write a small real example to try the other commands on.

    \b
    python -m eap_core demo demo
    python -m eap_core score --train demo/train.csv --candidates demo/candidates.csv
    """
    train, candidates = write_demo(folder)
    console.say(f"wrote {train.name} and {candidates.name} to {folder.name}")


def _check_out(out: Path | None, files: Files) -> None:
    if out:
        check_target(out, *files.paths)


def _rates(priors: str | None) -> list[float] | None:
    if priors is None:
        return None
    try:
        return [float(text) for text in priors.split(",")]
    except ValueError:
        raise SettingsError(
            f"--priors {shown(priors)} is not understood — give numbers such as 0.01,0.1"
        ) from None


def _sweep_frame(problem: Problem, found: Sweep) -> pd.DataFrame:
    import pandas as pd  # slow to import

    columns = {f"eap at {rate}": row for rate, row in zip(found.rates, found.scores, strict=True)}
    return pd.DataFrame({"id": list(problem.ids), **columns})


app.add_typer(cli_check.app)
app.add_typer(cli_projects.app)
app.add_typer(cli_listing.app)
app.add_typer(cli_keeping.app)
app.add_typer(cli_export.app)
app.add_typer(cli_prompts.app)
app.add_typer(cli_study.app)


def main() -> None:
    """Run a command; a mistake in the input is one sentence and exit code 2."""
    console.speak_utf8()
    try:
        app()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            console.say(
                "stopped — what was saved before stays; the same command goes on from there"
            )
        raise
    except EapError as error:
        console.say(f"error: {error}")
        sys.exit(2)
