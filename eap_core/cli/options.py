"""The options that several commands share, each group turned into one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from eap_core.base.errors import DataError, SettingsError, list_names
from eap_core.base.prepare import Scale, problem_from_tables
from eap_core.base.problem import ASSUMED_RATE, Problem
from eap_core.base.table import Missing, Table, drop_labels
from eap_core.features.clip_hub import PAPERS
from eap_core.readers import read_table
from eap_core.readers.files import Decimal, Reading
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.posterior import Prior
from eap_core.scoring.settings import AUTHORS, CONVENTIONS, Settings

# From the files a person names to a Problem: the same for every command and the app.


@dataclass(frozen=True)
class InputFiles:
    """What was named: training data in one file or in two, candidates, and how to read them."""

    train: Path | None = None
    normals: Path | None = None
    anomalies: Path | None = None
    candidates: Path | None = None
    reading: Reading = field(default_factory=Reading)
    scale: Scale = "standard"
    assumed_rate: float | None = None

    def tables(self) -> InputTables:
        """Read each file that was named."""
        if self.train and (self.normals or self.anomalies):
            raise SettingsError(
                "--train already holds normals and anomalies",
                advice="give either --train or --normals with --anomalies",
            )
        self._check_meaning()
        tables = InputTables(
            train=self._training() if self.train else self._read(self.normals),
            anomalies=self._read(self.anomalies),
            candidates=self._candidates(),
        )
        self._check_names(tables)
        return tables

    @property
    def paths(self) -> tuple[Path | None, ...]:
        return self.train, self.normals, self.anomalies, self.candidates

    def problem(self, settings: Settings = AUTHORS, seed: int = 0) -> tuple[Problem, Table]:
        """The problem, and the candidates' table with the columns that are no features."""
        tables = self.tables()
        if tables.train is None:
            raise SettingsError(
                "no training data are given",
                advice="name a labelled file with --train, or --normals and --anomalies",
            )
        if tables.candidates is None:
            raise SettingsError(
                "no candidates are given",
                advice="name their file with --candidates",
            )
        problem = problem_from_tables(
            tables.train,
            tables.candidates,
            tables.anomalies,
            scale=self.scale,
            assumed_rate=self.assumed_rate,
        ).drawn(settings.max_normals, seed)
        kept = frozenset(problem.ids)
        candidates = tables.candidates.only(np.array([i in kept for i in tables.candidates.ids]))
        return problem, candidates.ordered_like(tables.train.columns)

    def training_problem(self, tables: InputTables) -> Problem | None:
        """The problem of what was read, with or without candidates; None without training data."""
        if tables.train is None:
            return None
        # Without candidates the training rows stand in for them: they fit by definition.
        return problem_from_tables(
            tables.train,
            tables.candidates or replace(tables.train, notes=(), warnings=()),
            tables.anomalies,
            scale=self.scale,
            assumed_rate=self.assumed_rate,
        )

    def _candidates(self) -> Table | None:
        table = self._read(self.candidates)
        return None if table is None else drop_labels(table)

    def _training(self) -> Table:
        table = self._read(self.train)
        if table is None or table.labels is None:
            raise DataError(
                f"{self.train.name if self.train else ''} has no label column",
                advice="name it with --label (0 normal, 1 anomaly), or give --normals and "
                "--anomalies as two files",
            )
        return table

    def _read(self, path: Path | None) -> Table | None:
        """A label column that was named is wanted in --train, an id column in --candidates."""
        if path is None:
            return None
        reading = replace(
            self.reading,
            label=self.reading.label if path == self.train else None,
            id_column=self.reading.id_column if path == self.candidates else None,
        )
        return read_table(path, reading)

    def _check_meaning(self) -> None:
        """One file may not know an option; if none does, it is a slip."""
        kinds = [path.suffix.lower() for path in self.paths if path]
        unused = [self.reading.without_meaning(kind) for kind in kinds]
        vain = [name for name in unused[0] if all(name in u for u in unused)] if unused else []
        if vain:
            options = ", ".join(f"--{name}" for name in vain)
            raise SettingsError(
                f"{options} has no meaning for {' and '.join(sorted(set(kinds)))} files",
                advice="leave it out",
            )

    def _check_names(self, tables: InputTables) -> None:
        """One file may lack a column that was named; if all do, it is a slip of the pen."""
        found = {n for table in tables.read for n in (*table.columns, *table.extras)}
        options = {
            "--exclude": self.reading.exclude,
            "--metadata": self.reading.metadata,
            "--categorical": self.reading.categorical,
            "--feature": self.reading.features,
        }
        for option, names in options.items():
            unknown = [name for name in names if name not in found]
            if unknown and tables.read:
                raise SettingsError(
                    f"{option} names {list_names(unknown)}, a column that no file has",
                    advice="correct the name",
                )


@dataclass(frozen=True)
class InputTables:
    """The tables that were read."""

    train: Table | None
    anomalies: Table | None
    candidates: Table | None

    @property
    def read(self) -> list[Table]:
        return [t for t in (self.train, self.anomalies, self.candidates) if t is not None]


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
) -> InputFiles:
    return InputFiles(train=train, normals=normals, anomalies=anomalies, candidates=candidates)


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
    files: InputFiles,
    reading: Reading,
    scale: Annotated[Scale, typer.Option(help="Standardise the columns, or not.")] = "standard",
    assumed_rate: Annotated[
        float | None,
        typer.Option(
            help=f"Share of anomalies to assume where no real ones are given ({ASSUMED_RATE})."
        ),
    ] = None,
) -> InputFiles:
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
    max_normals: Annotated[
        int, typer.Option(help="Use at most so many normals, drawn at random.")
    ] = AUTHORS.max_normals,
) -> Settings:
    chosen = replace(
        CONVENTIONS[convention], detector=detector, k=k, refit=refit, max_normals=max_normals
    )
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
