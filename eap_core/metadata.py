"""What is known about an item beside its features, by the names people give such columns.

These columns are never features. They are recognised by name, kept as text, shown, filtered by and
exported.
"""

from __future__ import annotations

import re
from types import MappingProxyType

KEYS: tuple[str, ...] = ("generator", "prompt", "defect_type", "source", "mask")
_NAMES = MappingProxyType(
    {
        "generator": ("generator", "method", "generated_by", "generator_name"),
        "prompt": ("prompt", "text_prompt", "positive_prompt", "caption"),
        "defect_type": ("defect_type", "defect", "anomaly_type", "fraud_type", "defect_class"),
        "source": ("source", "source_file", "source_image", "source_id", "parent", "base_image"),
        "mask": ("mask", "mask_file", "mask_path", "ground_truth", "segmentation"),
    }
)
_KEY_OF = MappingProxyType({name: key for key, names in _NAMES.items() for name in names})


def metadata_key(column: str) -> str | None:
    """The kind of metadata a column of this name holds, if any: ``Defect-Type`` → defect_type."""
    return _KEY_OF.get(re.sub(r"[\s\-.]+", "_", column.strip().casefold()))
