"""Whatever a person brings into a project: images, tables, archives, folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eap_core.errors import DataError, SettingsError, listed
from eap_core.progress import Progress, equal_parts, silent
from eap_core.projects.features import take_features
from eap_core.projects.given import Given, Taken, Target, together
from eap_core.projects.image_intake import take_images
from eap_core.projects.table_intake import reading_of, take_table
from eap_core.readers import Reading
from eap_core.store import projects
from eap_core.store.projects import Kind
from eap_core.store.store import Store

AS_FOUND = Reading()


def kind_of(given: Sequence[Given]) -> Kind:
    """Which kind of project these files make."""
    return "table" if given and all(one.is_table for one in given) else "images"


def take(
    store: Store,
    project: str,
    given: Sequence[Given],
    target: Target | None = None,
    reading: Reading = AS_FOUND,
    progress: Progress = silent,
) -> Taken:
    """Add files to a project; of several, each bad one is listed and the good ones are added."""
    if not given:
        raise SettingsError("no file is named — give at least one")
    kind = projects.by_id(store, project).kind
    if kind == "table":
        others = [one.name for one in given if not one.ends_as_table]
        if others:
            raise DataError(
                f"{listed(others)} is no table, and this project holds tables — use .csv, .tsv, "
                ".txt, .parquet, .npz or .npy, or make a project of images"
            )
        return _take_tables(store, project, given, target, reading, progress)
    return _take_pictures(store, project, given, target, reading, progress)


def _take_pictures(
    store: Store,
    project: str,
    given: Sequence[Given],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> Taken:
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
            parts.append(Taken(skipped=((one.name, f"is not added: {error}"),)))
    return together(parts)


def _take_tables(
    store: Store,
    project: str,
    tables: Sequence[Given],
    target: Target | None,
    reading: Reading,
    progress: Progress,
) -> Taken:
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
    return together([*parts, Taken(skipped=tuple(reasons))])


def as_arguments(
    files: Sequence[tuple[str, str]], target: Target | None, reading: Reading = AS_FOUND
) -> dict[str, Any]:
    """Uploaded files, each by hash and name, as the arguments of a job."""
    return {
        "files": [list(file) for file in files],
        "target": target,
        "reading": asdict(reading),
    }


def folder_arguments(folder: Path, target: Target | None) -> dict[str, Any]:
    """A folder on this machine as the arguments of a job."""
    return {"folder": str(folder), "target": target, "reading": asdict(AS_FOUND)}


def take_uploaded(
    store: Store, project: str, arguments: Mapping[str, Any], progress: Progress = silent
) -> Taken:
    """Add what a job's arguments name."""
    if "folder" in arguments:
        given = [Given.at(Path(arguments["folder"]))]
    else:
        given = [Given(store.blobs.verified(sha256), name) for sha256, name in arguments["files"]]
    reading = reading_of(arguments["reading"])
    return take(store, project, given, arguments["target"], reading, progress)
