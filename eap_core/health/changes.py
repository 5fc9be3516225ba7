"""Generations that changed nothing: how much of a candidate can be seen to differ from its source.

The visible change of two pictures is the largest difference that remains, in grey levels of 255,
when each is averaged over small squares: noise and re-encoding fade, a scratch does not. Colour is
averaged over larger squares than light, as the eye does and JPEG with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath

import numpy as np
from PIL import Image
from scipy.ndimage import uniform_filter

from eap_core.health.finding import Finding, counted, share
from eap_core.health.nearest import nearest
from eap_core.images.read import ImageItem
from eap_core.progress import Progress, part_of, silent
from eap_core.table import Floats

Opened = Callable[[str], Image.Image]  # an image by its sha256: RGB, upright
SEEN = 6.0  # grey levels; JPEG at quality 75, WebP at 80 and camera noise stay below
_SQUARE, _COLOUR_SQUARE = 5, 15
_LIGHT = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # how bright red, green and blue look
_LARGEST_SIDE = 512
_SKETCH = 32  # side of the small grey pictures by which the nearest normal is found
_SKETCHED_ALIKE = 6.0  # grey levels per pixel between sketches worth a closer look


def visible_change(one: Image.Image, other: Image.Image) -> float:
    """How different the two pictures look where they differ most, both brought to one size."""
    size = _common_size(one.size, other.size)
    gap = _levels(one, size) - _levels(other, size)
    light = uniform_filter(gap @ _LIGHT, size=_SQUARE, mode="nearest")
    colour = uniform_filter(gap, size=(_COLOUR_SQUARE, _COLOUR_SQUARE, 1), mode="nearest")
    return float(max(np.abs(light).max(), np.abs(colour).max()))


def change_findings(
    items: Sequence[ImageItem],
    picture: Opened,
    thumbnail: Opened,
    progress: Progress = silent,
) -> Iterator[Finding]:
    """Candidates in which no change is to be seen, and candidates that look the same twice."""
    normals = [item for item in items if item.role == "normal"]
    candidates = [item for item in items if item.role == "candidate"]
    if not normals or not candidates:
        return
    sketches = _sketches([*normals, *candidates], thumbnail, part_of(progress, 0.0, 0.4))
    ours, theirs = sketches[len(normals) :], sketches[: len(normals)]
    sources, unknown = _sources(candidates, normals)
    yield from _unknown_sources(unknown, candidates)
    where, _ = nearest(ours, theirs)
    origin = [sources.get(c.name, normals[where[i]]) for i, c in enumerate(candidates)]
    pairs = [
        (c, o) for c, o in zip(candidates, origin, strict=True) if c.facts.pixels != o.facts.pixels
    ]
    same = _unseen(pairs, picture, part_of(progress, 0.4, 0.8))
    if same:
        yield Finding(
            "nothing-changed",
            "warning",
            f"{share(len(same), len(candidates), 'candidates')} show no visible change from the "
            "normal they come from",
            "the generator changed nothing a person could see; reject them",
            tuple(f"{c.name} ≈ {o.name}" for c, o in same),
        )
    yield from _look_alikes(candidates, ours, picture, part_of(progress, 0.8, 1.0))


def _unknown_sources(unknown: Sequence[str], candidates: Sequence[ImageItem]) -> Iterator[Finding]:
    if unknown:
        yield Finding(
            "unknown-source",
            "note",
            f"{share(len(unknown), len(candidates), 'candidates')} name a source image that is "
            "not among the normals",
            "they are compared with the most similar normal instead",
            tuple(unknown),
        )


def _look_alikes(
    candidates: Sequence[ImageItem], sketches: Floats, picture: Opened, progress: Progress
) -> Iterator[Finding]:
    if len(candidates) < 2:
        return
    where, gap = nearest(sketches, sketches, own=np.arange(len(sketches)))
    close = [
        (candidates[i], candidates[j])
        for i, j in enumerate(where)
        if gap[i] < _SKETCHED_ALIKE * _SKETCH
        and candidates[i].facts.pixels != candidates[j].facts.pixels
        and (where[j] != i or i < j)  # a pair is told once
    ]
    alike = _unseen(close, picture, progress)
    if alike:
        yield Finding(
            "near-duplicate-candidate",
            "note",
            f"{counted(len(alike), 'pair')} of candidates look the same",
            "one of each may be enough",
            tuple(f"{a.name} ≈ {b.name}" for a, b in alike),
        )


def _sources(
    candidates: Sequence[ImageItem], normals: Sequence[ImageItem]
) -> tuple[dict[str, ImageItem], list[str]]:
    """The normal each candidate says it was made from, by whole name or by an unambiguous end."""
    by_name: dict[str, ImageItem | None] = {}
    for item in normals:
        path = PurePosixPath(item.name)
        for name in {item.name, path.name, path.stem}:
            by_name[name] = None if name in by_name else item  # two of one name are neither
    found: dict[str, ImageItem] = {}
    unknown: list[str] = []
    for candidate in candidates:
        named = candidate.metadata.get("source", "").strip()
        if not named:
            continue
        origin = by_name.get(named) or by_name.get(PurePosixPath(named).name)
        if origin is None:
            unknown.append(candidate.name)
        else:
            found[candidate.name] = origin
    return found, unknown


def _unseen(
    pairs: Sequence[tuple[ImageItem, ImageItem]], picture: Opened, progress: Progress
) -> list[tuple[ImageItem, ImageItem]]:
    """The pairs that look the same."""

    def change(pair: tuple[ImageItem, ImageItem]) -> float:
        return visible_change(picture(pair[0].sha256), picture(pair[1].sha256))

    found = []
    with ThreadPoolExecutor() as pool:
        for i, (pair, seen) in enumerate(zip(pairs, pool.map(change, pairs), strict=True)):
            progress(i / len(pairs), "looking for changes")
            if seen < SEEN:
                found.append(pair)
    return found


def _sketches(items: Sequence[ImageItem], thumbnail: Opened, progress: Progress) -> Floats:
    def sketch(item: ImageItem) -> Floats:
        small = thumbnail(item.sha256).convert("L").resize((_SKETCH, _SKETCH), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float64).ravel()

    rows = []
    with ThreadPoolExecutor() as pool:
        for i, row in enumerate(pool.map(sketch, items)):
            progress(i / len(items), "looking for changes")
            rows.append(row)
    return np.array(rows)


def _common_size(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    width, height = (min(a, b) for a, b in zip(one, other, strict=True))
    shrink = max(1.0, max(width, height) / _LARGEST_SIDE)
    return max(1, round(width / shrink)), max(1, round(height / shrink))


def _levels(image: Image.Image, size: tuple[int, int]) -> np.ndarray:
    small = image if image.size == size else image.resize(size, Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32)
