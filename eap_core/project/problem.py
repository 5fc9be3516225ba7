"""From the items of a project to the Problem that is scored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np
from PIL import Image

from eap_core.analysis import Plan
from eap_core.base.errors import DataError, SettingsError, quote
from eap_core.base.files import FeatureCache
from eap_core.base.prepare import Scale, problem_from_tables
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.base.table import Floats, Role, Table, combine_tables
from eap_core.features import EMBEDDERS
from eap_core.features.base import Embedder, ImageSource
from eap_core.features.clip import Clip
from eap_core.images.decode import rgb_of
from eap_core.project.intake import find_given_features
from eap_core.project.tables import load_stored_table
from eap_core.store import projects, state_digest
from eap_core.store.cleanup import features_folder
from eap_core.store.items import Item, items_of, present_uploads, uploads_of
from eap_core.store.store import Store

# Anomalies must be rare: which ones to use where there are too many for the normals.

_PER_ANOMALY = 4  # normals that each used anomaly should have beside it


def choose_anomalies(normals: int, kinds: Sequence[str]) -> list[int]:
    """Positions of the anomalies to learn from: all while they are rarer than the normals.

    Otherwise a quarter of the normals' number, taken from each kind in turn, so that no kind of
    defect is lost.
    """
    if len(kinds) < normals:
        return list(range(len(kinds)))
    by_kind: dict[str, list[int]] = defaultdict(list)
    for i, kind in enumerate(kinds):
        by_kind[kind].append(i)
    in_turn = [i for turn in zip_longest(*by_kind.values()) for i in turn if i is not None]
    return sorted(in_turn[: max(1, normals // _PER_ANOMALY)])


_GIVEN = "the image features are those that were given in a table: none are computed"
_CLASSES: tuple[Role, Role] = ("normal", "anomaly")  # by their labels, 0 and 1


@dataclass(frozen=True, eq=False)
class PreparedProblem:
    """The problem, and the items behind its candidates and training rows in the same order."""

    problem: Problem
    candidates: tuple[Item, ...]
    training: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def prepare_problem(
    store: Store,
    project: str,
    plan: Plan,
    progress: Progress = silent,
    role: Role = "candidate",
) -> PreparedProblem:
    """The problem of a project's present items; those of ``role`` are what is judged."""
    by_role = _by_role(items_of(store, project))
    normals, candidates = by_role["normal"], by_role[role]
    if not normals or not candidates:
        missing = "normals" if not normals else f"{role}s"
        raise DataError(f"the project has no {missing}", advice="add some first")
    anomalies, notes = _rare(normals, by_role["anomaly"])
    parts: dict[Role, list[Item]] = {
        "normal": normals,
        "anomaly": anomalies,
        "candidate": candidates,
    }
    scale: Scale = "standard"
    if projects.by_id(store, project).kind == "images":
        tables, scale = _image_tables(store, project, parts, plan, progress)
    else:
        tables = row_tables(store, project, parts)
    problem = problem_from_tables(
        tables["normal"],
        tables["candidate"],
        tables.get("anomaly"),
        scale=scale,
        assumed_rate=plan.assumed_rate,
    ).drawn(plan.settings.max_normals, plan.seed)
    # Rows with a gap may have been left out by choice.
    kept = set(problem.ids)
    return PreparedProblem(
        problem,
        tuple(item for item in candidates if item.name in kept),
        _training(problem, parts, tables),
        notes,
    )


def row_tables(store: Store, project: str, parts: dict[Role, list[Item]]) -> dict[Role, Table]:
    """The rows of each role that has any, from all the files they came in."""
    uploads = {upload.id: upload for upload in uploads_of(store, project)}
    tables: dict[Role, Table] = {}
    for role, items in parts.items():
        by_upload: dict[str, list[Item]] = defaultdict(list)
        for item in items:
            by_upload[item.upload].append(item)
        found = [load_stored_table(store, uploads[key], own) for key, own in by_upload.items()]
        if found:
            tables[role] = combine_tables(found)
    return tables


