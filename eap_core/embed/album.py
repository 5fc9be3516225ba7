"""What is known of each image of one run, in memory, and in the cache at once when it is learned.

The numbers of a whole image depend on the image alone; how its patches compare depends on the
normal images as well, and is kept under a key that covers them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eap_core.embed.cache import Cache, key_of
from eap_core.embed.patches import Compared, PatchBank, Singles


@dataclass(frozen=True, eq=False)
class Album:
    """Images by their sha256. ``patch_key`` is None where patches are not looked at.

    ``colourless`` are the images whose colour is not looked at.
    """

    cache: Cache
    network_key: str
    patch_key: str | None
    colourless: set[str] = field(default_factory=set)
    numbers: dict[str, Singles] = field(default_factory=dict)
    grey: dict[str, bool] = field(default_factory=dict)
    compared: dict[str, Compared] = field(default_factory=dict)

    def recall(self, image: str) -> bool:
        """Take what the cache holds of an image, and only that; whether it is all."""
        for known in (self.numbers, self.grey, self.compared):
            known.pop(image, None)
        self._recall_numbers(image)
        if self.patch_key is None:
            return image in self.numbers
        compared = self.cache.load(self._key(self.patch_key, image))
        if compared is not None:
            self.compared[image] = Compared(*compared)
        return image in self.numbers and image in self.compared

    def _recall_numbers(self, image: str) -> None:
        for tint in ("as it is", "grey") if image in self.colourless else ("as it is",):
            found = self.cache.load(key_of(self.network_key, tint, image))
            if found is not None and (tint == "grey" or found[1] or image not in self.colourless):
                self.numbers[image], self.grey[image] = found[0], bool(found[1])
                return

    def keep_numbers(self, image: str, numbers: Singles, grey: bool) -> None:
        self.numbers[image], self.grey[image] = numbers, grey
        self.cache.store(self._key(self.network_key, image), (numbers, np.array(grey)))

    def keep_compared(self, image: str, compared: Compared) -> None:
        assert self.patch_key is not None
        self.compared[image] = compared
        self.cache.store(self._key(self.patch_key, image), compared.arrays)

    def known_bank(self) -> PatchBank | None:
        """The bank of patches learned from the same normal images before."""
        found = self.cache.load(key_of("bank", self.patch_key)) if self.patch_key else None
        return None if found is None else PatchBank(*found)

    def keep_bank(self, bank: PatchBank) -> None:
        assert self.patch_key is not None
        self.cache.store(key_of("bank", self.patch_key), bank.arrays)

    def _key(self, settings: str, image: str) -> str:
        """An image that is grey by itself is the same without its colour."""
        changed = image in self.colourless and not self.grey.get(image, False)
        return key_of(settings, "grey" if changed else "as it is", image)
