"""Draws the image demo into assets/, together with the features that it would take long to compute.

Both archives hold the same bytes whenever they are made from the same program on the same machine.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import numpy as np

from eap_core.analysis import Plan
from eap_core.features import EMBEDDERS
from eap_core.project import InputFile
from eap_core.project.demos import FEATURES, PARTS
from eap_core.project.intake import take
from eap_core.project.problem import feature_cache, image_source
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.store import open_store
from tools.demo_images.tree import write_demo_images

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first moment that an archive can name


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pack(write_demo_images(folder / "parts"), PARTS, zipfile.ZIP_STORED)
        pack(_features(folder / "home"), FEATURES, zipfile.ZIP_DEFLATED)


def _features(home: Path) -> Path:
    """A cache of all that is known of every image, whichever role it has."""
    store = open_store(home)
    try:
        project = projects.create(store, "demo", "images").id
        take(store, project, [InputFile.at(PARTS)])
        items = items_of(store, project)
        EMBEDDERS[Plan().features].embed(
            [image_source(store, item) for item in items],
            np.array([item.role == "normal" for item in items]),
            feature_cache(store),
        )
        return feature_cache(store).folder
    finally:
        store.close()


def pack(folder: Path, archive: Path, compression: int) -> None:
    """The files of a folder, in the order of their names and without the time they were made."""
    with zipfile.ZipFile(archive, "w", compression) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            member = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _LONG_AGO)
            packed.writestr(member, path.read_bytes(), compression, compresslevel=9)


if __name__ == "__main__":
    main()
