"""Commands that show what there is: projects, their scores, the demos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eap_core import console
from eap_core.errors import SettingsError, shown
from eap_core.projects.demos import Demo, make_demo
from eap_core.projects.results import run_frame
from eap_core.store import overview, projects
from eap_core.store.opening import opened_store
from eap_core.writers import check_target, write_frame

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Named = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


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
    if out:
        check_target(out)
    with opened_store() as store:
        found = projects.find(store, project)
        if found.current_run is None:
            raise SettingsError(f"{shown(found.name)} has no scores yet — make them with run")
        frame = run_frame(store, found.current_run)
    if out:
        write_frame(frame.drop(columns="item"), out)
        console.say(f"{len(frame):,} candidates → {out.name}")
        return
    shown_columns = ["id", "percentile", "category", "eap", "p_y", "weight", "covered"]
    best = frame.head(top)[shown_columns]
    title = f"The best {len(best)} of {len(frame):,} candidates"
    console.write_table(title, shown_columns, best.itertuples(index=False))


@app.command("projects")
def list_projects(json: Json = False) -> None:
    """List the projects with what they hold and how far their review is."""
    with opened_store() as store:
        rows = overview.overviews(store)
    if json:
        console.write_json(
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
    console.write_table(
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
    kind: Annotated[Demo, typer.Argument(help="images or table")],
) -> None:
    """Make a demo project, filled and scored.

    \b
    python -m eap_core create-demo images
    """
    with opened_store() as store, console.progress_bar() as progress:
        found = make_demo(store, kind, progress)
    console.say(f"the project {found.name} is there")
