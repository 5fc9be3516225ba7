"""The command line: a thin shell over the library.

A command imports what it needs when it runs: `--help` need not wait for scikit-learn.
"""

from __future__ import annotations

import runpy
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eap_core.base import find_app
from eap_core.base.errors import DataError, EapError, SettingsError, escape_controls, quote, require
from eap_core.base.files import check_target, csv_text, write_frame
from eap_core.base.table import free_name
from eap_core.cli import output, projects, prompts, study, trust, upkeep
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
    import pandas as pd

    from eap_core.analysis.compare import Sweep
    from eap_core.base.problem import Problem
    from eap_core.health import Finding


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
Exact = Annotated[
    bool, typer.Option("--exact", help="Refit for every candidate, as published; slow.")
]
_SHOWN_ROWS = 20
_INTERRUPTED = 130


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def score(
    files: InputFiles,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    evaluators: Annotated[
        str, typer.Option(help="Further scores, with commas between: rarity,sum; or all.")
    ] = "eap",
    exact: Exact = False,
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
    from eap_core.analysis.score import evaluator_names
    from eap_core.analysis.score import score as score_problem
    from eap_core.scoring.workbench import Workbench

    _check_out(out, files)
    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    if exact:
        _check_exact(names)
    problem, candidates = files.problem(settings, seed)
    output.say(*problem.notes, *problem.warnings)
    bench = Workbench(problem, settings, seed, budget)
    with output.progress_bar(quiet=json) as progress:
        frame = score_problem(bench, names, prior, progress, exact).frame()
    for name, values in candidates.extras.items():
        frame[free_name(name, frame.__contains__)] = list(values)
    if out:
        write_frame(frame, out)
        output.say(f"{len(frame):,} candidates scored → {out.name}")
    if json:
        output.write_json(frame.to_dict(orient="records"))
    elif sys.stdout.isatty():
        best = frame.sort_values("rank").head(_SHOWN_ROWS)
        title = f"The best {len(best)} of {len(frame):,} candidates"
        output.write_scores(title, best)
    elif not out:
        output.write(csv_text(frame))


@app.command()
@with_options(files=input_options, settings=settings_options, budget=memory_option)
def sweep(
    files: InputFiles,
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
    from eap_core.analysis.compare import check_sweep, sweep_priors
    from eap_core.scoring.workbench import Workbench

    _check_out(out, files)
    rates = _rates(priors)
    problem, _ = files.problem(settings, seed)
    check_sweep(problem, rates, top)
    output.say(*problem.notes, *problem.warnings)
    with output.progress_bar(quiet=json) as progress:
        evidence = Workbench(problem, settings, seed, budget).evidence(progress)
    found = sweep_priors(problem, evidence, rates, top)
    if out:
        write_frame(_sweep_frame(problem, found), out)
    summary = [
        {"prior": rate, "kendall": float(tau), "top_overlap": float(overlap), "top": found.top}
        for rate, tau, overlap in zip(found.rates, found.kendall, found.overlap, strict=True)
    ]
    if json:
        output.write_json(summary)
        return
    output.write_table(
        f"Agreement with the default prior of {found.default:.4g}",
        ["prior", "Kendall τ", f"same among the best {found.top}"],
        [[row["prior"], row["kendall"], f"{row['top_overlap']:.0%}"] for row in summary],
    )


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def compare(
    files: InputFiles,
    settings: Settings,
    prior: Prior | None,
    budget: int,
    evaluators: Annotated[
        str, typer.Option(help="The evaluators to compare, with commas between; or all.")
    ] = "all",
    exact: Exact = False,
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
    from eap_core.analysis.compare import compare_scores, known_quality
    from eap_core.analysis.score import column_name, evaluator_names
    from eap_core.analysis.score import score as score_problem
    from eap_core.scoring.workbench import Workbench

    _check_out(out, files)
    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    if exact:
        _check_exact(names)
    problem, candidates = files.problem(settings, seed)
    good = known_quality(candidates.extras)
    output.say(*problem.notes, *problem.warnings)
    with output.progress_bar(quiet=json) as progress:
        bench = Workbench(problem, settings, seed, budget)
        table = score_problem(bench, names, prior, progress, exact)
    scores = {name: table.columns[column_name(name)] for name in names}
    found = compare_scores(scores, good)
    if good is None:
        output.say("no column category or good says which candidates are good: AUC is left out")
    if out:
        write_frame(table.frame(), out)
    if json:
        output.write_json(output.comparison_record(found, problem.ids))
    else:
        output.write_comparison(found, problem.ids)


@app.command()
@with_options(
    files=input_options, settings=settings_options, prior=prior_option, budget=memory_option
)
def explain(
    candidate: Annotated[str, typer.Argument(metavar="ID", help="The candidate's id.")],
    files: InputFiles,
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
    from eap_core.analysis.explain import explain as explain_candidate
    from eap_core.scoring.workbench import Workbench

    problem, _ = files.problem(settings, seed)
    problem.position(candidate)  # an unknown id is said before the work, not after it
    output.say(*problem.notes, *problem.warnings)
    with output.progress_bar(quiet=json) as progress:
        evidence = Workbench(problem, settings, seed, budget).evidence(progress)
    found = explain_candidate(problem, evidence, settings, candidate, prior)
    if json:
        output.write_json(asdict(found))
    else:
        output.write(output.explain_in_words(found))


@app.command("list")
def list_evaluators(json: Json = False) -> None:
    """List the evaluators: name, what each measures, how long it takes."""
    from eap_core.evaluators import EVALUATORS

    rows = [(name, e.label, e.summary, e.cost) for name, e in EVALUATORS.items()]
    if json:
        keys = ("name", "label", "summary", "cost")
        output.write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        output.write_table("Evaluators", ["name", "in the paper", "high for", "takes"], rows)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="The folder to write the two files to.")],
) -> None:
    """Write a small real example to try the other commands on.

    \b
    python -m eap_core demo demo
    python -m eap_core score --train demo/train.csv --candidates demo/candidates.csv
    """
    from eap_core.project.demos import write_demo

    train, candidates = write_demo(folder)
    output.say(f"wrote {train.name} and {candidates.name} to {folder.name}")


def _check_out(out: Path | None, files: InputFiles) -> None:
    if out:
        check_target(out, *files.paths)


def _check_exact(names: Sequence[str]) -> None:
    """Refuse a wish that would change nothing."""
    from eap_core.analysis.score import list_refitted

    known = list_refitted()
    if not any(name in known for name in names):
        raise SettingsError(
            f"--exact has no meaning for {', '.join(names)}",
            advice=f"leave it out, or name some of {', '.join(known)} with --evaluators",
        )


def _rates(priors: str | None) -> list[float] | None:
    if priors is None:
        return None
    try:
        return [float(text) for text in priors.split(",")]
    except ValueError:
        raise SettingsError(
            f"--priors {quote(priors)} is not understood",
            advice="give numbers such as 0.01,0.1",
        ) from None


def _sweep_frame(problem: Problem, found: Sweep) -> pd.DataFrame:
    import pandas as pd  # slow to import

    columns = {f"eap at {rate}": row for rate, row in zip(found.rates, found.scores, strict=True)}
    return pd.DataFrame({"id": list(problem.ids), **columns})


@dataclass
class _Report:
    """What is found in files of one kind."""

    files: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, findings: list[Finding]) -> None:
        self.warnings += [f.sentence for f in findings if f.severity != "note"]
        self.notes += [f.sentence for f in findings if f.severity == "note"]


