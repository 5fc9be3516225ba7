"""The options that several commands share, each group turned into one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eap_core.assemble import Scale
from eap_core.clip.wanted import PAPERS
from eap_core.distances import MEMORY_BUDGET
from eap_core.inputs import Files
from eap_core.missing import Missing
from eap_core.posterior import Prior
from eap_core.problem import ASSUMED_RATE
from eap_core.readers.reading import Decimal, Reading
from eap_core.settings import AUTHORS, CONVENTIONS, Settings

Command = Callable[..., Any]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same scores.")
]
ModelName = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help=f"The CLIP model, or MODEL:TRAINING, by open_clip's names; {PAPERS} is usual.",
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The CLIP model's weights, safetensors, if not fetched."),
]
Convention = Literal["authors", "paper"]
_SPOKEN = {"tab": "\t", "\\t": "\t", "space": " "}  # hard to type in a shell


def reading_options(
    label: Annotated[
        str | None, typer.Option(help="The column of labels, 0 and 1; found if not given.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The candidates' id column; found if not given.")
    ] = None,
    exclude: Annotated[
        str, typer.Option(help="Columns that are no features, with commas between.")
    ] = "",
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column that describes rows: kept, not scored; repeatable."
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column of names, also if they are numbers; repeatable."
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column to score, whatever it is called; repeatable."
        ),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(help="Rows with gaps: refuse or drop them, or fill in the normals' median."),
    ] = "refuse",
    array: Annotated[
        str | None, typer.Option(help="Which array of an NPZ file holds the rows.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text files, such as utf-8; found if not given.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between columns, such as ';' or tab; found if not given.")
    ] = None,
    decimal: Annotated[
        Decimal | None, typer.Option(help="The decimal mark of text files; found if not given.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether text files start with names."),
    ] = None,
) -> Reading:
    return Reading(
        label=label,
        id_column=id_column,
        array=array,
        exclude=tuple(name.strip() for name in exclude.split(",") if name.strip()),
        metadata=tuple(metadata or ()),
        categorical=tuple(categorical or ()),
        features=tuple(feature or ()),
        missing=missing,
        encoding=encoding,
        delimiter=None if delimiter is None else _SPOKEN.get(delimiter, delimiter),
        decimal=decimal,
        header=header,
    )


def file_options(
    train: Annotated[
        Path | None, typer.Option(help="Training data with a label column: 0 normal, 1 anomaly.")
    ] = None,
    normals: Annotated[Path | None, typer.Option(help="Normal rows, instead of --train.")] = None,
    anomalies: Annotated[
        Path | None, typer.Option(help="Real anomalies, beside --normals.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(help="The synthetic anomalies to score.")
    ] = None,
) -> Files:
    return Files(train=train, normals=normals, anomalies=anomalies, candidates=candidates)


def with_options(**groups: Callable[..., Any]) -> Callable[[Command], Command]:
    """Give a command the options of each group; it receives what the group's function returns."""

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters
        shared = {
            name: inspect.signature(group, eval_str=True).parameters
            for name, group in groups.items()
        }

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            made = {
                name: group(**{option: given.pop(option) for option in shared[name]})
                for name, group in groups.items()
            }
            return command(**given, **made)

        arguments = [p for p in own.values() if p.name not in groups]
        options = [p for group in shared.values() for p in group.values()]
        merged = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in [*options, *arguments]]
        run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in merged}
        return run

    return decorate


@with_options(files=file_options, reading=reading_options)
def input_options(
    files: Files,
    reading: Reading,
    scale: Annotated[Scale, typer.Option(help="Standardise the columns, or not.")] = "standard",
    assumed_rate: Annotated[
        float | None,
        typer.Option(
            help=f"Share of anomalies to assume where no real ones are given ({ASSUMED_RATE})."
        ),
    ] = None,
) -> Files:
    return replace(files, reading=reading, scale=scale, assumed_rate=assumed_rate)


def settings_options(
    subsets: Annotated[
        int | None,
        typer.Option(
            help=f"Random subsets to average over ({AUTHORS.subsets}; 0 is one pass, as in the "
            "paper convention)."
        ),
    ] = None,
    convention: Annotated[
        Convention, typer.Option(help="As the authors' code computes, or as the paper's text.")
    ] = "authors",
    detector: Annotated[
        str, typer.Option(help="The pyod detector behind P(y|x), by the name of its module.")
    ] = AUTHORS.detector,
    k: Annotated[
        int | None, typer.Option("--k", help="Neighbours; learned from the anomalies if not given.")
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the detector anew on each subset (slow).")
    ] = False,
) -> Settings:
    chosen = replace(CONVENTIONS[convention], detector=detector, k=k, refit=refit)
    return chosen if subsets is None else replace(chosen, subsets=subsets)


def memory_option(
    memory: Annotated[
        float, typer.Option(min=0.01, help="Memory budget for distances, in GB.")
    ] = MEMORY_BUDGET / 1e9,
) -> int:
    return int(memory * 1e9)


def prior_option(
    prior: Annotated[
        float | None,
        typer.Option(help="Expected share of anomalies, below 0.5 (m/n if not given)."),
    ] = None,
) -> Prior | None:
    return None if prior is None else Prior.of_rate(prior)
