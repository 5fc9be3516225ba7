"""What a run has found: its scores, facts about each candidate, the map, and how well methods do.

A candidate may look like a better one though their features tell the files apart. A network sees
the traces of a JPEG encoder that no person sees: copies saved at quality 75 are as far apart in its
features as different images are. So pictures are compared as pictures, by small sketches of each at
first: many inpainted defects share one background, and all their pairs could not be looked at one
by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image, ImageFilter

from eap_core.analysis.compare import known_quality
from eap_core.analysis.explain import Deviations, find_deviations, find_surroundings
from eap_core.analysis.neighbours import (
    Method,
    Places,
    find_twins,
    has_company,
    merge_twins,
    pick_diverse,
    place_by_pca,
    place_by_umap,
)
from eap_core.analysis.score import column_name
from eap_core.analysis.trust import FIXED_SUPPORT, JUDGED_BY, CategoryLines, Lines
from eap_core.base.errors import SettingsError, quote
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import Bools, Floats, Ints, Labels, free_name
from eap_core.evaluators import EVALUATORS
from eap_core.health.images import SEEN, measure_change
from eap_core.images.decode import rgb_of
from eap_core.project.intake import open_small
from eap_core.project.problem import PreparedProblem
from eap_core.project.rehearsal import read_rehearsal
from eap_core.review import ItemState
from eap_core.review.queue import evaluator_columns
from eap_core.scoring import percentiles, ranks
from eap_core.scoring.posterior import LINE, category_of
from eap_core.scoring.workbench import Workbench
from eap_core.store import cleanup, projects, runs
from eap_core.store.items import Item, names_of
from eap_core.store.runs import Run
from eap_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


# Small sketches of pictures, by which many are told apart without looking at each pair.

Bytes = npt.NDArray[np.uint8]
SIDE = 32  # of the small pictures
_CELLS, _COARSE = 64, 16  # along each side
_LARGEST_SIDE = 512  # as pictures are compared
_BLUR = ImageFilter.BoxBlur(2)  # squares of five pixels, over which light is compared
_COLOUR_BLUR = ImageFilter.BoxBlur(7)  # and those of fifteen, over which colour is
_ROUNDED = 2.0  # grey levels: of light, of the blur along both sides
_COLOURS = 9.0  # levels by which small pictures of copies may differ, in any colour
_LIGHT = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Thumbprint:
    """A small picture, and for each cell the brightest and the darkest blurred light in it.

    Where two pictures of one size nowhere differ by more than some levels, neither do these.
    """

    size: tuple[int, int]
    small: Bytes
    cells: Bytes


@dataclass(frozen=True, eq=False)
class Thumbprints:
    """Sketches of many pictures, one in each row."""

    sizes: Ints
    small: Bytes
    cells: Bytes

    @staticmethod
    def of(sketches: Sequence[Thumbprint]) -> Thumbprints:
        """Sketches whose sizes are compared as rows of width and height."""
        if not sketches:
            return Thumbprints(np.zeros((0, 2), dtype=np.intp), *[np.zeros((0, 1), np.uint8)] * 2)
        return Thumbprints(
            np.array([each.size for each in sketches], dtype=np.intp),
            np.array([each.small for each in sketches]),
            np.array([each.cells for each in sketches]),
        )

    @cached_property
    def grey(self) -> npt.NDArray[np.float64]:
        """The small pictures without colour."""
        rows = [row.reshape(-1, 3) @ _LIGHT for row in self.small]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def coarse(self) -> Bytes:
        """The brightest and the darkest in larger cells."""
        each = _CELLS // _COARSE
        blocks = self.cells.reshape(-1, 2, _COARSE, each, _COARSE, each)
        high, low = blocks[:, 0].max(axis=(2, 4)), blocks[:, 1].min(axis=(2, 4))
        return np.concatenate([high.reshape(len(high), -1), low.reshape(len(low), -1)], axis=1)

    def alike(self, one: int, among: Ints, levels: float) -> Ints:
        """Which of these may differ from one by less than so many levels wherever one looks.

        Light is compared in pictures of the same size only; others may be alike.
        """
        same = (self.sizes[among] == self.sizes[one]).all(axis=1)
        for rows in (self.coarse, self.cells):
            near = ~same
            near[same] = _gaps(rows, one, among[same]) < levels + _ROUNDED
            among, same = among[near], same[near]
        return among[_gaps(self.small, one, among) < _COLOURS]


def make_thumbprint(picture: Image.Image) -> Thumbprint:
    picture = shrink(picture)
    light = np.asarray(picture.convert("L").filter(_BLUR))
    down, right = (
        np.linspace(0, length, _CELLS, endpoint=False).astype(np.intp) for length in light.shape
    )
    high = np.maximum.reduceat(np.maximum.reduceat(light, down, axis=0), right, axis=1)
    low = np.minimum.reduceat(np.minimum.reduceat(light, down, axis=0), right, axis=1)
    blurred = picture.filter(_COLOUR_BLUR)
    small = np.asarray(blurred.resize((SIDE, SIDE), Image.Resampling.BOX))
    return Thumbprint(picture.size, small.ravel(), np.concatenate([high.ravel(), low.ravel()]))


def shrink(picture: Image.Image) -> Image.Image:
    """As large as pictures are compared."""
    share = max(1.0, max(picture.size) / _LARGEST_SIDE)
    width, height = (max(1, round(length / share)) for length in picture.size)
    if (width, height) == picture.size:
        return picture
    return picture.resize((width, height), Image.Resampling.BOX)


def _gaps(rows: Bytes, one: int, among: Ints) -> Bytes:
    """The largest difference between one row and each of these."""
    if len(among) == 0:
        return np.zeros(0, dtype=np.uint8)
    others = rows[among]
    found: Bytes = (np.maximum(others, rows[one]) - np.minimum(others, rows[one])).max(axis=1)
    return found


MOST_COMPARED = 4_000  # candidates that share their sketch with another
MOST_CONFIRMED = 500  # pairs of pictures that are compared pixel by pixel
_APART = 2.0  # grey levels, on average over a small picture, between copies of one picture
_ENCODED = 3.0  # times more may thumbnails differ: they have been encoded once more
_AT_HAND = 64  # decoded pictures, of at most 0.8 MB each
_STEP = "look-alikes"


def find_duplicates(
    store: Store, items: Sequence[Item], ranks: Ints, progress: Progress = silent
) -> Ints:
    """For each image the better-ranked one that it looks like, −1 where there is none.

    Of very many that are alike only the best 4,000 are compared, and at most 500 pairs pixel by
    pixel: beyond that, copies may stay unnamed, but a run does not wait for minutes.
    """
    found = np.full(len(items), -1, dtype=np.intp)
    order = np.argsort(ranks, kind="stable")
    thumbnails = _sketch_all([items[i] for i in order], store, _small, part_of(progress, 0.0, 0.3))
    order = order[_with_company(thumbnails, part_of(progress, 0.3, 0.4))]
    chosen = [items[i] for i in order]
    sketches = _sketch_all(chosen, store, _whole, part_of(progress, 0.4, 0.8))
    for place, twin in _find_twins(store, chosen, sketches, part_of(progress, 0.8, 1.0)).items():
        found[order[place]] = order[twin]
    return found


def _with_company(thumbnails: Thumbprints, progress: Progress) -> Ints:
    """Which pictures may look like another, as far as their thumbnails tell."""
    if len(thumbnails.sizes) < 2:
        return np.zeros(0, dtype=np.intp)
    near = np.flatnonzero(has_company(thumbnails.grey, _APART * SIDE))[:MOST_COMPARED]
    accompanied = np.zeros(len(thumbnails.sizes), dtype=bool)
    for done, i in enumerate(near):
        progress(done / len(near), _STEP)
        if not accompanied[i]:
            others = thumbnails.alike(int(i), near[near != i], _ENCODED * SEEN)
            accompanied[i] = len(others) > 0
            accompanied[others] = True
    return np.flatnonzero(accompanied)


def _find_twins(
    store: Store, items: Sequence[Item], sketches: Thumbprints, progress: Progress
) -> dict[int, int]:
    """Those that look like an earlier one, which itself looks like none before it."""

    @lru_cache(maxsize=_AT_HAND)
    def picture(place: int) -> Image.Image:
        return shrink(_whole(store, items[place]))

    found: dict[int, int] = {}
    kept: list[int] = []
    left = MOST_CONFIRMED
    for place in range(len(items)):
        progress(place / len(items), _STEP)
        for other in sketches.alike(place, np.array(kept, dtype=np.intp), SEEN):
            if left == 0:
                return found
            progress(place / len(items), _STEP)  # may be cancelled before each
            left -= 1
            if measure_change(picture(place), picture(int(other))) < SEEN:
                found[place] = int(other)
                break
        else:
            kept.append(place)
    return found


def _sketch_all(
    items: Sequence[Item],
    store: Store,
    opened: Callable[[Store, Item], Image.Image],
    progress: Progress,
) -> Thumbprints:
    rows = []
    with ThreadPoolExecutor() as pool:
        work = [
            pool.submit(lambda item: make_thumbprint(opened(store, item)), item) for item in items
        ]
        try:
            for i, each in enumerate(work):
                progress(i / len(items), _STEP)
                rows.append(each.result())
        finally:
            pool.shutdown(cancel_futures=True)  # cancelled, nobody waits for the others
    return Thumbprints.of(rows)


def _small(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return open_small(store, item.sha256, item.name)


def _whole(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return rgb_of(store.blobs.read(item.sha256), item.name)


# The columns of a score and its parts, in the order in which they are shown, and exported.
_EAP = ("eap", "percentile", "rank", "category", "p_y", "weight", "prior", "observations", "p_x")
EXPORTED_COLUMNS = (
    "eap",
    "percentile",
    "rank",
    "p_y",
    "weight",
    "observations",
    "prior",
    "category",
)


def run_frame(store: Store, run_id: str) -> pd.DataFrame:
    """One row per candidate of the run that is still in the project, best first.

    It has the columns of what the run has so far: EAP with its parts, other evaluators, metadata;
    rank, percentile and category are those of the chosen score.
    """
    import pandas as pd  # slow to import

    run = runs.by_id(store, run_id)
    order = runs.candidates_of(store, run_id)
    known = names_of(store, run.project, "candidate")
    kept = [i for i, item in enumerate(order) if item in known]
    items = [order[i] for i in kept]
    scores: dict[str, Any] = dict(runs.scores_of(store, run_id))
    chosen = chosen_evaluator(run, scores)
    if chosen != "eap":
        names = tuple(known[item][0] if item in known else item for item in order)
        scores["rank"] = ranks(scores[column_name(chosen)], names)
        scores["percentile"] = percentiles(scores[column_name(chosen)])
    columns: dict[str, Any] = {name: values[kept] for name, values in scores.items()}
    if {"p_y", "covered"} <= set(columns):
        columns["category"] = _categories(columns, chosen, lines_in_use(store, run, chosen))
    if "rank" in columns:
        columns["rank"] = columns["rank"].astype(int)
    rows: dict[str, Any] = {"item": items, "id": [known[item][0] for item in items]}
    rows |= {name: columns[name] for name in _in_order(columns)}
    ours = {column_name(name) for name in EVALUATORS}  # also those that are not computed
    for key, cells in _metadata([known[item][1] for item in items]).items():
        rows[free_name(key, {*rows, *ours}.__contains__)] = cells
    frame = pd.DataFrame(rows)
    return frame.sort_values("rank", ignore_index=True) if "rank" in frame else frame


def chosen_evaluator(run: Run, columns: Container[str]) -> str:
    """The evaluator whose score ranks a run's candidates: EAP, unless another one is there."""
    chosen = str(run.settings.get("chosen", "eap"))
    return chosen if chosen in EVALUATORS and column_name(chosen) in columns else "eap"


