"""What the command line shows: progress and tables on a terminal, plain output in a pipe."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eap_core.base.errors import DataError, EapError, choose_advice, escape_controls
from eap_core.base.progress import Progress, silent

if TYPE_CHECKING:
    import pandas as pd

    from eap_core.analysis.compare import Comparison
    from eap_core.analysis.explain import Explanation

# What to do about a mistake, by its code, where the command line has options for it.
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "weights-wanted": "{advice} with --weights FILE",
        "weights-damaged": "{first} with --weights FILE, or run {command}",
        "weights-lost": "run {command} where there is a connection, and give --weights {file}",
        "words-lost": "run {command} where there is a connection, FOLDER being that of the file "
        "for --weights, or choose a model whose words come with the program, such as --model "
        "{model}",
        "model-unknown": "{advice}, with --model",
        "model-unbuildable": "{advice} with --model",
        "model-undescribed": "choose another with --model, or run {command} here once there is a "
        "connection",
        "training-unknown": "{advice}, with --model MODEL:TRAINING",
        "training-open": "say which the weights are of, with --model {model}:TRAINING, for example "
        "{examples}",
        "int8-unavailable": "run pip install {packages}, or do without --int8",
        "labels-missing": "{advice} with --label",
        "datasets-small": "name data sets with --datasets to study them all the same",
    }
)


def advise(error: EapError) -> EapError:
    """The error with advice that names the command line's options."""
    return choose_advice(error, _ADVICE)


def error_words(error: EapError) -> str:
    """The sentence that is shown for an error."""
    return str(advise(error))


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A bar with the time left on a terminal's standard error; silence otherwise."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def report(share: float, step: str) -> None:
            bar.update(task, completed=share, description=step)

        yield report


def speak_utf8() -> None:
    """UTF-8 in pipes and files on every system; a terminal shows what it cannot write as ?."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")


def say(*lines: str) -> None:
    """Notes and warnings, on standard error."""
    for line in lines:
        sys.stderr.write(f"{escape_controls(line)}\n")


def write(text: str) -> None:
    """Results, on standard output."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise DataError(f"standard output cannot be written ({error.strerror})") from error


def write_json(value: Any) -> None:
    write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people; text in it is data, never markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    cells = [[_cell(value) for value in row] for row in rows]
    for j, name in enumerate(columns):
        numeric = any(isinstance(row[j], _Number) for row in cells)
        table.add_column(
            Text(escape_controls(name)), justify="right" if numeric else "left", overflow="fold"
        )
    for row in cells:
        table.add_row(*(Text(str(value)) for value in row))
    Console().print(table)


def write_scores(title: str, frame: pd.DataFrame) -> None:
    """The table of scores for people, with the columns that say most."""
    columns = ["id", "percentile", "category", "eap", "p_y", "weight", "covered"]
    write_table(title, columns, frame[columns].itertuples(index=False))


def comparison_record(found: Comparison, ids: Sequence[str]) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "evaluators": list(found.names),
        "correlation": found.correlation.tolist(),
        "disagreement": found.disagreement.tolist(),
        "auc": found.auc,
        "most_disputed": found.most_disputed(ids),
    }


def write_comparison(found: Comparison, ids: Sequence[str]) -> None:
    """A comparison as two tables and a line."""
    first = ["evaluator", *(["AUC"] if found.auc else []), "with EAP", "pairs ordered otherwise"]
    rows = [
        [
            name,
            *([f"{found.auc[name]:.3f}"] if found.auc else []),
            f"{found.correlation[i, 0]:+.2f}",
            f"{found.disagreement[i, 0]:.0%}",
        ]
        for i, name in enumerate(found.names)
    ]
    write_table("Evaluators beside EAP (rank correlation)", first, rows)
    write("Rank correlation of each pair, in hundredths\n\n")
    for i, name in enumerate(found.names):
        # The lower half says it all, and fits on a terminal.
        row = "".join(f"{round(100 * value):4}" for value in found.correlation[i, :i])
        write(f"  {i + 1:2} {name:<13}{row}{i + 1:4}\n")
    write("\n")
    disputed = ", ".join(escape_controls(name) for name in found.most_disputed(ids))
    write(f"Most disputed candidates: {disputed}\n")


def explain_in_words(found: Explanation) -> str:
    """The explanation of a score as a short page of text."""
    lines = [
        f"{escape_controls(found.id)}: {found.category}",
        found.sentence,
        "",
        f"score     φ = {found.eap:.4f}, rank {found.rank:,} of {found.of:,}",
        f"          = {found.weight:.3f} × {found.p_y:.3f} + {1 - found.weight:.3f} × "
        f"{found.prior:.3f}   (evidence × looks anomalous + rest × prior)",
        f"evidence  N = {found.observations:.3f} training rows' worth; covered in "
        f"{found.covered:.0%} of the passes (k = {found.k:,})",
    ]
    if found.covering and found.radius is not None:
        lines.append(
            f"covered   by the ball of {escape_controls(found.covering.id)}: radius "
            f"{found.radius:.3f}, "
            f"distance {found.covering.distance:.3f}"
        )
    near = ", ".join(f"{escape_controls(n.id)} ({n.distance:.3f})" for n in found.nearest_normals)
    lines.append(f"nearest   normals: {near}")
    if found.nearest_anomaly:
        lines.append(
            f"          real anomaly: {escape_controls(found.nearest_anomaly.id)} "
            f"({found.nearest_anomaly.distance:.3f})"
        )
    return "\n".join(lines) + "\n"


class _Number(str):
    """A number that has been written out."""


def _cell(value: object) -> str:
    if isinstance(value, float):
        return _Number(f"{value:.4g}")
    if isinstance(value, int):
        return _Number(f"{value:,}")
    return escape_controls(str(value))
