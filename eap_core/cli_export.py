"""The command that writes the curated set: a table or an image tree, with manifest and card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eap_core import console
from eap_core.errors import SettingsError, printable, shown
from eap_core.export.bundle import bundle
from eap_core.export.contents import Contents, contents
from eap_core.export.members import Member
from eap_core.export.names import Names
from eap_core.export.request import Format, Only, Request
from eap_core.export.writing import write_files, write_folder, written_zip
from eap_core.progress import Progress
from eap_core.store import projects
from eap_core.store.opening import opened_store
from eap_core.store.store import Store

app = typer.Typer()

Named = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


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
    request = Request(form, top, only, synthetic_in_test, real_in_test)
    if out is not None:
        _check(out, request, overwrite)
    with opened_store() as store, console.progress_bar() as progress:
        found = projects.find(store, project)
        counts, where = _written(store, found.id, request, out, progress)
    console.say(
        f"{printable(found.name)}: {counts['accepted']:,} of {counts['candidates']:,} candidates "
        f"accepted ({counts['accepted_by_rule']:,} by rule), {counts['rejected']:,} rejected, "
        f"{counts['undecided']:,} undecided"
    )
    console.write(f"{printable(str(where))}\n")


def _written(
    store: Store, project: str, request: Request, out: Path | None, progress: Progress
) -> tuple[dict[str, int], Path]:
    if out is None:
        made = bundle(store, project, request, progress)
        return dict(made.counts), made.path
    alone = Names.beside(printable(out.name)) if _is_table(out, request) else None
    found = contents(store, project, request, names=alone)
    if _is_zip(out):
        with written_zip(found.members, out, progress):
            pass
    elif alone:
        write_files(_beside(found, out))
    else:
        write_folder(found.members, out, progress)
    return dict(found.manifest["selection"]["counts"]), out


def _beside(found: Contents, out: Path) -> list[tuple[Path, Member]]:
    """The table under the name that was asked for, and its papers beside it; the manifest last."""
    names = (found.names.table, found.names.card, found.names.manifest)
    return list(zip(_targets(out), map(found.member, names), strict=True))


def _targets(out: Path) -> list[Path]:
    names = Names.beside(out.name)
    return [out.with_name(name) for name in (names.table, names.card, names.manifest)]


def _check(out: Path, request: Request, overwrite: bool) -> None:
    """Refuse, before any work, a target that could not be written or would be lost."""
    if not out.resolve().parent.is_dir():
        raise SettingsError(f"{shown(str(out))} cannot be written — its folder does not exist")
    if out.suffix.lower() in (".csv", ".parquet") and out.suffix.lower() != f".{request.format}":
        raise SettingsError(
            f"{shown(out.name)} cannot hold the form {request.format} — name a .zip or a folder, "
            f"or use --format {out.suffix.lower()[1:]}"
        )
    for path in _targets(out) if _is_table(out, request) else [out]:
        if path.is_dir() or (path.exists() and not overwrite):
            raise SettingsError(
                f"{shown(path.name)} is there already — choose another name"
                + ("" if path.is_dir() else ", or --overwrite")
            )


def _is_table(out: Path, request: Request) -> bool:
    """Whether it is one table among other files."""
    return not request.has_images and out.suffix.lower() == f".{request.format}"


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"
