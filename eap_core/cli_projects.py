"""Commands on projects in the store: fill, look at, score, keep safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from eap_core import console
from eap_core.cli_options import (
    ModelName,
    Seed,
    Weights,
    prior_option,
    reading_options,
    settings_options,
    with_options,
)
from eap_core.errors import SettingsError, printable, shown
from eap_core.health.copies import PLURAL
from eap_core.health.finding import Finding
from eap_core.posterior import Prior
from eap_core.projects.given import Given, Taken, Target, together
from eap_core.projects.health import health as health_of
from eap_core.projects.intake import kind_of, take
from eap_core.projects.plan import Plan
from eap_core.projects.results import run_frame
from eap_core.projects.scored import score_project
from eap_core.readers import Reading
from eap_core.scoring import evaluator_names
from eap_core.settings import Settings
from eap_core.store import projects, runs
from eap_core.store.bin import empty_bin
from eap_core.store.items import uploads_of
from eap_core.store.opening import opened_store
from eap_core.store.projects import Project
from eap_core.store.store import Store

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Named = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


@dataclass(frozen=True)
class Contents:
    """The files that were named, by what they are."""

    by_target: tuple[tuple[Target | None, tuple[Given, ...]], ...]

    @property
    def every(self) -> list[Given]:
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
) -> Contents:
    named: dict[Target | None, list[Path] | None] = {
        None: data,
        "normal": normals,
        "anomaly": anomalies,
        "candidate": candidates,
        "test": test,
    }
    return Contents(
        tuple(
            (target, tuple(Given.at(path) for path in paths))
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
        typer.Option(help="How images become numbers: full, which is usual, fast, or clip."),
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
    names = evaluator_names([name.strip() for name in evaluators.split(",") if name.strip()])
    wanted = "clip" if model or weights or int8 else Plan.features
    if features is not None and features != wanted == "clip":
        raise SettingsError(
            f"--model, --weights and --int8 are for the features clip, not {shown(features)} — "
            "leave them out, or --features"
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
    contents: Contents,
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
    if not contents.every:
        raise SettingsError("no files are named — give at least --data, or --normals")
    with opened_store() as store:
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
def add(project: Named, contents: Contents, reading: Reading, json: Json = False) -> None:
    """Add files to a project; what is there already is not added twice.

    \b
    python -m eap_core add bottle --candidates second-try.zip
    """
    if not contents.every:
        raise SettingsError("no files are named — give for example --candidates more.zip")
    with opened_store() as store:
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
    with opened_store() as store:
        found = projects.find(store, project)
        findings = [*_health(store, found, json), *_scored(store, found)]
        if json:
            console.write_json([finding.record for finding in findings])
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
    with opened_store() as store:
        found = projects.find(store, project)
        told = _read_notes(store, found)
        noted = _score(store, found, _complete(plan, settings, prior), json, told)
        findings = _scored(store, projects.by_id(store, found.id))
    if json:
        console.write_json([finding.record for finding in findings])
    else:
        _tell([finding for finding in findings if finding.sentence not in noted])


def _complete(plan: Plan, settings: Settings, prior: Prior | None) -> Plan:
    return replace(plan, settings=settings, prior=None if prior is None else prior.mean)


def _take(
    store: Store, project: Project, contents: Contents, reading: Reading, quiet: bool
) -> Taken:
    parts = []
    with console.progress_bar(quiet=quiet) as progress:
        for target, given in contents.by_target:
            wanted = _reading_of(target, reading)
            parts.append(take(store, project.id, given, target, wanted, progress))
    return together(parts)


def _reading_of(target: Target | None, reading: Reading) -> Reading:
    """Labels are wanted where both classes stand in one file, ids where the candidates are."""
    labelled = target in (None, "train", "test")
    return replace(
        reading,
        label=reading.label if labelled else None,
        id_column=reading.id_column if target == "candidate" else None,
    )


def _health(store: Store, project: Project, quiet: bool) -> tuple[Finding, ...]:
    with console.progress_bar(quiet=quiet) as progress:
        return health_of(store, project.id, progress)


def _score(
    store: Store, project: Project, plan: Plan, quiet: bool, told: tuple[str, ...] = ()
) -> list[str]:
    """Score, and say what has not been told yet; returns what is noted of the run."""
    with console.progress_bar(quiet=quiet) as progress:
        run = score_project(store, project.id, plan, progress)
    frame = run_frame(store, run.id)
    counts = ", ".join(f"{n:,} {word}" for word, n in frame["category"].value_counts().items())
    notes = list(run.settings["notes"])
    if quiet:
        return notes
    console.say(*(f"note: {note}" for note in notes if note not in told))
    console.write(
        f"{printable(project.name)}: {len(frame):,} candidates scored ({counts}) — see them with "
        f"python -m eap_core scores {shown(project.name)}\n"
    )
    return notes


def _read_notes(store: Store, project: Project) -> tuple[str, ...]:
    """How the files were read, which was said when they were added."""
    given = uploads_of(store, project.id)
    return tuple(note for upload in given for note in upload.details["notes"])


def _scored(store: Store, project: Project) -> list[Finding]:
    if project.current_run is None:
        return []
    run = runs.by_id(store, project.current_run)
    return [Finding.from_record(dict(record)) for record in run.findings]


def _report(project: Project, taken: Taken, findings: tuple[Finding, ...], json: bool) -> None:
    if json:
        console.write_json(
            {
                "project": project.name,
                **taken.record,
                "findings": [finding.record for finding in findings],
            }
        )
        return
    console.say(*(f"note: {note}" for note in taken.notes))
    console.say(*(f"warning: {warning}" for warning in taken.warnings))
    # What was not used is one of the findings.
    _tell(findings)
    counts = ", ".join(f"{count:,} {PLURAL[role]}" for role, count in taken.counts.items())
    console.write(f"{printable(project.name)}: {counts or 'nothing new'}\n")


def _tell(findings: tuple[Finding, ...] | list[Finding]) -> None:
    for finding in findings:
        console.say(f"{finding.severity}: {finding.sentence}")
