"""Commands that keep projects safe and hand them on: backup, restore, the bin, jobs, exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eap_core.base.errors import SettingsError, escape_controls, quote
from eap_core.cli import output
from eap_core.export import Format, Only

if TYPE_CHECKING:
    from eap_core.export.request import ExportRequest


app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Named = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@app.command()
def backup(
    project: Named,
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Where to write the backup.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Write everything of a project into one file: data, runs, every decision.

    \b
    python -m eap_core backup bottle bottle-backup.zip
    """
    from eap_core.store import backup as backups
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    if file.is_dir() or not file.resolve().parent.is_dir():
        raise SettingsError(
            f"{quote(str(file))} cannot be written",
            advice="name a file in a folder",
        )
    if file.exists() and not overwrite:
        raise SettingsError(
            f"{quote(file.name)} is there already",
            advice="choose another, or --overwrite",
        )
    with open_current_store() as store, output.progress_bar() as progress:
        found = projects.find(store, project)
        written = backups.backup(store, found.id, file, progress=progress)
    for sha256 in written.missing:
        output.say(f"warning: the file {sha256} was lost before and is not in the backup")
    output.say(f"{escape_controls(found.name)} is backed up: {written.files:,} files → {file.name}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="The backup to read.")],
    name: Annotated[str | None, typer.Option(help="A new name for the project.")] = None,
) -> None:
    """Make a project from a backup; one that is there is left alone and the new one renamed.

    \b
    python -m eap_core restore bottle-backup.zip
    """
    from eap_core.store import restore as restores
    from eap_core.store.store import open_current_store

    with open_current_store() as store, output.progress_bar() as progress:
        found = restores.restore(store, file, name, progress)
    output.say(f"restored as {escape_controls(found.name)}")


@app.command()
def delete(
    project: Named,
    yes: Yes = False,
) -> None:
    """Put a project into the bin, after asking twice; it can be taken back until that is emptied.

    \b
    python -m eap_core delete bottle
    """
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        found = projects.find(store, project)
        if not yes:
            typer.confirm(
                f"Put the project {escape_controls(found.name)} into the bin?", abort=True
            )
            again = typer.prompt("Type its name to confirm")
            if again.strip() != found.name:
                raise SettingsError("the names differ", advice="nothing was deleted")
        projects.to_bin(store, found.id)
    output.say(f"{escape_controls(found.name)} is in the bin: undelete takes it back")


@app.command()
def undelete(
    project: Named,
    name: Annotated[str | None, typer.Option(help="Another name, if its own is taken.")] = None,
) -> None:
    """Take a project back from the bin.

    \b
    python -m eap_core undelete bottle
    """
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        binned = [one for one in projects.list_bin(store) if project in (one.name, one.id)]
        if not binned:
            raise SettingsError(
                f"no project {quote(project)} is in the bin",
                advice="nothing to take back",
            )
        found = projects.from_bin(store, binned[0].id, name)
    output.say(f"{escape_controls(found.name)} is back")


@app.command("empty-bin")
def empty_bin(yes: Yes = False) -> None:
    """Delete for good what is in the bin, with all decisions; this cannot be undone."""
    from eap_core.store import cleanup as bins
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        binned = projects.list_bin(store)
        if not binned:
            output.say("the bin is empty")
            return
        if not yes:
            names = ", ".join(escape_controls(one.name) for one in binned)
            typer.confirm(f"Delete {names} for good?", abort=True)
            typer.confirm("All data and decisions will be gone. Really?", abort=True)
        bins.empty_bin(store)
    output.say(f"{len(binned)} projects are deleted")


@app.command("jobs")
def list_jobs(
    again: Annotated[
        str | None, typer.Option(metavar="JOB", help="Start this dead job anew.")
    ] = None,
    json: Json = False,
) -> None:
    """List the latest long work of the app: how far each is, and whether its worker died."""
    from eap_core import jobs
    from eap_core.store import jobs as job_rows
    from eap_core.store.store import open_current_store

    with open_current_store() as store:
        if again:
            jobs.again(store, again)
        dead = {job.id for job in job_rows.list_dead(store)}
        rows = [
            (
                job.id,
                job.kind,
                "dead" if job.id in dead else job.status,
                job.share,
                output.error_words(job.failure) if job.failure else "",
            )
            for job in job_rows.recent_jobs(store)
        ]
    if json:
        keys = ("id", "kind", "status", "share", "error")
        output.write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        told = [[*row[:3], f"{row[3]:.0%}", row[4]] for row in rows]
        output.write_table("Jobs", ["job", "kind", "status", "done", "error"], told)


@app.command()
def export(
    project: Named,
    form: Annotated[Format, typer.Option("--format", help="The form of the bundle.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .zip, a .csv or .parquet with its papers beside it, or a new folder; the "
            "store's own folder if not given.",
        ),
    ] = None,
    top: Annotated[
        float | None,
        typer.Option(help="Also accept the best this many percent, unless a reviewer decided."),
    ] = None,
    only: Annotated[Only, typer.Option(help="Which candidates the table lists.")] = "all",
    synthetic_in_test: Annotated[
        bool,
        typer.Option("--synthetic-in-test", help="Put synthetic images into the test data."),
    ] = False,
    real_in_test: Annotated[
        bool,
        typer.Option("--real-in-test", help="Put the known real anomalies into the test data."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Write the curated set: what reviewers accepted, with scores, decisions, manifest and card.

    \b
    python -m eap_core export bottle --out bottle.csv
    python -m eap_core export bottle --format anomalib --top 20 --out bottle.zip
    python -m eap_core export bottle --format imagefolder --only accepted --out bottle-set
    """
    from eap_core.export.bundle import write_bundle
    from eap_core.export.request import ExportRequest
    from eap_core.store import projects
    from eap_core.store.store import open_current_store

    request = ExportRequest(form, top, only, synthetic_in_test, real_in_test)
    if out is not None:
        _check(out, request, overwrite)
    with open_current_store() as store, output.progress_bar() as progress:
        found = projects.find(store, project)
        counts, where = write_bundle(store, found.id, request, out, progress)
    output.say(
        f"{escape_controls(found.name)}: {counts['accepted']:,} of {counts['candidates']:,} "
        f"candidates accepted ({counts['accepted_by_rule']:,} by rule), {counts['rejected']:,} "
        f"rejected, {counts['undecided']:,} undecided"
    )
    output.write(f"{escape_controls(str(where))}\n")


def _check(out: Path, request: ExportRequest, overwrite: bool) -> None:
    """Refuse, before any work, a target that could not be written or would be lost."""
    from eap_core.export.bundle import is_table, list_targets

    if not out.resolve().parent.is_dir():
        raise SettingsError(
            f"{quote(str(out))} cannot be written",
            advice="its folder does not exist",
        )
    if out.suffix.lower() in (".csv", ".parquet") and out.suffix.lower() != f".{request.format}":
        raise SettingsError(
            f"{quote(out.name)} cannot hold the form {request.format}",
            advice=f"name a .zip or a folder, or use --format {out.suffix.lower()[1:]}",
        )
    for path in list_targets(out) if is_table(out, request) else [out]:
        if path.is_dir() or (path.exists() and not overwrite):
            raise SettingsError(
                f"{quote(path.name)} is there already",
                advice="choose another name" + ("" if path.is_dir() else ", or --overwrite"),
            )
