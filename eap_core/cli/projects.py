"""Commands on projects in the store: fill, look at, score, keep safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eap_core.analysis import Plan
from eap_core.base.errors import SettingsError, escape_controls, quote
from eap_core.base.files import check_target, write_frame
from eap_core.cli import output
from eap_core.cli.options import (
    ModelName,
    Seed,
    Weights,
    prior_option,
    reading_options,
    settings_options,
    with_options,
)
from eap_core.features import EMBEDDERS
from eap_core.project import InputFile, IntakeReport, Target, sum_reports
from eap_core.readers.files import Reading
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import Settings

if TYPE_CHECKING:
    from eap_core.health import Finding
    from eap_core.store.projects import Project
    from eap_core.store.runs import Run
    from eap_core.store.store import Store

app = typer.Typer()

_OTHER_FEATURES = [name for name in EMBEDDERS if name != Plan.features]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Named = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


@dataclass(frozen=True)
class Uploads:
    """The files that were named, by what they are."""

    by_target: tuple[tuple[Target | None, tuple[InputFile, ...]], ...]

    @property
    def every(self) -> list[InputFile]:
        return [one for _, given in self.by_target for one in given]


def content_options(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A folder or ZIP whose folders tell the roles, or a labelled table."),
    ] = None,
    normals: Annotated[
        list[Path] | None, typer.Option(help="Normals: images, ZIP, folder or table.")
    ] = None,
    anomalies: Annotated[list[Path] | None, typer.Option(help="Real anomalies.")] = None,
    candidates: Annotated[
        list[Path] | None, typer.Option(help="The synthetic anomalies to judge.")
    ] = None,
    test: Annotated[
        list[Path] | None, typer.Option(help="Held-out test data: a tree or a labelled table.")
    ] = None,
) -> Uploads:
    named: dict[Target | None, list[Path] | None] = {
        None: data,
        "normal": normals,
        "anomaly": anomalies,
        "candidate": candidates,
        "test": test,
    }
    return Uploads(
        tuple(
            (target, tuple(InputFile.at(path) for path in paths))
            for target, paths in named.items()
            if paths
        )
    )


def plan_options(
    evaluators: Annotated[
        str, typer.Option(help="Further scores, with commas between: rarity,sum; or all.")
    ] = "eap",
    features: Annotated[
        str | None,
        typer.Option(
            help=f"How images become numbers: {Plan.features}, which is usual, "
            f"{', '.join(_OTHER_FEATURES[:-1])}, or {_OTHER_FEATURES[-1]}."
        ),
    ] = None,
    model: ModelName = None,
    weights: Weights = None,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="CLIP in 8 bits, in about half the time, where it keeps the ranking."
        ),
    ] = False,
    assumed_rate: Annotated[
        float | None,
        typer.Option(help="Share of anomalies to assume where no real ones are given."),
    ] = None,
    seed: Seed = 0,
) -> Plan:
    from eap_core.analysis.score import evaluator_names

    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    wanted = "clip" if model or weights or int8 else Plan.features
    if features is not None and features != wanted == "clip":
        raise SettingsError(
            f"--model, --weights and --int8 are for the features clip, not {quote(features)}",
            advice="leave them out, or --features",
        )
    return Plan(
        evaluators=names,
        features=features or wanted,
        clip_model=model or Plan.clip_model,
        weights=str(weights.expanduser().absolute()) if weights else None,
        int8=int8,
        assumed_rate=assumed_rate,
        seed=seed,
    )


@app.command()
@with_options(
    contents=content_options,
    reading=reading_options,
    settings=settings_options,
    prior=prior_option,
    plan=plan_options,
)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new project's name.")],
    contents: Uploads,
    reading: Reading,
    settings: Settings,
    prior: Prior | None,
    plan: Plan,
    score: Annotated[
        bool, typer.Option("--score/--no-score", help="Score the candidates at once.")
    ] = True,
    json: Json = False,
) -> None:
    """Make a project from files, report on its health and score it.

    \b
    python -m eap_core create bottle --data bottle.zip
    python -m eap_core create screws --normals good/ --anomalies bad/ --candidates made.zip
    python -m eap_core create fraud --data train.csv --candidates made.csv --no-score
    """
    from eap_core.project.intake import kind_of
    from eap_core.store import projects
    from eap_core.store.cleanup import empty_bin
    from eap_core.store.store import open_current_store

    if not contents.every:
        raise SettingsError(
            "no files are named",
            advice="give at least --data, or --normals",
        )
    with open_current_store() as store:
        project = projects.create(store, name, kind_of(contents.every))
        try:
            taken = _take(store, project, contents, reading, json)
        except BaseException:
            # A name must not stay taken by a project of nothing.
            projects.to_bin(store, project.id)
            empty_bin(store, project.id)
            raise
        findings = _health(store, project, json)
        scorable = score and not any(finding.severity == "stop" for finding in findings)
        _report(project, taken, findings, json)
        if scorable:
            _score(store, project, _complete(plan, settings, prior), json, taken.notes)
        if score and not scorable:
            raise typer.Exit(1)


@app.command()
@with_options(contents=content_options, reading=reading_options)
def add(project: Named, contents: Uploads, reading: Reading, json: Json = False) -> None:
    """Add files to a project; what is there already is not added twice.

    \b
    python -m eap_core add bottle --candidates second-try.zip
    """
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    if not contents.every:
        raise SettingsError(
            "no files are named",
            advice="give for example --candidates more.zip",
        )
    with open_current_store() as store:
        found = projects.find(store, project)
        taken = _take(store, found, contents, reading, json)
        _report(found, taken, _health(store, found, json), json)


@app.command()
def health(project: Named, json: Json = False) -> None:
    """Say what is worth knowing about a project's data before its scores are trusted.

    Exit code 0: nothing but notes; 1: warnings; 2: it cannot be scored like this.

    \b
    python -m eap_core health bottle
    """
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        found = projects.find(store, project)
        findings = [*_health(store, found, json), *_scored_findings(store, found)]
        if json:
            output.write_json([finding.record for finding in findings])
        else:
            _tell(findings)
    grave = {finding.severity for finding in findings}
    raise typer.Exit(2 if "stop" in grave else 1 if "warning" in grave else 0)


@app.command("run")
@with_options(settings=settings_options, prior=prior_option, plan=plan_options)
def run_project(
    project: Named, settings: Settings, prior: Prior | None, plan: Plan, json: Json = False
) -> None:
    """Score a project's candidates; the new run becomes the current one.

    \b
    python -m eap_core run bottle --evaluators all
    """
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        found = projects.find(store, project)
        told = _read_notes(store, found)
        noted = _score(store, found, _complete(plan, settings, prior), json, told)
        findings = _scored_findings(store, projects.by_id(store, found.id))
    if json:
        output.write_json([finding.record for finding in findings])
    else:
        _tell([finding for finding in findings if finding.sentence not in noted])


def _complete(plan: Plan, settings: Settings, prior: Prior | None) -> Plan:
    return replace(plan, settings=settings, prior=None if prior is None else prior.mean)


def _take(
    store: Store, project: Project, contents: Uploads, reading: Reading, quiet: bool
) -> IntakeReport:
    from eap_core.project.intake import take

    parts = []
    with output.progress_bar(quiet=quiet) as progress:
        for target, given in contents.by_target:
            wanted = _reading_of(target, reading)
            parts.append(take(store, project.id, given, target, wanted, progress))
    return sum_reports(parts)


def _reading_of(target: Target | None, reading: Reading) -> Reading:
    """Labels are wanted where both classes stand in one file, ids where the candidates are."""
    labelled = target in (None, "train", "test")
    return replace(
        reading,
        label=reading.label if labelled else None,
        id_column=reading.id_column if target == "candidate" else None,
    )


def _health(store: Store, project: Project, quiet: bool) -> tuple[Finding, ...]:
    from eap_core.project.health import check_health

    with output.progress_bar(quiet=quiet) as progress:
        return check_health(store, project.id, progress)


def _score(
    store: Store, project: Project, plan: Plan, quiet: bool, told: tuple[str, ...] = ()
) -> list[str]:
    """Score, and say what has not been told yet; returns what is noted of the run, in either
    words: findings repeat the neutral ones."""
    from eap_core.project.results import run_frame
    from eap_core.project.run import score_project

    with output.progress_bar(quiet=quiet) as progress:
        run = score_project(store, project.id, plan, progress)
    frame = run_frame(store, run.id)
    counts = ", ".join(f"{n:,} {word}" for word, n in frame["category"].value_counts().items())
    notes = _notes_of(run)
    noted = [*notes, *run.settings["notes"]]
    if quiet:
        return noted
    output.say(*(f"note: {note}" for note in notes if note not in told))
    output.write(
        f"{escape_controls(project.name)}: {len(frame):,} candidates scored ({counts}) — see them "
        f"with python -m eap_core scores {quote(project.name)}\n"
    )
    return noted


def _notes_of(run: Run) -> list[str]:
    """What is noted of a run, in the words of the command line."""
    from eap_core.project.run import describe_fallback, lacking_of

    lacking, notes = lacking_of(run), list(run.settings["notes"])
    if lacking is None:
        return notes
    own = {describe_fallback(lacking): describe_fallback(output.advise(lacking))}
    return [own.get(note, note) for note in notes]


def _read_notes(store: Store, project: Project) -> tuple[str, ...]:
    """How the files were read, which was said when they were added."""
    from eap_core.store.items import uploads_of

    given = uploads_of(store, project.id)
    return tuple(note for upload in given for note in upload.details["notes"])


def _scored_findings(store: Store, project: Project) -> list[Finding]:
    from eap_core.health import Finding
    from eap_core.store import runs

    if project.current_run is None:
        return []
    run = runs.by_id(store, project.current_run)
    return [Finding.from_record(dict(record)) for record in run.findings]


def _report(
    project: Project, taken: IntakeReport, findings: tuple[Finding, ...], json: bool
) -> None:
    from eap_core.health import PLURAL

    if json:
        output.write_json(
            {
                "project": project.name,
                **taken.record,
                "findings": [finding.record for finding in findings],
            }
        )
        return
    output.say(*(f"note: {note}" for note in taken.notes))
    output.say(*(f"warning: {warning}" for warning in taken.warnings))
    # What was not used is one of the findings.
    _tell(findings)
    counts = ", ".join(f"{count:,} {PLURAL[role]}" for role, count in taken.counts.items())
    output.write(f"{escape_controls(project.name)}: {counts or 'nothing new'}\n")


def _tell(findings: tuple[Finding, ...] | list[Finding]) -> None:
    for finding in findings:
        output.say(f"{finding.severity}: {finding.sentence}")


# Commands that show what there is: projects, their scores, the demos.


def find_scored(store: Store, name: str) -> tuple[Project, str]:
    """A project that has scores, and its current run."""
    from eap_core.store import projects

    found = projects.find(store, name)
    if found.current_run is None:
        raise SettingsError(f"{quote(found.name)} has no scores yet", advice="make them with run")
    return found, found.current_run


@app.command()
def scores(
    project: Named,
    out: Annotated[Path | None, typer.Option(help="Where to write: .csv or .parquet.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the best to show.")] = 20,
) -> None:
    """Show the best candidates of a project, or write all their scores to a file.

    \b
    python -m eap_core scores bottle
    python -m eap_core scores bottle --out bottle.csv
    """
    from eap_core.project.results import run_frame
    from eap_core.store.store import open_current_store

    if out:
        check_target(out)
    with open_current_store() as store:
        _, run = find_scored(store, project)
        frame = run_frame(store, run)
    if out:
        write_frame(frame.drop(columns="item"), out)
        output.say(f"{len(frame):,} candidates → {out.name}")
        return
    best = frame.head(top)
    title = f"The best {len(best)} of {len(frame):,} candidates"
    output.write_scores(title, best)


@app.command()
def choose(
    project: Named,
    evaluator: Annotated[str, typer.Argument(help="One that the project's scores have.")],
) -> None:
    """Rank a project's candidates by another of its scores; decisions stay.

    \b
    python -m eap_core choose bottle reach
    """
    from eap_core.project.results import choose_score
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        found, run = find_scored(store, project)
        choose_score(store, run, evaluator)
    output.say(f"{escape_controls(found.name)}: ranked by {evaluator}")


@app.command("projects")
def list_projects(json: Json = False) -> None:
    """List the projects with what they hold and how far their review is."""
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        rows = projects.list_overviews(store)
    if json:
        output.write_json(
            [
                {
                    "name": row.project.name,
                    "kind": row.project.kind,
                    "items": dict(row.items),
                    "reviewed": row.reviewed,
                    "accepted": row.accepted,
                    "scored": row.project.current_run is not None,
                }
                for row in rows
            ]
        )
        return
    output.write_table(
        "Projects",
        ["name", "kind", "normals", "anomalies", "candidates", "reviewed", "accepted", "scored"],
        [
            [
                row.project.name,
                row.project.kind,
                row.items.get("normal", 0),
                row.items.get("anomaly", 0),
                row.candidates,
                row.reviewed,
                row.accepted,
                "yes" if row.project.current_run else "no",
            ]
            for row in rows
        ],
    )


@app.command("create-demo")
def create_demo(
    kind: Annotated[Literal["images", "table"], typer.Argument(help="images or table")],
) -> None:
    """Make a demo project, filled and scored.

    \b
    python -m eap_core create-demo images
    """
    from eap_core.project.demos import make_demo
    from eap_core.store.store import open_current_store

    with open_current_store() as store, output.progress_bar() as progress:
        found = make_demo(store, kind, progress)
    output.say(f"the project {found.name} is there")