@app.command()
@with_options(files=input_options)
def check(
    files: InputFiles,
    images: Annotated[
        list[Path] | None, typer.Option(help="Images, a ZIP of them, or a folder; repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Read and validate files without scoring; say what is wrong or worth a look.

    Exit code 0: fine; 1: accepted with warnings; 2: rejected, with one sentence.

    \b
    python -m eap_core check --train train.csv --candidates candidates.csv
    python -m eap_core check --candidates candidates.csv
    python -m eap_core check --images generated.zip
    """
    if not any(files.paths) and not images:
        raise SettingsError(
            "no file is named",
            advice="give at least one, for example --candidates c.csv",
        )
    report = _Report()
    if any(files.paths):
        _check_tables(files, report)
    if images:
        _check_images(images, report)
    if json:
        output.write_json(vars(report))
    else:
        for file in report.files:
            name, *counts = (escape_controls(str(value)) for value in file.values())
            output.write(f"{name}: {', '.join(counts)}\n")
        output.say(*(f"note: {note}" for note in report.notes))
        output.say(*(f"warning: {warning}" for warning in report.warnings))
    raise typer.Exit(1 if report.warnings else 0)


def _check_tables(files: InputFiles, report: _Report) -> None:
    from eap_core.health.rows import find_in_rows, find_in_training

    tables = files.tables()
    for table in tables.read:
        rows, columns = f"{len(table):,} rows", f"{len(table.columns):,} columns"
        report.files.append({"file": table.source, "rows": rows, "columns": columns})
    problem = files.training_problem(tables)
    if problem is None:
        report.notes += [note for table in tables.read for note in table.notes]
        report.warnings += [warning for table in tables.read for warning in table.warnings]
        return
    report.notes += problem.notes
    scorable = tables.candidates is not None
    report.add(list(find_in_rows(problem) if scorable else find_in_training(problem)))
    try:
        AUTHORS.check(problem)
    except DataError as error:
        if scorable:
            raise
        # The file is fine; there is just not enough of it yet.
        report.warnings.append(output.error_words(error))


def _check_images(paths: list[Path], report: _Report) -> None:
    from eap_core.health import PLURAL, Entry, find_copies
    from eap_core.health.images import find_looks
    from eap_core.images import read_images
    from eap_core.images.layout import layout_of
    from eap_core.images.sources import gather, gather_many

    one = len(paths) == 1
    gathered = gather(paths[0]) if one else gather_many([(path, path.name) for path in paths])
    layout = layout_of(gathered)
    with output.progress_bar() as progress:
        read = read_images(
            gathered,
            layout,
            "candidate" if layout.kind == "flat" else None,
            lambda _sha256, _data, _thumbnail: None,
            progress,
        )
    if not read.items:
        first = read.skipped[0]
        raise DataError(f"{first.name} {first.reason}")
    counts = Counter(item.role for item in read.items)
    told = {str(role): f"{count:,} {PLURAL[role]}" for role, count in counts.items()}
    report.files.append({"file": ", ".join(path.name for path in paths), **told})
    report.notes += read.notes
    report.warnings += [f"{skipped.name} {skipped.reason}" for skipped in read.skipped]
    report.add(
        [
            *find_copies([Entry(i.name, i.role, i.facts.pixels.encode()) for i in read.items]),
            *find_looks(read.items),
        ]
    )


_starting = typer.Typer()  # of its own: it is shown last


@_starting.command("app")
def start_app(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where it answers; the first free from 8501 on."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of which network; this machine alone if not given.")
    ] = None,
) -> None:
    """Start the application and open it in the browser.

    It has no login: another address than this machine's own is refused, unless EAP_OPEN=yes says
    that a proxy with a login stands in front, or that everybody may use it.

    \b
    python -m eap_core app
    python -m eap_core app --port 8600
    """
    require("streamlit", "app")
    chosen = {"server.port": port, "server.address": address}
    flags = [f"--{name}={value}" for name, value in chosen.items() if value is not None]
    # All other settings are in .streamlit/config.toml beside app.py, which Streamlit reads last of
    # its files and so above those of the folder where somebody happens to be.
    sys.argv = ["streamlit", "run", str(find_app() / "app.py"), *flags]
    # In this process, so that whoever ends it ends the server; the core imports no Streamlit.
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


app.add_typer(trust.app)
app.add_typer(projects.app)
app.add_typer(upkeep.app)
app.add_typer(prompts.app)
app.add_typer(study.app)
app.add_typer(_starting)


def main() -> None:
    """Run a command; a mistake in the input is one sentence and exit code 2."""
    output.speak_utf8()
    try:
        app()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            output.say("stopped — what was saved before stays; the same command goes on from there")
        raise
    except EapError as error:
        output.say(f"error: {output.error_words(error)}")
        sys.exit(2)
