"""The image demo as a folder, as a person would have it: roles by folder, the rest in metadata.csv.

Pictures are JPEG at quality 85 without colour subsampling: half the size of quality 95, and no
eye or score tells them apart; PNG cannot pack camera grain. Masks are PNG.
"""

from __future__ import annotations

import csv
from pathlib import Path, PurePosixPath

from eap_core.base.errors import DataError, quote
from eap_core.base.files import explain_unwritable
from eap_core.base.progress import Progress, silent
from tools.demo_images.album import DemoImage, drawn
from tools.demo_images.catalogue import catalogue

COLUMNS = ("file_name", "role", "generator", "defect_type", "prompt", "source", "mask", "truth")
_QUALITY = 85


def write_demo_images(folder: Path, seed: int = 0, progress: Progress = silent) -> Path:
    """Write the demo into a new or empty folder and return the folder."""
    entries = catalogue(seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(
                f"the folder {quote(folder.name)} is not empty",
                advice="the demo needs a new or empty one",
            )
        rows = []
        for done, entry in enumerate(entries):
            progress(done / len(entries), "drawing the demo images")
            rows.append(_written(drawn(entry, seed), folder))
        with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    except OSError as error:
        raise explain_unwritable(folder, error) from error
    progress(1.0, "drawing the demo images")
    return folder


def _written(picture: DemoImage, folder: Path) -> dict[str, str]:
    """Write one picture and its mask; the row that describes them."""
    row = {"file_name": picture.name, "role": picture.role, **picture.metadata}
    path = folder / picture.name
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.image.save(path, "JPEG", quality=_QUALITY, subsampling=0, optimize=True)
    if picture.mask:
        row["mask"] = str(PurePosixPath("masks", picture.name).with_suffix(".png"))
        mask = folder / row["mask"]
        mask.parent.mkdir(parents=True, exist_ok=True)
        picture.mask.save(mask, "PNG")
    return row
