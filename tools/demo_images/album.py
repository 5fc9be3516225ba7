"""The pictures of the image demo, drawn one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from PIL import Image

from eap_core.base.table import Role
from tools.demo_images.catalogue import Entry, catalogue
from tools.demo_images.picture import faultless
from tools.demo_images.scene import photograph, stream


@dataclass(frozen=True, eq=False)
class DemoImage:
    """A picture with its role, what is known about it and, where one applies, its mask."""

    name: str
    role: Role
    image: Image.Image
    metadata: Mapping[str, str]
    mask: Image.Image | None = None


def demo_images(seed: int = 0) -> Iterator[DemoImage]:
    """Every picture of the demo; the same seed gives the same pixels."""
    return (drawn(entry, seed) for entry in catalogue(seed))


def drawn(entry: Entry, seed: int = 0) -> DemoImage:
    """The picture of an entry, whichever others have been drawn before."""
    scene = photograph(seed, entry.scene)
    if entry.draw is None:
        picture = faultless(scene)
    else:
        strokes = stream(seed, entry.strokes, "strokes")
        defect = entry.metadata["defect_type"]
        picture = entry.draw(scene, strokes, defect)
    return DemoImage(entry.name, entry.role, picture.image, entry.metadata, picture.mask)
