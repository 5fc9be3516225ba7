"""From the files a person names to a Problem: the same for every command and the app."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from eap_core.assemble import Scale, problem_from_tables
from eap_core.errors import DataError, SettingsError, listed
from eap_core.problem import Problem
from eap_core.readers import read_table
from eap_core.table import Table


@dataclass(frozen=True)
class Files:
    """What was named: training data in one file or in two, and candidates."""

    train: Path | None = None
    normals: Path | None = None
    anomalies: Path | None = None
    candidates: Path | None = None
    label: str | None = None
    id_column: str | None = None
    scale: Scale = "standard"
    assumed_rate: float | None = None
    exclude: tuple[str, ...] = ()
    array: str | None = None

    def tables(self) -> Tables:
        """Read each file that was named."""
        if self.train and (self.normals or self.anomalies):
            raise SettingsError(
                "--train already holds normals and anomalies — give either --train or --normals "
                "with --anomalies"
            )
        tables = Tables(
            train=self._training() if self.train else self._read(self.normals),
            anomalies=self._read(self.anomalies),
            candidates=_unlabelled(self._read(self.candidates)),
        )
        # One file may lack an excluded column; if all do, it is a slip of the pen.
        found = {name for table in tables.read for name in table.extras}
        unknown = [name for name in self.exclude if name not in found]
        if unknown and tables.read:
            raise SettingsError(
                f"--exclude names {listed(unknown)}, a column that no file has — correct the name"
            )
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
        return problem, tables.candidates.ordered_like(tables.train.columns)

    def _training(self) -> Table:
        table = self._read(self.train)
        if table is None or table.labels is None:
            raise DataError(
                f"{self.train.name if self.train else ''} has no label column — name it with "
                "--label (0 normal, 1 anomaly), or give --normals and --anomalies as two files"
            )
        return table

    def _read(self, path: Path | None) -> Table | None:
        if path is None:
            return None
        return read_table(
            path,
            label=self._label_in(path),
            id_column=self.id_column if path == self.candidates else None,
            array=self.array,
            exclude=self.exclude,
        )

    def _label_in(self, path: Path) -> str | None:
        """A label column that was named is wanted in the training file; others may lack it."""
        return self.label if path == self.train else None


@dataclass(frozen=True)
class Tables:
    """The tables that were read."""

    train: Table | None
    anomalies: Table | None
    candidates: Table | None

    @property
    def read(self) -> list[Table]:
        return [t for t in (self.train, self.anomalies, self.candidates) if t is not None]


def _unlabelled(candidates: Table | None) -> Table | None:
    """Candidates are anomalies by intention: labels they carry travel along and do not count."""
    if candidates is None or candidates.labels is None:
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
