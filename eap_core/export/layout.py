"""The images of a bundle, each with its name, and the tables that tell of them."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eap_core.base.table import free_name
from eap_core.export.files import BundleMember, ending_of, kind_folders, read_original, stem_of
from eap_core.export.forms import IntoTest, LayoutFolders, PlacedImage, Placement
from eap_core.export.table import write_csv
from eap_core.store.blobs import Blobs
from eap_core.store.items import Item

if TYPE_CHECKING:
    import pandas as pd


def place_images(
    blobs: Blobs, items: Sequence[Item], place: Placement, into_test: IntoTest, category: str
) -> tuple[list[PlacedImage], list[Item]]:
    """Every image that the layout has a place for, and those it has none for."""
    kinds = kind_folders(_kind(item) for item in items)
    shelves = [place(item, kinds[_kind(item)], category, into_test) for item in items]
    counts = Counter(_counter(shelf) for shelf in shelves if shelf)
    numbers: Counter[str] = Counter()
    found: list[PlacedImage] = []
    for item, shelf in zip(items, shelves, strict=True):
        if shelf is None:
            continue
        group = _counter(shelf)
        # Of equal width, so that images and masks sort alike: readers pair them by their order.
        width = max(3, len(str(counts[group] - 1)))
        stem = f"{numbers[group]:0{width}}_{stem_of(item.name)}"
        numbers[group] += 1
        found.append(_place_at(blobs, item, shelf, stem))
    return found, [item for item, shelf in zip(items, shelves, strict=True) if shelf is None]


def _place_at(blobs: Blobs, item: Item, shelf: LayoutFolders, stem: str) -> PlacedImage:
    assert item.sha256 is not None  # every image has its original
    image = read_original(blobs, item.sha256)
    mask = None
    if item.mask and shelf.masks:
        found = read_original(blobs, item.mask)
        mask = found.at(f"{shelf.masks}/{stem}{shelf.suffix}{ending_of(found.head)}")
    return PlacedImage(
        item, shelf.split, image.at(f"{shelf.folder}/{stem}{ending_of(image.head)}"), mask
    )


def _counter(shelf: LayoutFolders) -> str:
    return shelf.folder if shelf.counted_with is None else shelf.counted_with


def _kind(item: Item) -> str:
    return str(item.metadata.get("defect_type", ""))


# ``metadata.csv`` of each part of the data, as Hugging Face's ImageFolder reads it.

METADATA = "metadata.csv"
# An empty column of text would be read as numbers, and the two parts must be read alike.
_NONE = "none"
_SCORES = ("eap", "percentile")
_ENDS_AS_IMAGE = ("file_name", "file_names")


def metadata_members(scored: pd.DataFrame, images: Sequence[PlacedImage]) -> list[BundleMember]:
    """One table for each part that has images, all with the same columns."""
    scores = scored.set_index("item")
    keys = dict.fromkeys(key for each in images for key in each.item.metadata if key != "mask")
    frames = {
        split: _frame([each for each in images if each.split == split], list(keys), scores)
        for split in ("train", "test")
    }
    return [
        BundleMember.made(f"{split}/{METADATA}", write_csv(frame))
        for split, frame in _drop_unlike_columns(frames).items()
    ]


def _frame(
    images: Sequence[PlacedImage], keys: Sequence[str], scores: pd.DataFrame
) -> pd.DataFrame:
    import pandas as pd  # slow to import

    items = [each.item for each in images]
    frame = pd.DataFrame(
        {
            "file_name": [each.image.path.partition("/")[2] for each in images],
            "label": ["normal" if "normal" in item.role else "anomaly" for item in items],
            "role": [item.role for item in items],
            "synthetic": [item.role == "candidate" for item in items],
            "id": [item.name for item in items],
            "sha256": [item.sha256 or _NONE for item in items],
            "mask": [f"../{each.mask.path}" if each.mask else _NONE for each in images],
        }
    )
    known = scores.reindex([item.id for item in items])
    for name in _SCORES:
        frame[name] = known[name].to_numpy(dtype=float)
    for key in keys:
        frame[_column(key, frame)] = [_text(item, key) for item in items]
    return frame


def _text(item: Item, key: str) -> str:
    return str(item.metadata.get(key, "")).strip() or _NONE


def _column(key: str, frame: pd.DataFrame) -> str:
    """A name that is not taken and not understood as the name of a further image."""
    return free_name(
        key,
        lambda name: name in frame or name in ("image", "images") or name.endswith(_ENDS_AS_IMAGE),
    )


def _drop_unlike_columns(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Without the columns that would be read as another type in the other part, which is refused;
    they stay in the table of candidates."""
    there = {split: frame for split, frame in frames.items() if len(frame)}
    types = [_read_types(frame) for frame in there.values()]
    unlike = [name for name in types[0] if any(each[name] != types[0][name] for each in types)]
    return {split: frame.drop(columns=unlike) for split, frame in there.items()}


def _read_types(frame: pd.DataFrame) -> dict[str, str]:
    import pandas as pd

    read = pd.read_csv(io.BytesIO(write_csv(frame)), low_memory=False)
    return dict(zip(frame.columns, map(str, read.dtypes), strict=True))
