"""From the items of a project to the Problem that is scored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from PIL import Image

from eap_core.assemble import Scale, problem_from_tables
from eap_core.embed import EMBEDDERS, Clip, Embedder
from eap_core.embed.base import Source
from eap_core.embed.cache import Cache
from eap_core.errors import DataError, SettingsError, shown
from eap_core.images.decode import rgb_of
from eap_core.problem import Problem
from eap_core.progress import Progress, silent
from eap_core.projects.combined import combined
from eap_core.projects.features import given_features
from eap_core.projects.plan import Plan
from eap_core.projects.rare import used_anomalies
from eap_core.projects.table_intake import stored_table
from eap_core.roles import Role
from eap_core.store import projects
from eap_core.store.items import Item, items_of, uploads_of
from eap_core.store.store import Store
from eap_core.table import Floats, Table

_GIVEN = "the image features are those that were given in a table: none are computed"
_CLASSES: tuple[Role, Role] = ("normal", "anomaly")  # by their labels, 0 and 1


@dataclass(frozen=True, eq=False)
class Prepared:
    """The problem, and the items behind its candidates and training rows in the same order."""

    problem: Problem
    candidates: tuple[Item, ...]
    training: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def prepared(
    store: Store,
    project: str,
    plan: Plan,
    progress: Progress = silent,
    role: Role = "candidate",
) -> Prepared:
    """The problem of a project's present items; those of ``role`` are what is judged."""
    by_role = _by_role(items_of(store, project))
    normals, candidates = by_role["normal"], by_role[role]
    if not normals or not candidates:
        missing = "normals" if not normals else f"{role}s"
        raise DataError(f"the project has no {missing} — add some first")
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
    )
    # Rows with a gap may have been left out by choice.
    kept = set(problem.ids)
    return Prepared(
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
        found = [stored_table(store, uploads[key], own) for key, own in by_upload.items()]
        if found:
            tables[role] = combined(found)
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
    used = used_anomalies(len(normals), kinds)
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
    given = given_features(store, project, items)
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
            f"there are no image features {shown(plan.features)} — choose from "
            f"{', '.join(EMBEDDERS)}"
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


def feature_cache(store: Store) -> Cache:
    """Where everything that is computed from images is kept for the next time."""
    return Cache(store.home / "cache" / "features")


def image_source(store: Store, item: Item) -> Source:
    """An image by its content; opened the same way for features and for the view."""
    assert item.sha256 is not None  # every image has its original
    return Source(item.sha256, partial(_picture, store, item))


def _picture(store: Store, item: Item) -> Image.Image:
    assert item.sha256 is not None  # every image has its original
    return rgb_of(store.blobs.read(item.sha256), item.name)
