"""What the folders of images say: names in, roles, metadata and masks out.

Known are the tree of MVTec AD (train/good, test/<defect>, ground_truth/<defect>), the folders of
anomalib (normal, abnormal[/<defect>], mask) and roles by name (generated/<generator>, …), each also
below other folders. The names of files tell no generator or source: a metadata table does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from eap_core.errors import listed
from eap_core.images.masks import Filed, attach_masks, filed
from eap_core.images.words import as_role
from eap_core.roles import Role

Kind = Literal["mvtec", "anomalib folder", "roles", "flat"]
_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Place:
    """What is known of one image by where it lies; a mask has no role of its own."""

    role: Role | None = None
    metadata: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    mask: bool = False


@dataclass(frozen=True)
class Layout:
    """The place of every name, and the mask of each image that has one."""

    kind: Kind
    places: Mapping[str, Place]
    masks: Mapping[str, str]
    notes: tuple[str, ...]


def recognise(names: Iterable[str]) -> Layout:
    """The layout that the names with their folders tell."""
    files = [filed(name) for name in names]
    masks, lone = attach_masks(files)
    of_masks = set(masks.values()) | set(lone)
    places = {
        file.name: Place(mask=True) if file.name in of_masks else _place(file) for file in files
    }
    kind = _kind(files)
    return Layout(
        kind,
        MappingProxyType(places),
        MappingProxyType(masks),
        tuple(_notes(kind, files, places, lone)),
    )


def _kind(files: list[Filed]) -> Kind:
    words = {file.word for file in files}
    if words & {"train", "test"}:
        return "mvtec"
    if "candidate" in words:
        return "roles"
    return "anomalib folder" if words - {None, "mask"} else "flat"


def _place(file: Filed) -> Place:
    role, metadata = _role(file), {}
    if role == "candidate":
        below = [folder for folder, word in file.below if word is None]
        metadata = dict(zip(("generator", "defect_type"), below, strict=False))
    elif role in ("anomaly", "test_anomaly") and file.below:
        metadata = {"defect_type": file.below[-1][0]}
    return Place(role, MappingProxyType(metadata) if metadata else _EMPTY)


def _role(file: Filed) -> Role | None:
    if file.word == "train":
        return file.below_role
    if file.word == "test":
        if file.below_role == "normal":
            return "test_normal"
        return "anomaly" if file.below else None
    return as_role(file.word)


def _notes(
    kind: Kind, files: list[Filed], places: Mapping[str, Place], lone: list[str]
) -> Iterable[str]:
    if kind == "mvtec" and any(
        file.word == "test" and places[file.name].role == "anomaly" for file in files
    ):
        yield (
            "the defects below test/ are taken as real anomalies, which scoring may learn from; "
            "give them the role test_anomaly to hold them out"
        )
    parents = Counter(file.above for file in files if file.word is not None)
    if len(parents) > 1:
        several = listed([above or "(top)" for above in parents], 4)
        yield f"folders of several products are mixed: {several} — take one alone if that is wrong"
    unplaced = [name for name, place in places.items() if place.role is None and not place.mask]
    if kind != "flat" and unplaced:
        yield f"no folder says what {len(unplaced):,} images are: {listed(unplaced, 3)}"
    if lone:
        yield f"{len(lone):,} masks belong to no image here: {listed(lone, 3)}"
