"""Findings about images: generations that changed nothing, and looks that give candidates away.

The visible change of two pictures is the largest difference that remains, in grey levels of 255,
when each is averaged over small squares: noise and re-encoding fade, a scratch does not. Colour is
averaged over larger squares than light, as the eye does and JPEG with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath

import numpy as np
from PIL import Image
from scipy.ndimage import uniform_filter

from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import ROLES, Floats, Role
from eap_core.health import PLURAL, Finding, count_things, find_nearest, share
from eap_core.images import ImageItem

Opened = Callable[[str], Image.Image]  # an image by its sha256: RGB, upright
SEEN = 6.0  # grey levels; JPEG at quality 75, WebP at 80 and camera noise stay below
_SQUARE, _COLOUR_SQUARE = 5, 15
_LIGHT = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # how bright red, green and blue look
_LARGEST_SIDE = 512
_SKETCH = 32  # side of the small grey pictures by which the nearest normal is found
_SKETCHED_ALIKE = 6.0  # grey levels per pixel between sketches worth a closer look


def measure_change(one: Image.Image, other: Image.Image) -> float:
    """How different the two pictures look where they differ most, both brought to one size."""
    size = _common_size(one.size, other.size)
    gap = _levels(one, size) - _levels(other, size)
    light = uniform_filter(gap @ _LIGHT, size=_SQUARE, mode="nearest")
    colour = uniform_filter(gap, size=(_COLOUR_SQUARE, _COLOUR_SQUARE, 1), mode="nearest")
    return float(max(np.abs(light).max(), np.abs(colour).max()))


def find_changes(
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
    where, _ = find_nearest(ours, theirs)
    origin = [sources.get(c.name, normals[where[i]]) for i, c in enumerate(candidates)]
    pairs = [
        (c, o) for c, o in zip(candidates, origin, strict=True) if c.facts.pixels != o.facts.pixels
    ]
    same = _find_unseen(pairs, picture, part_of(progress, 0.4, 0.8))
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
    where, gap = find_nearest(sketches, sketches, own=np.arange(len(sketches)))
    close = [
        (candidates[i], candidates[j])
        for i, j in enumerate(where)
        if gap[i] < _SKETCHED_ALIKE * _SKETCH
        and candidates[i].facts.pixels != candidates[j].facts.pixels
        and (where[j] != i or i < j)  # a pair is told once
    ]
    alike = _find_unseen(close, picture, progress)
    if alike:
        yield Finding(
            "near-duplicate-candidate",
            "note",
            f"{count_things(len(alike), 'pair')} of candidates look the same",
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


def _find_unseen(
    pairs: Sequence[tuple[ImageItem, ImageItem]], picture: Opened, progress: Progress
) -> list[tuple[ImageItem, ImageItem]]:
    """The pairs that look the same."""

    def change(pair: tuple[ImageItem, ImageItem]) -> float:
        return measure_change(picture(pair[0].sha256), picture(pair[1].sha256))

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


# Differences between roles that features would see and a person would not mean.
#
# Where candidates differ from normals in size, colour, brightness or file format, every candidate
# can be told from every normal for the wrong reason.

_BLANK = 0.005  # contrast below which nothing is to be seen
_NEAR_RANGE = 1.15  # a size this much beyond those of the normals is still like them
_OTHER_LIGHT, _LEAST_LIGHT = 4.0, 0.06  # in the normals' own spread, and on the scale 0…1
_SIZES_TOLD = 3
_LOSSY = {"JPEG", "WEBP"}


def find_looks(items: Sequence[ImageItem]) -> Iterator[Finding]:
    """What the facts of the images say when roles are compared."""
    by_role = {
        role: own for role in ROLES if (own := [item for item in items if item.role == role])
    }
    yield from _blank(items)
    yield from _sizes(by_role)
    normals = by_role.get("normal")
    for role, own in by_role.items():
        if normals and role != "normal":
            yield from _colour(normals, own, role)
            yield from _light(normals, own, role)
            yield from _format(normals, own, role)


def _blank(items: Sequence[ImageItem]) -> Iterator[Finding]:
    blank = tuple(item.name for item in items if item.facts.contrast < _BLANK)
    if blank:
        what = f"{share(len(blank), len(items), 'images')} show one flat colour"
        yield Finding("blank", "warning", what, "look at them; probably something failed", blank)


def _sizes(by_role: dict[Role, list[ImageItem]]) -> Iterator[Finding]:
    sizes = {(i.facts.width, i.facts.height) for own in by_role.values() for i in own}
    if len(sizes) < 2:
        return
    told = "; ".join(f"{PLURAL[role]} {_describe_looks(own)}" for role, own in by_role.items())
    normals = by_role.get("normal", [])
    other = [role for role, own in by_role.items() if normals and _mostly_other(normals, own)]
    if other:
        names = " and ".join(PLURAL[role] for role in other)
        yield Finding(
            "other-size",
            "warning",
            f"{names} differ in size from the normals ({told}): they can be told apart by "
            "sharpness or shape alone",
            "bring all images to one size, best by generating at the size of the normals",
        )
    else:
        yield Finding(
            "mixed-sizes",
            "note",
            f"the images have {len(sizes):,} different sizes ({told})",
            "all are brought to the same square for the features",
        )


def _describe_looks(items: Sequence[ImageItem]) -> str:
    counted = Counter((i.facts.width, i.facts.height) for i in items).most_common()
    if len(counted) <= _SIZES_TOLD:
        return ", ".join(f"{w}×{h} ({count})" for (w, h), count in counted)
    widths = [i.facts.width for i in items]
    heights = [i.facts.height for i in items]
    return f"{min(widths)}–{max(widths)}×{min(heights)}–{max(heights)} ({len(items)})"


def _mostly_other(normals: Sequence[ImageItem], own: Sequence[ImageItem]) -> bool:
    """Whether most have an area, or a width/height, that hardly any normal has."""
    outside = np.zeros(len(own), dtype=bool)
    for usual, values in zip(_measures(normals), _measures(own), strict=True):
        low, high = np.quantile(usual, [0.05, 0.95])
        outside |= (values < low / _NEAR_RANGE) | (values > high * _NEAR_RANGE)
    return bool(outside.mean() > 0.5)


def _measures(items: Sequence[ImageItem]) -> tuple[Floats, Floats]:
    """Areas and shapes."""
    sides = np.array([(i.facts.width, i.facts.height) for i in items], dtype=np.float64)
    return sides[:, 0] * sides[:, 1], sides[:, 0] / sides[:, 1]


def _colour(
    normals: Sequence[ImageItem], own: Sequence[ImageItem], role: Role
) -> Iterator[Finding]:
    if all(i.facts.grey for i in normals):
        coloured = tuple(i.name for i in own if not i.facts.grey)
        if coloured:
            yield Finding(
                "colour",
                "warning",
                f"{share(len(coloured), len(own), PLURAL[role])} have colour and the normals have "
                "none",
                "all are turned to grey for the features; better generate without colour",
                coloured,
            )
    elif not any(i.facts.grey for i in normals):
        grey = tuple(i.name for i in own if i.facts.grey)
        if grey:
            yield Finding(
                "colour",
                "warning",
                f"{share(len(grey), len(own), PLURAL[role])} are grey and the normals have colour",
                "they can be told apart by that alone; generate in colour",
                grey,
            )


def _light(normals: Sequence[ImageItem], own: Sequence[ImageItem], role: Role) -> Iterator[Finding]:
    usual = np.array([i.facts.brightness for i in normals])
    centre = float(np.median(usual))
    spread = 1.4826 * float(np.median(np.abs(usual - centre)))
    typical = float(np.median([i.facts.brightness for i in own]))
    if abs(typical - centre) > max(_OTHER_LIGHT * spread, _LEAST_LIGHT):
        word = "brighter" if typical > centre else "darker"
        yield Finding(
            "other-light",
            "warning",
            f"{PLURAL[role]} are {word} than the normals as a whole ({typical:.0%} against "
            f"{centre:.0%})",
            "they can be told apart by that alone; check exposure and colour profile",
        )


def _format(
    normals: Sequence[ImageItem], own: Sequence[ImageItem], role: Role
) -> Iterator[Finding]:
    one = {i.facts.format for i in normals}
    other = {i.facts.format for i in own}
    if bool(one & _LOSSY) != bool(other & _LOSSY):
        yield Finding(
            "other-format",
            "note",
            f"normals are {_names(one)} and {PLURAL[role]} {_names(other)}: one is compressed with "
            "loss, the other not",
            "compression leaves traces that features may see; best use one format",
        )


def _names(formats: set[str]) -> str:
    return " and ".join(sorted(formats))
