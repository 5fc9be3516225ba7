"""Whatever a person brings into a project: images, tables, archives, folders."""

from __future__ import annotations

from collections.abc import Sequence

from eap_core.base.errors import DataError, SettingsError, list_names
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.project.files import InputFile, IntakeReport, Target, sum_reports
from eap_core.project.images import take_features, take_images
from eap_core.project.tables import take_table
from eap_core.readers.files import Reading
from eap_core.store import projects
from eap_core.store.projects import Kind
from eap_core.store.store import Store

AS_FOUND = Reading()


def kind_of(given: Sequence[InputFile]) -> Kind:
    """Which kind of project these files make."""
    return "table" if given and all(one.is_table for one in given) else "images"


def take(
    store: Store,
    project: str,
    given: Sequence[InputFile],
    target: Target | None = None,
    reading: Reading = AS_FOUND,
    progress: Progress = silent,
) -> IntakeReport:
    """Add files to a project; of several, each bad one is listed and the good ones are added."""
    if not given:
        raise SettingsError("no file is named", advice="give at least one")
    kind = projects.by_id(store, project).kind
    if kind == "table":
        others = [one.name for one in given if not one.ends_as_table]
        if others:
            raise DataError(
                f"{list_names(others)} is no table, and this project holds tables",
                advice="use .csv, .tsv, .txt, .parquet, .npz or .npy, or make a project of images",
            )
        return _take_tables(store, project, given, target, reading, progress)
    return _take_pictures(store, project, given, target, reading, progress)


def _take_pictures(
    store: Store,
    project: str,
    given: Sequence[InputFile],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> IntakeReport:
    """Images first, for features are known by the names of images that are there."""
    tables = [one for one in given if one.is_table]
    images = [one for one in given if not one.is_table]
    first, *steps = equal_parts(progress, 1 + len(tables))
    parts = [take_images(store, project, images, target, first)] if images else []
    for one, step in zip(tables, steps, strict=True):
        try:
            parts.append(take_features(store, project, one, reading, step))
        except DataError as error:
            if len(given) == 1:
                raise
            parts.append(IntakeReport(skipped=((one.name, f"is not added: {error}"),)))
    return sum_reports(parts)


def _take_tables(
    store: Store,
    project: str,
    tables: Sequence[InputFile],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> IntakeReport:
    parts, reasons = [], []
    for one, step in zip(tables, equal_parts(progress, len(tables)), strict=True):
        try:
            parts.append(take_table(store, project, one, target or "train", reading, step))
        except DataError as error:
            if len(tables) == 1:
                raise
            reasons.append((one.name, f"is not added: {error}"))
    if not parts:
        raise DataError(f"none of {len(tables):,} files could be used: {reasons[0][1]}")
    return sum_reports([*parts, IntakeReport(skipped=tuple(reasons))])
