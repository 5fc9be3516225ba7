"""Projects as a program uses them: what the command line and the application do, as methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, SettingsError, list_names, quote
from eap_core.base.progress import Progress, silent
from eap_core.export import Format, Only
from eap_core.export.bundle import is_table, list_targets, write_bundle
from eap_core.export.request import ExportRequest
from eap_core.health import Finding
from eap_core.project import InputFile, IntakeReport, Target, review
from eap_core.project.health import check_health
from eap_core.project.intake import take
from eap_core.project.results import run_frame
from eap_core.project.run import score_project
from eap_core.readers import AS_FOUND
from eap_core.readers.files import Reading
from eap_core.review import Verdict
from eap_core.store import projects
from eap_core.store.decisions import read_log
from eap_core.store.items import items_of
from eap_core.store.projects import Kind
from eap_core.store.store import Store
from eap_core.store.store import open_store as open_rows

if TYPE_CHECKING:
    import pandas as pd

PLAIN = Plan()


@dataclass(frozen=True)
class Project:
    """One project of an open workspace."""

    store: Store
    id: str

    @property
    def name(self) -> str:
        return projects.by_id(self.store, self.id).name

    def add(
        self,
        *files: str | Path,
        role: Target | None = None,
        reading: Reading = AS_FOUND,
        progress: Progress = silent,
    ) -> IntakeReport:
        """Add files; without a role, folders, a label column or the names tell it."""
        given = [InputFile.at(Path(file)) for file in files]
        return take(self.store, self.id, given, role, reading, progress)

    def health(self, progress: Progress = silent) -> tuple[Finding, ...]:
        """What is worth knowing about the data before scores are trusted."""
        return check_health(self.store, self.id, progress)

    def score(self, plan: Plan = PLAIN, progress: Progress = silent) -> pd.DataFrame:
        """Score the candidates; the new run becomes the current one."""
        return run_frame(self.store, score_project(self.store, self.id, plan, progress).id)

    def frame(self) -> pd.DataFrame:
        """The current run, best first."""
        run = projects.by_id(self.store, self.id).current_run
        if run is None:
            raise SettingsError(f"{quote(self.name)} has no scores yet", advice="score it first")
        return run_frame(self.store, run)

    def decide(
        self, verdict: Verdict, candidates: Sequence[str], reviewer: str, reason: str | None = None
    ) -> int:
        """Accept or reject candidates by their names, as one batch; how many."""
        known = {
            item.name: item.id for item in items_of(self.store, self.id) if item.role == "candidate"
        }
        unknown = [name for name in candidates if name not in known]
        if unknown:
            raise DataError(
                f"no candidate is called {list_names(unknown)}", advice="correct the names"
            )
        log = read_log(self.store, self.id)
        seen = log[-1].seq if log else 0
        items = [known[name] for name in candidates]
        batch = str(uuid4())
        made = review.decide(self.store, self.id, batch, items, verdict, reviewer, seen, reason)
        return made.count

    def export(
        self,
        out: str | Path,
        *,
        format: Format = "csv",
        top: float | None = None,
        only: Only = "all",
        overwrite: bool = False,
        progress: Progress = silent,
    ) -> dict[str, int]:
        """Write the curated set with its manifest and card; how many were accepted, and so on."""
        request, target = ExportRequest(format, top, only), Path(out)
        for path in list_targets(target) if is_table(target, request) else [target]:
            if path.is_dir() or (path.exists() and not overwrite):
                raise SettingsError(
                    f"{quote(path.name)} is there already", advice="choose another name"
                )
        return write_bundle(self.store, self.id, request, target, progress)[0]


@dataclass(frozen=True)
class Workspace:
    """An open store; leaving the ``with`` block closes it."""

    store: Store

    def create(self, name: str, kind: Kind = "images") -> Project:
        return Project(self.store, projects.create(self.store, name, kind).id)

    def open(self, name: str) -> Project:
        return Project(self.store, projects.find(self.store, name).id)

    def names(self) -> list[str]:
        """The projects, those with the latest change first."""
        return [each.project.name for each in projects.list_overviews(self.store)]

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_store(home: str | Path | None = None, url: str | None = None) -> Workspace:
    """The projects in a folder, by default those of the application on this machine.

    >>> import tempfile, eap_core as eap
    >>> from eap_core.project.demos import write_demo
    >>> folder = Path(tempfile.mkdtemp())
    >>> train, made = write_demo(folder / "files")
    >>> with eap.open_store(folder / "home") as store:
    ...     project = store.create("cells", kind="table")
    ...     _ = project.add(train, role="train"), project.add(made, role="candidate")
    ...     best = project.score(eap.Plan()).iloc[0]
    ...     _ = project.decide("accept", [best["id"]], reviewer="Ada")
    ...     project.export(folder / "set.csv")["accepted"]
    1
    """
    return Workspace(open_rows(Path(home) if home else None, url))