def _training(
    problem: Problem, parts: dict[Role, list[Item]], tables: dict[Role, Table]
) -> tuple[Item, ...]:
    """The items behind the training rows; a name that both classes have stands with its source."""
    known: dict[tuple[int, str], Item] = {}
    for label, role in enumerate(_CLASSES):
        for item in parts[role]:
            known.setdefault((label, f"{tables[role].source}:{item.name}"), item)
        known |= {(label, item.name): item for item in parts[role]}
    rows = zip(problem.y_train.tolist(), problem.train_ids, strict=True)
    return tuple(known[row] for row in rows)


def _by_role(items: Sequence[Item]) -> dict[Role, list[Item]]:
    by_role: dict[Role, list[Item]] = defaultdict(list)
    for item in items:
        by_role[item.role].append(item)
    return by_role


def _rare(normals: Sequence[Item], anomalies: Sequence[Item]) -> tuple[list[Item], tuple[str, ...]]:
    kinds = [str(item.metadata.get("defect_type", "")) for item in anomalies]
    used = choose_anomalies(len(normals), kinds)
    if len(used) == len(anomalies):
        return list(anomalies), ()
    note = (
        f"{len(used):,} of {len(anomalies):,} real anomalies are used beside {len(normals):,} "
        "normals, evenly from each kind of defect: the ranking guarantee needs them to be rare"
    )
    return [anomalies[i] for i in used], (note,)


def _image_tables(
    store: Store, project: str, parts: dict[Role, list[Item]], plan: Plan, progress: Progress
) -> tuple[dict[Role, Table], Scale]:
    """Features that were given, or computed here; most of the latter have their scale already."""
    items = [item for own in parts.values() for item in own]
    given = find_given_features(store, project, items)
    if given is not None:
        tables = _by_parts(parts, given.values, given.columns)
        tables["normal"] = replace(tables["normal"], notes=(_GIVEN,))
        return {role: replace(t, missing=given.missing) for role, t in tables.items()}, "standard"
    embedding = _embedder(plan).embed(
        [image_source(store, item) for item in items],
        np.array([item.role == "normal" for item in items]),
        feature_cache(store),
        progress,
    )
    tables = _by_parts(parts, embedding.values, embedding.columns)
    tables["normal"] = replace(tables["normal"], notes=embedding.notes)
    return tables, "none" if embedding.standardised else "standard"


def _embedder(plan: Plan) -> Embedder:
    found = EMBEDDERS.get(plan.features)
    if found is None:
        raise SettingsError(
            f"there are no image features {quote(plan.features)}",
            advice=f"choose from {', '.join(EMBEDDERS)}",
        )
    if isinstance(found, Clip):
        return replace(found, wanted=plan.wanted, int8=plan.int8)
    return found


def _by_parts(
    parts: dict[Role, list[Item]], values: Floats, columns: tuple[str, ...]
) -> dict[Role, Table]:
    tables: dict[Role, Table] = {}
    start = 0
    for role, own in parts.items():
        rows = slice(start, start + len(own))
        start += len(own)
        if own:
            tables[role] = Table(
                f"the {role} images", columns, values[rows], tuple(item.name for item in own)
            )
    return tables


def feature_cache(store: Store) -> FeatureCache:
    """Where everything that is computed from images is kept for the next time."""
    return FeatureCache(features_folder(store.home))


def image_source(store: Store, item: Item) -> ImageSource:
    """An image by its content; opened the same way for features and for the view."""
    assert item.sha256 is not None  # every image has its original
    return ImageSource(item.sha256, partial(_picture, store, item))


def _picture(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return rgb_of(store.blobs.read(item.sha256), item.name)


# What a project holds at present, as one digest: the key of everything derived from it.


def state_of(store: Store, project: str) -> str:
    """Changes whenever an upload is added, removed or put back; an upload itself never changes."""
    return state_digest(present_uploads(store, project))
