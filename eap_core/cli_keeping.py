"""Commands that keep projects safe: backup, restore, the bin, and the jobs of the app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eap_core import console, jobs
from eap_core.errors import SettingsError, printable, shown
from eap_core.store import backup as backups
from eap_core.store import bin as bins
from eap_core.store import jobs as job_rows
from eap_core.store import projects
from eap_core.store import restore as restores
from eap_core.store.opening import opened_store

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
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise SettingsError(f"{shown(str(file))} cannot be written — name a file in a folder")
    if file.exists() and not overwrite:
        raise SettingsError(f"{shown(file.name)} is there already — choose another, or --overwrite")
    with opened_store() as store, console.progress_bar() as progress:
        found = projects.find(store, project)
        written = backups.backup(store, found.id, file, progress=progress)
    for sha256 in written.missing:
        console.say(f"warning: the file {sha256} was lost before and is not in the backup")
    console.say(f"{printable(found.name)} is backed up: {written.files:,} files → {file.name}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="The backup to read.")],
    name: Annotated[str | None, typer.Option(help="A new name for the project.")] = None,
) -> None:
    """Make a project from a backup; one that is there is left alone and the new one renamed.

    \b
    python -m eap_core restore bottle-backup.zip
    """
    with opened_store() as store, console.progress_bar() as progress:
        found = restores.restore(store, file, name, progress)
    console.say(f"restored as {printable(found.name)}")


@app.command()
def delete(
    project: Named,
    yes: Yes = False,
) -> None:
    """Put a project into the bin, after asking twice; it can be taken back until that is emptied.

    \b
    python -m eap_core delete bottle
    """
    with opened_store() as store:
        found = projects.find(store, project)
        if not yes:
            typer.confirm(f"Put the project {printable(found.name)} into the bin?", abort=True)
            again = typer.prompt("Type its name to confirm")
            if again.strip() != found.name:
                raise SettingsError("the names differ — nothing was deleted")
        projects.to_bin(store, found.id)
    console.say(f"{printable(found.name)} is in the bin: undelete takes it back")


@app.command()
def undelete(
    project: Named,
    name: Annotated[str | None, typer.Option(help="Another name, if its own is taken.")] = None,
) -> None:
    """Take a project back from the bin.

    \b
    python -m eap_core undelete bottle
    """
    with opened_store() as store:
        binned = [one for one in projects.in_bin(store) if project in (one.name, one.id)]
        if not binned:
            raise SettingsError(f"no project {shown(project)} is in the bin — nothing to take back")
        found = projects.from_bin(store, binned[0].id, name)
    console.say(f"{printable(found.name)} is back")


@app.command("empty-bin")
def empty_bin(yes: Yes = False) -> None:
    """Delete for good what is in the bin, with all decisions; this cannot be undone."""
    with opened_store() as store:
        binned = projects.in_bin(store)
        if not binned:
            console.say("the bin is empty")
            return
        if not yes:
            names = ", ".join(printable(one.name) for one in binned)
            typer.confirm(f"Delete {names} for good?", abort=True)
            typer.confirm("All data and decisions will be gone. Really?", abort=True)
        bins.empty_bin(store)
    console.say(f"{len(binned)} projects are deleted")


@app.command("jobs")
def list_jobs(
    again: Annotated[
        str | None, typer.Option(metavar="JOB", help="Start this dead job anew.")
    ] = None,
    json: Json = False,
) -> None:
    """List the latest long work of the app: how far each is, and whether its worker died."""
    with opened_store() as store:
        if again:
            jobs.again(store, again)
        dead = {job.id for job in job_rows.dead(store)}
        rows = [
            (job.id, job.kind, "dead" if job.id in dead else job.status, job.share, job.error or "")
            for job in job_rows.recent(store)
        ]
    if json:
        keys = ("id", "kind", "status", "share", "error")
        console.write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        told = [[*row[:3], f"{row[3]:.0%}", row[4]] for row in rows]
        console.write_table("Jobs", ["job", "kind", "status", "done", "error"], told)
