"""Where images lie in each tree; docs/export.md tells the rules of those who read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from eap_core.export.members import Member, original
from eap_core.export.names import ending_of, kind_folders, stem_of
from eap_core.export.request import Request
from eap_core.store.blobs import Blobs
from eap_core.store.items import Item

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Shelf:
    """The folder of an image, that of its mask, and the part of the data it belongs to."""

    folder: str
    split: Split
    masks: str | None = None
    suffix: str = ""  # of a mask's name
    counted_with: str | None = None  # images with the same are numbered together


@dataclass(frozen=True)
class Placed:
    """An image with its place; ``mask`` is a path in the bundle, too."""

    item: Item
    split: Split
    image: Member
    mask: Member | None

    @property
    def members(self) -> list[Member]:
        return [self.image, self.mask] if self.mask else [self.image]


def placed(
    blobs: Blobs, items: Sequence[Item], request: Request, category: str
) -> tuple[list[Placed], list[Item]]:
    """Every image that the layout has a place for, and those it has none for."""
    kinds = kind_folders(_kind(item) for item in items)
    shelves = [_SHELVES[request.format](item, kinds[_kind(item)], request, category)
               for item in items]  # fmt: skip
    counts = Counter(_counter(shelf) for shelf in shelves if shelf)
    numbers: Counter[str] = Counter()
    found: list[Placed] = []
    for item, shelf in zip(items, shelves, strict=True):
        if shelf is None:
            continue
        group = _counter(shelf)
        # Of equal width, so that images and masks sort alike: readers pair them by their order.
        width = max(3, len(str(counts[group] - 1)))
        stem = f"{numbers[group]:0{width}}_{stem_of(item.name)}"
        numbers[group] += 1
        found.append(_at(blobs, item, shelf, stem))
    return found, [item for item, shelf in zip(items, shelves, strict=True) if shelf is None]


def _at(blobs: Blobs, item: Item, shelf: Shelf, stem: str) -> Placed:
    assert item.sha256 is not None  # every image has its original
    image = original(blobs, item.sha256)
    mask = None
    if item.mask and shelf.masks:
        found = original(blobs, item.mask)
        mask = found.at(f"{shelf.masks}/{stem}{shelf.suffix}{ending_of(found.head)}")
    return Placed(
        item, shelf.split, image.at(f"{shelf.folder}/{stem}{ending_of(image.head)}"), mask
    )


def _counter(shelf: Shelf) -> str:
    return shelf.folder if shelf.counted_with is None else shelf.counted_with


def _kind(item: Item) -> str:
    return str(item.metadata.get("defect_type", ""))


def _anomalib(item: Item, kind: str, request: Request, _: str) -> Shelf | None:
    """Folder reads what it is told to: normal_dir for training, abnormal_dir always for tests."""
    if item.role == "normal":
        return Shelf("normal", "train")
    if item.role == "test_normal":
        return Shelf("normal_test", "test")
    if item.role == "candidate" and not request.synthetic_in_test:
        return Shelf(f"synthetic/{kind}", "train", f"synthetic_masks/{kind}")
    if item.role == "anomaly" and not request.real_in_test:
        return None
    kind = f"synthetic_{kind}" if item.role == "candidate" else kind
    return Shelf(f"abnormal/{kind}", "test", f"mask/{kind}")


def _mvtec(item: Item, kind: str, request: Request, category: str) -> Shelf | None:
    """The category's folder holds nothing else, or readers of MVTec AD refuse it as a whole."""
    if item.role == "normal":
        return Shelf(f"{category}/train/good", "train")
    if item.role == "test_normal":
        return Shelf(f"{category}/test/good", "test")
    if item.role == "candidate" and not request.synthetic_in_test:
        return Shelf(f"synthetic/train/{kind}", "train", f"synthetic_masks/{kind}", "_mask")
    if item.role == "anomaly" and not request.real_in_test:
        return None
    kind = f"synthetic_{kind}" if item.role == "candidate" else kind
    return Shelf(f"{category}/test/{kind}", "test", f"{category}/ground_truth/{kind}", "_mask")


def _imagefolder(item: Item, _kind: str, request: Request, _category: str) -> Shelf:
    """Flat: a folder named after a kind could be taken for another part of the data."""
    into_test = {"candidate": request.synthetic_in_test, "anomaly": request.real_in_test}
    held_out = item.role in ("test_normal", "test_anomaly")
    split: Split = "test" if into_test.get(item.role, held_out) else "train"
    return Shelf(split, split, "masks", counted_with="all")


_SHELVES: dict[str, Callable[[Item, str, Request, str], Shelf | None]] = {
    "anomalib": _anomalib,
    "mvtec": _mvtec,
    "imagefolder": _imagefolder,
}