def choose_score(store: Store, run_id: str, evaluator: str) -> None:
    """Rank a finished run's candidates by this evaluator; decisions stay."""
    if evaluator not in EVALUATORS:
        raise SettingsError(
            f"there is no evaluator {quote(evaluator)}",
            advice=f"choose from {', '.join(EVALUATORS)}",
        )
    runs.choose(store, run_id, evaluator, column_name(evaluator))


def lines_in_use(store: Store, run: Run, chosen: str) -> CategoryLines | None:
    """The lines between a run's categories with their errors; None where nothing is rehearsed."""
    kept = read_rehearsal(store, run.id)
    how: Lines = "data" if run.settings.get("lines") == "data" else "paper"
    return None if kept is None else kept.lines_of(_judged_by(chosen), how)


def _judged_by(chosen: str) -> str:
    """EAP-Reach has categories of its own; those of any other score are EAP's."""
    return chosen if chosen in JUDGED_BY else "eap"


def _categories(
    columns: Mapping[str, Any], chosen: str, lines: CategoryLines | None
) -> npt.NDArray[np.str_]:
    name = _judged_by(chosen)
    looks, support = (LINE, FIXED_SUPPORT[name]) if lines is None else (lines.looks, lines.support)
    p, reach = (columns[each] for each in JUDGED_BY[name])
    return category_of(p, reach, looks, support)


