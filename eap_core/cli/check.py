"""The command that reads files and says what is wrong, without keeping or scoring anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eap_core.base.errors import DataError, SettingsError, escape_controls
from eap_core.base.prepare import problem_from_tables
from eap_core.cli import output
from eap_core.cli.options import InputFiles, InputTables, input_options, with_options
from eap_core.scoring.settings import AUTHORS

if TYPE_CHECKING:
    from eap_core.base.problem import Problem
    from eap_core.health.finding import Finding

app = typer.Typer()


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
    problem = _check_problem(files, tables)
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


def _check_problem(files: InputFiles, tables: InputTables) -> Problem | None:
    if tables.train is None:
        return None
    # Without candidates the training rows stand in for them: they fit by definition.
    return problem_from_tables(
        tables.train,
        tables.candidates or replace(tables.train, notes=(), warnings=()),
        tables.anomalies,
        scale=files.scale,
        assumed_rate=files.assumed_rate,
    )


def _check_images(paths: list[Path], report: _Report) -> None:
    from eap_core.health.finding import PLURAL, Entry, find_copies
    from eap_core.health.images import find_looks
    from eap_core.images.layout import layout_of
    from eap_core.images.read import read_images
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
