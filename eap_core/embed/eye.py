"""Images through the network, each at most once, each result kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eap_core.embed.album import Album
from eap_core.embed.base import Source
from eap_core.embed.network import Maps, Network
from eap_core.embed.patches import Compared, PatchBank, PatchSettings, Singles, fit_patches
from eap_core.embed.pixels import Square, square
from eap_core.embed.tally import Tally
from eap_core.embed.workers import Workers


@dataclass(frozen=True, eq=False)
class Look:
    """What looking at one image gave: only what was lacking or asked for."""

    image: str
    grey: bool
    numbers: Singles | None
    maps: Maps | None
    compared: Compared | None


@dataclass(frozen=True, eq=False)
class Eye:
    """All that looking at images needs."""

    sources: Mapping[str, Source]
    side: int
    network: Network
    album: Album
    workers: Workers
    tally: Tally

    def look(self, images: Sequence[str], bank: PatchBank | None) -> None:
        """Learn what the album lacks of images: their numbers, and, given a bank, their patches."""
        for _ in self._looks(images, bank, maps=False):
            self.tally.one_more()

    def learn(self, images: Sequence[str], settings: PatchSettings) -> PatchBank:
        """A bank of the images' patches; they are compared with it without a second look."""
        maps: dict[str, Maps] = {}
        for look in self._looks(images, None, maps=True):
            assert look.maps is not None
            maps[look.image] = look.maps
            self.tally.one_more()
        self.tally.meanwhile("learning what normal images look like")
        bank = fit_patches(maps, settings)
        self.album.keep_bank(bank)
        found = self.workers.in_order(maps, lambda image: bank.compare(maps[image], image))
        for image, compared in zip(maps, found, strict=True):
            self.album.keep_compared(image, compared)
            self.tally.meanwhile("comparing normal images with each other")
        return bank

    def _looks(self, images: Sequence[str], bank: PatchBank | None, maps: bool) -> Iterator[Look]:
        def work(opened: tuple[str, Square]) -> Look:
            image, seen = opened
            compare = bank is not None and image not in self.album.compared
            numbers, local = self.network.look(
                seen.pixels, numbers=image not in self.album.numbers, maps=maps or compare
            )
            compared = None if bank is None or local is None else bank.compare(local, image)
            return Look(image, seen.grey, numbers, local if maps else None, compared)

        for look in self.workers.in_order(self._opened(images), work):
            if look.numbers is not None:
                self.album.keep_numbers(look.image, look.numbers, look.grey)
            if look.compared is not None:
                self.album.keep_compared(look.image, look.compared)
            yield look

    def _opened(self, images: Sequence[str]) -> Iterator[tuple[str, Square]]:
        """Opened one after the other in the caller's thread: a source need not stand threads."""
        for image in images:
            without_colour = image in self.album.colourless
            yield image, square(self.sources[image], self.side, without_colour)
