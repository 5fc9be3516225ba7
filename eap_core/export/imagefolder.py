"""``metadata.csv`` of each part of the data, as Hugging Face's ImageFolder reads it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eap_core.export.layout import Placed
from eap_core.export.members import Member
from eap_core.export.source import Source
from eap_core.export.table import as_csv
from eap_core.store.items import Item

if TYPE_CHECKING:
    import pandas as pd

METADATA = "metadata.csv"
# An empty column of text would be read as numbers, and the two parts must be read alike.
_NONE = "none"
_SCORES = ("eap", "percentile")
_ENDS_AS_IMAGE = ("file_name", "file_names")


def metadata_members(source: Source, images: Sequence[Placed]) -> list[Member]:
    """One table for each part that has images, all with the same columns."""
    scores = source.frame.set_index("item")
    keys = dict.fromkeys(key for each in images for key in each.item.metadata if key != "mask")
    frames = {
        split: _frame([each for each in images if each.split == split], list(keys), scores)
        for split in ("train", "test")
    }
    return [
        Member.made(f"{split}/{METADATA}", as_csv(frame))
        for split, frame in _read_alike(frames).items()
    ]


def _frame(images: Sequence[Placed], keys: Sequence[str], scores: pd.DataFrame) -> pd.DataFrame:
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
    while key in frame or key in ("image", "images") or key.endswith(_ENDS_AS_IMAGE):
        key = f"{key} (given)"
    return key


def _read_alike(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Without the columns that would be read as another type in the other part, which is refused;
    they stay in the table of candidates."""
    there = {split: frame for split, frame in frames.items() if len(frame)}
    types = [_types_read(frame) for frame in there.values()]
    unlike = [name for name in types[0] if any(each[name] != types[0][name] for each in types)]
    return {split: frame.drop(columns=unlike) for split, frame in there.items()}


def _types_read(frame: pd.DataFrame) -> dict[str, str]:
    import pandas as pd

    read = pd.read_csv(io.BytesIO(as_csv(frame)), low_memory=False)
    return dict(zip(frame.columns, map(str, read.dtypes), strict=True))
