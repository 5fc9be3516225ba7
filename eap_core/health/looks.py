"""Differences between roles that features would see and a person would not mean.

Where candidates differ from normals in size, colour, brightness or file format, every candidate can
be told from every normal for the wrong reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from eap_core.health.copies import PLURAL
from eap_core.health.finding import Finding, share
from eap_core.images.read import ImageItem
from eap_core.roles import ROLES, Role
from eap_core.table import Floats

_BLANK = 0.005  # contrast below which nothing is to be seen
_NEAR_RANGE = 1.15  # a size this much beyond those of the normals is still like them
_OTHER_LIGHT, _LEAST_LIGHT = 4.0, 0.06  # in the normals' own spread, and on the scale 0…1
_SIZES_TOLD = 3
_LOSSY = {"JPEG", "WEBP"}


def look_findings(items: Sequence[ImageItem]) -> Iterator[Finding]:
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
    told = "; ".join(f"{PLURAL[role]} {_told(own)}" for role, own in by_role.items())
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


def _told(items: Sequence[ImageItem]) -> str:
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
