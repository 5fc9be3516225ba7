"""The data sets of a folder: tables with labels, and folders of images."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from eap_core.errors import DataError, SettingsError, listed, shown
from eap_core.images.words import meaning
from eap_core.one_hot import encoded
from eap_core.readers import Reading, read_table
from eap_core.table import Floats, Labels

Track = Literal["tables", "images"]
FEWEST_IN_TABLES = 100  # anomalies: the paper leaves smaller tables out
_ENDINGS = frozenset((".npz", ".csv", ".tsv", ".parquet"))
_IMAGE_FEATURES = "cv_by_"  # the collection ADBench keeps features of images in such folders
_NUMBER = re.compile(r"^\d+_")  # and numbers its tables
_MOST_KEPT = 64  # data sets in a process's memory


@dataclass(frozen=True)
class DataSet:
    """A file of rows with labels, or a folder of images; ``label`` is the column of the labels."""

    name: str
    track: Track
    path: Path
    label: str | None = None

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    def rows(self) -> Rows:
        """All rows with their labels; kept, since other data sets borrow from them."""
        return _rows(self)


@dataclass(frozen=True, eq=False)
class Rows:
    """``values[i]`` is an anomaly where ``labels[i]`` is 1."""

    values: Floats
    labels: Labels


def find(folder: Path, label: str | None = None) -> list[DataSet]:
    """Every data set in a folder and the folders in it, by name."""
    if not folder.is_dir():
        raise DataError(f"{shown(folder.name)} is no folder — name the folder of the data sets")
    found = [
        DataSet(_NUMBER.sub("", path.stem) or path.stem, _track(path), path, label)
        for path in _paths(folder)
    ]
    if not found:
        raise DataError(
            f"{shown(folder.name)} holds no data set — put .npz (X, y), .csv or .parquet files "
            "with labels in it, or folders of images with good and defective ones"
        )
    twice = {name for name, count in Counter(one.name for one in found).items() if count > 1}
    named = [
        replace(one, name=one.path.relative_to(folder).as_posix()) if one.name in twice else one
        for one in found
    ]
    return sorted(named, key=lambda one: one.name)


def chosen(found: Sequence[DataSet], names: Sequence[str]) -> list[DataSet]:
    """The data sets of these names, as they are written or but for case."""
    by_name = {one.name.casefold(): one for one in found}
    unknown = [name for name in names if name.casefold() not in by_name]
    if unknown:
        raise SettingsError(
            f"there is no data set {listed(unknown)} — there are "
            f"{listed([one.name for one in found], 40)}"
        )
    return [by_name[name.casefold()] for name in dict.fromkeys(names)]


def fingerprint(data: DataSet) -> str:
    """sha256 of a data set's file."""
    with data.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _track(path: Path) -> Track:
    of_images = path.is_dir() or any(
        folder.name.casefold().startswith(_IMAGE_FEATURES) for folder in path.parents
    )
    return "images" if of_images else "tables"


def _paths(folder: Path) -> Iterator[Path]:
    """Files of rows, and folders that hold good images beside others, which are not searched."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    folders = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
    words = {meaning(entry.name) for entry in folders}
    if words & {"train", "normal"} and words & {"test", "anomaly"}:
        yield folder
        return
    yield from (entry for entry in entries if entry.suffix.casefold() in _ENDINGS)
    for entry in folders:
        yield from _paths(entry)


@lru_cache(maxsize=_MOST_KEPT)
def _rows(data: DataSet) -> Rows:
    table = read_table(data.path, Reading(label=data.label))
    if table.labels is None:
        raise DataError(
            f"{table.source} has no label column — the study needs to know the anomalies; name the "
            "column with --label"
        )
    coded, _ = encoded([table], [table.labels], table)
    values = np.array(coded.values)
    if not values.shape[1]:
        raise DataError(f"{table.source} has no column of numbers — nothing can be scored")
    values.setflags(write=False)
    return Rows(values, table.labels)
