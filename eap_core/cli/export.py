"""The command that writes the curated set: a table or an image tree, with manifest and card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eap_core.base.errors import SettingsError, escape_controls, quote
from eap_core.cli import output
from eap_core.export.forms import Format, Only

if TYPE_CHECKING:
    from eap_core.export.request import ExportRequest

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
