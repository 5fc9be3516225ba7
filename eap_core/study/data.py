"""The data sets of a folder: tables with labels, and folders of images."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from eap_core.analysis.learning import LearningTask
from eap_core.base.errors import DataError, SettingsError, list_names, quote
from eap_core.base.files import FeatureCache, key_of, whole_file
from eap_core.base.prepare import encode_categories, learn_scale
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats, Ints, Labels
from eap_core.features import EMBEDDERS
from eap_core.features.base import ImageSource
from eap_core.features.lite0 import Lite0
from eap_core.images.decode import rgb_of
from eap_core.images.layout import look_up_word, recognise
from eap_core.images.sources import gather_folder
from eap_core.readers import read_table
from eap_core.readers.files import Reading
from eap_core.scoring.posterior import CATEGORIES
from eap_core.study.unrealistic import (
    BORROWED,
    FOREIGN,
    Unrealistic,
    add_noise,
    fill_box,
    permute,
    rescale,
)

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


def find_datasets(folder: Path, label: str | None = None) -> list[DataSet]:
    """Every data set in a folder and the folders in it, by name."""
    if not folder.is_dir():
        raise DataError(
            f"{quote(folder.name)} is no folder",
            advice="name the folder of the data sets",
        )
    found = [
        DataSet(_NUMBER.sub("", path.stem) or path.stem, _track(path), path, label)
        for path in _paths(folder)
    ]
    if not found:
        raise DataError(
            f"{quote(folder.name)} holds no data set",
            advice="put .npz (X, y), .csv or .parquet files with labels in it, or folders of "
            "images with good and defective ones",
        )
    twice = {name for name, count in Counter(one.name for one in found).items() if count > 1}
    named = [
        replace(one, name=one.path.relative_to(folder).as_posix()) if one.name in twice else one
        for one in found
    ]
    return sorted(named, key=lambda one: one.name)


def choose_datasets(found: Sequence[DataSet], names: Sequence[str]) -> list[DataSet]:
    """The data sets of these names, as they are written or but for case."""
    by_name = {one.name.casefold(): one for one in found}
    unknown = [name for name in names if name.casefold() not in by_name]
    if unknown:
        raise SettingsError(
            f"there is no data set {list_names(unknown)}",
            advice=f"there are {list_names([one.name for one in found], 40)}",
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
    words = {look_up_word(entry.name) for entry in folders}
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
            f"{table.source} has no label column",
            advice="the study needs to know the anomalies; name the column",
            code="labels-missing",
        )
    coded, _ = encode_categories([table], [table.labels], table)
    values = np.array(coded.values)
    if not values.shape[1]:
        raise DataError(
            f"{table.source} has no column of numbers",
            advice="nothing can be scored",
        )
    values.setflags(write=False)
    return Rows(values, table.labels)


# Folders of images as rows: what the offline network says of each image by itself.

_ANOMALOUS = {"normal": 0, "test_normal": 0, "anomaly": 1, "test_anomaly": 1}


@dataclass(frozen=True)
class _Image:
    source: ImageSource
    anomalous: int


def with_rows(data: DataSet, folder: Path, progress: Progress = silent) -> DataSet:
    """The data set as a file of rows in the folder, made unless it is there.

    No row knows another image, so that the rows serve every split. Generated images are left out.
    """
    images = _images(data)
    key = key_of(*(f"{image.source.sha256} {image.anomalous}" for image in images))
    target = folder / f"{key[:24]}.npz"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        network = EMBEDDERS["fast"]
        assert isinstance(network, Lite0)
        sources = [image.source for image in images]
        rows = network.alone(sources, FeatureCache(folder / "looked at"), progress)
        with whole_file(target) as file:
            np.savez(file, X=rows, y=np.array([image.anomalous for image in images]))
    return replace(data, path=target, label=None)


def _images(data: DataSet) -> list[_Image]:
    gathered = gather_folder(data.path, data.name)
    places = recognise(gathered.names).places
    found = []
    for member in gathered.members:
        anomalous = _ANOMALOUS.get(places[member.name].role or "")
        if anomalous is not None:
            contents = member.read()
            opened = partial(rgb_of, data.path / member.name, member.name)
            found.append(
                _Image(ImageSource(hashlib.sha256(contents).hexdigest(), opened), anomalous)
            )
    if {image.anomalous for image in found} != {0, 1}:
        raise DataError(
            f"{data.name} does not hold both normal images and real anomalies",
            advice="the study needs both; name their folders good and defect, or follow the tree "
            "of MVTec",
        )
    return found


# Foreign rows as unrealistic candidates, brought to the same number of columns.

LENDERS = 5
_MOST_ROWS = 250  # of each lender, at most half of them anomalies
_SPARE = {
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}


def lenders_of(data: DataSet, pool: Sequence[DataSet], rng: np.random.Generator) -> list[str]:
    """The names of five other data sets of the same track.

    Where there are fewer, sets that come with scikit-learn fill up, so that somebody with a single
    data set can run the study on it.
    """
    others = sorted(one.name for one in pool if one.track == data.track and one.name != data.name)
    drawn = [others[i] for i in rng.permutation(len(others))[:LENDERS]]
    return drawn + [f"scikit-learn's {name}" for name in list(_SPARE)[: LENDERS - len(drawn)]]


def borrow(
    lenders: Sequence[str], pool: Sequence[DataSet], d: int, count: int, rng: np.random.Generator
) -> Floats:
    """``count`` rows of the lenders, each with d columns; all there are where there are fewer."""
    by_name = {one.name: one for one in pool}
    seed = int(rng.integers(2**31))
    parts = []
    for name in lenders:
        rows = by_name[name].rows() if name in by_name else _spare(name)
        parts.append(fit_columns(_some(rows, rng), d, seed))
    union = np.concatenate(parts)
    return np.asarray(union[rng.permutation(len(union))[:count]])


def fit_columns(rows: Floats, d: int, seed: int) -> Floats:
    """The rows with d columns: fewer by PCA, more by adding what is computed from them."""
    least = min(rows.shape)
    if rows.shape[1] == d:
        return rows
    components = PCA(n_components=min(least, d), random_state=seed).fit_transform(rows)
    if least > d:
        return np.asarray(components)
    groups = FeatureAgglomeration(n_clusters=least).fit_transform(rows) if least > 1 else rows
    parts = [components, groups]
    if 3 * least >= d:
        parts.insert(0, rows)
    missing = d - sum(part.shape[1] for part in parts)
    if missing > 0:
        directions = np.random.default_rng(seed).normal(size=(rows.shape[1], missing))
        parts.append(rows @ directions / np.sqrt(missing))
    return np.hstack(parts)[:, :d]


def _some(rows: Rows, rng: np.random.Generator) -> Floats:
    half = _MOST_ROWS // 2
    anomalies = rng.permutation(np.flatnonzero(rows.labels == 1))[:half]
    normals = rng.permutation(np.flatnonzero(rows.labels == 0))[: _MOST_ROWS - len(anomalies)]
    return np.asarray(rows.values[np.concatenate([normals, anomalies])])


def _spare(name: str) -> Rows:
    values, target = _SPARE[name.removeprefix("scikit-learn's ")](return_X_y=True)
    return Rows(np.asarray(values, dtype=np.float64), (target == target.min()).astype(np.int8))


# One experiment's data: training rows, candidates of known quality, and a test set.

FEWEST_ANOMALIES, FEWEST_NORMALS = 20, 20
_MOST_NORMALS = 1000
_CLUSTERS = 10


@dataclass(frozen=True, eq=False)
class Split:
    """The problem, which of its candidates are realistic, and held-out rows with their labels.

    ``kinds`` index ``CATEGORIES``; ``lenders`` are the data sets of the unrealistic candidates,
    none where these are made of the training rows.
    """

    problem: Problem
    kinds: npt.NDArray[np.int8]
    x_test: Floats
    y_test: Labels
    lenders: tuple[str, ...]

    @property
    def realistic(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.kinds == CATEGORIES.index("realistic"))

    @property
    def task(self) -> LearningTask:
        problem = self.problem
        return LearningTask(
            problem.x_train, problem.y_train, problem.x_candidates, self.x_test, self.y_test
        )


@dataclass(frozen=True)
class SplitCounts:
    """How many anomalies are for the test, for training and for candidates."""

    test: int
    train: int
    candidates: int


def counts_of(anomalies: int) -> SplitCounts:
    """Half, a tenth and two fifths, within the paper's bounds.

    The lower bound of the test set holds where there are a hundred anomalies, as in every table of
    the paper: fewer could not fill it and leave candidates.
    """
    least = 50 if anomalies >= FEWEST_IN_TABLES else 1
    test = min(max(round(0.5 * anomalies), least), 250)
    train = min(max(round(0.1 * anomalies), 5), 50)
    return SplitCounts(test, train, min(round(0.4 * anomalies), 250, anomalies - test - train))


def split_dataset(
    data: DataSet, pool: Sequence[DataSet], seed: int, unrealistic: Unrealistic = FOREIGN
) -> Split:
    """The same data sets, seed and kind of unrealistic candidates give the same split.

    Another kind changes nothing but these candidates and the order of all.
    """
    rows = data.rows()
    _check(data, rows)
    rng = np.random.default_rng([seed, zlib.crc32(data.name.encode())])
    counts = counts_of(int(rows.labels.sum()))
    anomalies = rng.permutation(np.flatnonzero(rows.labels == 1))
    normals = rng.permutation(np.flatnonzero(rows.labels == 0))
    test = np.concatenate([normals[: counts.test], anomalies[: counts.test]])
    train_anomalies, others = _sample_biased(
        rows.values, anomalies[counts.test :], counts.train, rng
    )
    realistic = others[: counts.candidates]
    invisible = normals[counts.test : counts.test + len(realistic)]
    train_normals = normals[counts.test + len(realistic) :][:_MOST_NORMALS]
    train = np.concatenate([train_normals, train_anomalies])
    count, normal = len(realistic), rows.values[train_normals]
    lenders = lenders_of(data, pool, rng) if unrealistic in BORROWED else []
    if lenders:
        strange = borrow(lenders, pool, rows.values.shape[1], count, rng)
        strange = rescale(strange, normal) if unrealistic == "rescaled" else strange
    elif unrealistic == "permuted":
        strange = permute(rows.values[train], count, rng)
    else:
        make = fill_box if unrealistic == "uniform" else add_noise
        strange = make(normal, count, rng)

    centre, spread = learn_scale(rows.values[train])
    candidates = np.concatenate([rows.values[realistic], rows.values[invisible], strange])
    kinds = np.repeat(np.arange(3, dtype=np.int8), [len(realistic), len(invisible), len(strange)])
    # Ties are in the order of the ids, which must not know what is realistic.
    shuffled = rng.permutation(len(kinds))
    width = len(str(len(kinds)))
    problem = Problem(
        x_train=(rows.values[train] - centre) / spread,
        y_train=rows.labels[train],
        x_candidates=((candidates - centre) / spread)[shuffled],
        ids=tuple(f"{i + 1:0{width}}" for i in range(len(kinds))),
    )
    x_test = (rows.values[test] - centre) / spread
    return Split(problem, kinds[shuffled], x_test, rows.labels[test], tuple(lenders))


def _sample_biased(
    values: Floats, anomalies: Ints, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Anomalies cluster by cluster, so that training knows some kinds only; and the others."""
    clusters = KMeans(
        n_clusters=min(_CLUSTERS, len(np.unique(values[anomalies], axis=0))),
        n_init="auto",
        random_state=int(rng.integers(2**31)),
    ).fit_predict(values[anomalies])
    by_cluster = anomalies[np.argsort(clusters, kind="stable")]
    return by_cluster[:count], rng.permutation(by_cluster[count:])


def _check(data: DataSet, rows: Rows) -> None:
    anomalies = int(rows.labels.sum())
    normals = len(rows.labels) - anomalies
    if anomalies < FEWEST_ANOMALIES:
        raise DataError(
            f"{data.name} has {anomalies:,} anomalies",
            advice=f"at least {FEWEST_ANOMALIES} are needed",
        )
    counts = counts_of(anomalies)
    needed = counts.test + counts.candidates + max(FEWEST_NORMALS, 2 * counts.train + 1)
    if normals < needed:
        raise DataError(
            f"{data.name} has {normals:,} normal rows beside {anomalies:,} anomalies",
            advice=f"at least {needed:,} are needed for training, test and candidates",
        )
