"""From the files a person names to a Problem: the same for every command and the app."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from eap_core.assemble import Scale, problem_from_tables
from eap_core.errors import DataError, SettingsError, listed
from eap_core.problem import Problem
from eap_core.readers import Reading, read_table
from eap_core.table import Table


@dataclass(frozen=True)
class Files:
    """What was named: training data in one file or in two, candidates, and how to read them."""

    train: Path | None = None
    normals: Path | None = None
    anomalies: Path | None = None
    candidates: Path | None = None
    reading: Reading = field(default_factory=Reading)
    scale: Scale = "standard"
    assumed_rate: float | None = None

    def tables(self) -> Tables:
        """Read each file that was named."""
        if self.train and (self.normals or self.anomalies):
            raise SettingsError(
                "--train already holds normals and anomalies — give either --train or --normals "
                "with --anomalies"
            )
        self._check_meaning()
        tables = Tables(
            train=self._training() if self.train else self._read(self.normals),
            anomalies=self._read(self.anomalies),
            candidates=self._candidates(),
        )
        self._check_names(tables)
        return tables

    @property
    def paths(self) -> tuple[Path | None, ...]:
        return self.train, self.normals, self.anomalies, self.candidates

    def problem(self) -> tuple[Problem, Table]:
        """The problem, and the candidates' table with the columns that are no features."""
        tables = self.tables()
        if tables.train is None:
            raise SettingsError(
                "no training data are given — name a labelled file with --train, or --normals "
                "and --anomalies"
            )
        if tables.candidates is None:
            raise SettingsError("no candidates are given — name their file with --candidates")
        problem = problem_from_tables(
            tables.train,
            tables.candidates,
            tables.anomalies,
            scale=self.scale,
            assumed_rate=self.assumed_rate,
        )
        kept = frozenset(problem.ids)
        candidates = tables.candidates.only(np.array([i in kept for i in tables.candidates.ids]))
        return problem, candidates.ordered_like(tables.train.columns)

    def _candidates(self) -> Table | None:
        table = self._read(self.candidates)
        return None if table is None else unlabelled(table)

    def _training(self) -> Table:
        table = self._read(self.train)
        if table is None or table.labels is None:
            raise DataError(
                f"{self.train.name if self.train else ''} has no label column — name it with "
                "--label (0 normal, 1 anomaly), or give --normals and --anomalies as two files"
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
                f"{options} has no meaning for {' and '.join(sorted(set(kinds)))} files — leave it "
                "out"
            )

    def _check_names(self, tables: Tables) -> None:
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
                    f"{option} names {listed(unknown)}, a column that no file has — correct the "
                    "name"
                )


@dataclass(frozen=True)
class Tables:
    """The tables that were read."""

    train: Table | None
    anomalies: Table | None
    candidates: Table | None

    @property
    def read(self) -> list[Table]:
        return [t for t in (self.train, self.anomalies, self.candidates) if t is not None]


def unlabelled(candidates: Table) -> Table:
    """Candidates are anomalies by intention: labels they carry travel along and do not count."""
    if candidates.labels is None:
        return candidates
    normal = int((candidates.labels == 0).sum())
    warnings = candidates.warnings
    if normal:
        warnings += (
            f"{candidates.source}: {normal:,} of {len(candidates):,} candidates are labelled 0 — "
            "all of them are scored as candidates, and the label is kept in the export",
        )
    extras = {**candidates.extras, "label": tuple(str(label) for label in candidates.labels)}
    return replace(candidates, labels=None, extras=extras, warnings=warnings)