PARTS = ("posterior", "looks", "support", "rows", "tied")


def add_parts(frame: pd.DataFrame, chosen: str) -> pd.DataFrame:
    """The frame with what a posterior is made of: EAP-Reach's where that is chosen, else EAP's.

    posterior = support·looks + (1 − support)·prior; ``rows`` is the evidence behind the support;
    ``tied`` counts the others of exactly the same chosen score.
    """
    score = column_name(chosen)
    tied = frame.groupby(score)[score].transform("size") - 1
    if chosen != "reach":
        made = [frame[name] for name in ("eap", "p_y", "weight", "observations")]
    else:
        rows = frame["reach_observations"]
        made = [frame["reach"], frame["reach_p"], rows / (1 + rows), rows]
    return frame.assign(**dict(zip(PARTS, [*made, tied], strict=True)))


def _in_order(columns: Mapping[str, Any]) -> list[str]:
    """EAP and what it is made of, then the other evaluators."""
    others = [name for name in evaluator_columns(columns) if name != "eap"]
    first = [name for name in _EAP if name in columns]
    return [*first, *(name for name in columns if name not in (*first, *others)), *others]


def _metadata(told: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What people said of each candidate, a column for each thing that any of them has."""
    keys = dict.fromkeys(key for metadata in told for key in metadata)
    return {key: [str(metadata.get(key, "")) for metadata in told] for key in keys}


# What the pages say of each candidate beyond its scores, computed once with the run and kept.

_FACTS_VERSION = 1  # of what is kept; what another version has kept counts as lost
_TEXTS = ("candidates", "training", "columns")


@dataclass(frozen=True, eq=False)
class CandidateFacts:
    """Rows in the order of the run's candidates; positions are those in ``training``.

    Attributes
    ----------
    candidates, training : item ids, the latter in the order of the problem's training rows.
    labels : 0 or 1 for each training row.
    nearest, nearest_distance : the three nearest normals, −1 where there are fewer.
    anomaly, anomaly_distance : the nearest real anomaly, −1 and infinity without any.
    ball, radius : the normal with the smallest ball that covers it, −1 and NaN if none does.
    k : how many neighbours a ball spans.
    twin : position among ``candidates`` of the better-ranked one it nearly equals, else −1.
    diverse : its place, from 0, in the order in which each is unlike those before.
    deviations : for tables, the features that are most unlike its nearest normals.
    """

    candidates: tuple[str, ...]
    training: tuple[str, ...]
    labels: Labels
    nearest: Ints
    nearest_distance: Floats
    anomaly: Ints
    anomaly_distance: Floats
    ball: Ints
    radius: Floats
    k: int
    twin: Ints
    diverse: Ints
    deviations: Deviations | None

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each candidate, by item id."""
        return MappingProxyType({item: i for i, item in enumerate(self.candidates)})

    def rows(self, items: Sequence[str]) -> Ints:
        """The positions of these candidates."""
        return np.array([self.places[item] for item in items], dtype=np.intp)


def read_facts(store: Store, run_id: str) -> CandidateFacts | None:
    """The insight of a run; None while it is not computed, or made otherwise."""
    arrays = cleanup.read_arrays(cleanup.insight_file(store.home, run_id))
    if arrays is None or arrays.get("version", np.array(0)) != _FACTS_VERSION:
        return None
    return _unpack_facts(arrays)


def make_facts(
    store: Store,
    run: Run,
    ready: PreparedProblem,
    bench: Workbench,
    ranks: Ints,
    progress: Progress = silent,
) -> None:
    """Compute the insight of a run, and keep it."""
    # With a new run the evidence is there already; for an older one it takes most of the time.
    problem, evidence = ready.problem, bench.parts[0].evidence(part_of(progress, 0.0, 0.4))
    around = find_surroundings(
        problem, evidence, bench.settings, part_of(progress, 0.4, 0.5), bench.budget
    )
    arrays: dict[str, npt.NDArray[Any]] = {
        "candidates": _pack_texts([item.id for item in ready.candidates]),
        "training": _pack_texts([item.id for item in ready.training]),
        "labels": problem.y_train,
        **vars(around),
        "k": np.array(int(evidence.k[0])),
        "diverse": pick_diverse(problem.x_candidates, ranks, part_of(progress, 0.5, 0.6)),
        "version": np.array(_FACTS_VERSION),
    }
    found = find_twins(problem, ranks)
    if projects.by_id(store, run.project).kind == "images":
        same = find_duplicates(store, ready.candidates, ranks, part_of(progress, 0.6, 1.0))
        arrays["twin"] = merge_twins(ranks, found, same)
    else:
        deviate = find_deviations(problem, around.nearest)
        arrays |= {"twin": found, **vars(deviate), "columns": _pack_texts(deviate.columns)}
    cleanup.keep_arrays(cleanup.insight_file(store.home, run.id), arrays)
    progress(1.0, "surroundings")


def _pack_texts(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Texts as JSON: numpy's own would lose what ends in a zero character."""
    return np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)


def _unpack_facts(arrays: dict[str, npt.NDArray[Any]]) -> CandidateFacts:
    texts = {name: tuple(json.loads(arrays[name].tobytes())) for name in _TEXTS if name in arrays}
    given: dict[str, Any] = {**arrays, **texts, "k": int(arrays["k"])}
    found = None
    if "columns" in arrays:
        found = Deviations(**{field.name: given[field.name] for field in fields(Deviations)})
    own = [field.name for field in fields(CandidateFacts) if field.name != "deviations"]
    return CandidateFacts(**{name: given[name] for name in own}, deviations=found)


# Maps of runs, kept by what they were made from.

_MAP_VERSION = 1  # of the way maps are made


def read_map(store: Store, run_id: str) -> Places | None:
    """The map of a run, the better one if it is there; None while there is none."""
    run = runs.by_id(store, run_id)
    return _read_map(store, run, "umap") or _read_map(store, run, "pca")


def has_map(store: Store, run: Run, method: Method) -> bool:
    return _read_map(store, run, method) is not None


def make_map(
    store: Store, run: Run, method: Method, problem: Problem, progress: Progress = silent
) -> None:
    """Make a map of the run's problem, unless it is there, and keep it."""
    if has_map(store, run, method):
        return
    made = (
        place_by_pca(problem) if method == "pca" else place_by_umap(problem, _seed(run), progress)
    )
    cleanup.keep_arrays(
        _file(store, run, method), {"training": made.training, "candidates": made.candidates}
    )


def _read_map(store: Store, run: Run, method: Method) -> Places | None:
    arrays = cleanup.read_arrays(_file(store, run, method))
    if arrays is None:
        return None
    return Places(method, np.asarray(arrays["training"]), np.asarray(arrays["candidates"]))


def _seed(run: Run) -> int:
    return int(run.settings.get("seed", 0))


def _file(store: Store, run: Run, method: Method) -> Path:
    made_by = "pca" if method == "pca" else f"umap-{_seed(run)}-{version('umap-learn')}"
    return cleanup.map_file(store.home, run.fingerprint, f"{made_by}-{_MAP_VERSION}")


FEW = 10  # of either kind: below that, chance decides


@dataclass(frozen=True, eq=False)
class Judgements:
    """``rows`` of the score table of which it is known whether they are ``good``."""

    by: str
    rows: Sequence[int]
    good: Bools

    @property
    def counts(self) -> tuple[int, int]:
        """The good ones and the others."""
        good = int(np.count_nonzero(self.good))
        return good, len(self.good) - good


@dataclass(frozen=True)
class QualityFound:
    """How often a method puts a good candidate above another one, and how far chance may reach."""

    column: str
    auc: float
    margin: float


def find_judgements(
    candidates: Sequence[str], items: Mapping[str, Item], states: Mapping[str, ItemState]
) -> list[Judgements]:
    """By the data's own columns, and by the decisions, where either knows both kinds."""
    found = []
    metadata = [items[item].metadata for item in candidates]
    names = dict.fromkeys(name for each in metadata for name in each)
    extras = {name: [str(each.get(name, "")) for each in metadata] for name in names}
    known = known_quality(extras) if extras else None
    if known is not None:
        found.append(Judgements("your data", range(len(candidates)), known))
    decided = {
        i: states[item].verdict == "accept"
        for i, item in enumerate(candidates)
        if item in states and states[item].verdict in ("accept", "reject")
    }
    if decided:
        good = np.array(list(decided.values()))
        found.append(Judgements("the decisions", list(decided), good))
    return [judged for judged in found if all(judged.counts)]


def measure_quality(
    table: pd.DataFrame, columns: Sequence[str], judged: Judgements
) -> list[QualityFound]:
    """Each method's area under the curve with a 95 % margin, best first."""
    from sklearn.metrics import roc_auc_score  # slow to import

    rows = table.iloc[list(judged.rows)]
    found = []
    for column in columns:
        auc = float(roc_auc_score(judged.good, rows[column].to_numpy(np.float64)))
        found.append(QualityFound(column, auc, auc_margin(auc, *judged.counts)))
    return sorted(found, key=lambda one: -one.auc)


def auc_margin(auc: float, good: int, other: int) -> float:
    """Half the width of Hanley and McNeil's 95 % interval."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (good - 1) * (q1 - auc**2) + (other - 1) * (q2 - auc**2)
    return float(1.96 * np.sqrt(max(spread, 0.0) / (good * other)))


def rank_distance(own: Floats, others: Floats) -> Floats:
    """How far a method's percentiles lie from what the others, one a column, give on average."""
    return np.asarray(np.abs(own - others.mean(axis=1)))
