"""Folders of images as rows: what the offline network says of each image by itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from eap_core.embed import EMBEDDERS, Cache, Source
from eap_core.embed.cache import key_of
from eap_core.embed.lite0 import Lite0
from eap_core.errors import DataError
from eap_core.images.decode import rgb_of
from eap_core.images.folder import gather_folder
from eap_core.images.layout import recognise
from eap_core.progress import Progress, silent
from eap_core.study.datasets import DataSet

_ANOMALOUS = {"normal": 0, "test_normal": 0, "anomaly": 1, "test_anomaly": 1}


@dataclass(frozen=True)
class _Image:
    source: Source
    anomalous: int


def with_rows(data: DataSet, folder: Path, progress: Progress = silent) -> DataSet:
    """The data set as a file of rows in the folder, made unless it is there.

    No row knows another image, so that the rows serve every split. Generated images are left out.
    """
    images = _images(data)
    key = key_of(*(f"{image.source.sha256} {image.anomalous}" for image in images))
    target = folder / f"{key[:24]}.npz"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        network = EMBEDDERS["fast"]
        assert isinstance(network, Lite0)
        sources = [image.source for image in images]
        rows = network.alone(sources, Cache(folder / "looked at"), progress)
        partial_file = target.with_suffix(".part.npz")
        np.savez(partial_file, X=rows, y=np.array([image.anomalous for image in images]))
        partial_file.replace(target)
    return replace(data, path=target, label=None)


def _images(data: DataSet) -> list[_Image]:
    gathered = gather_folder(data.path, data.name)
    places = recognise(gathered.names).places
    found = []
    for member in gathered.members:
        anomalous = _ANOMALOUS.get(places[member.name].role or "")
        if anomalous is not None:
            contents = member.read()
            opened = partial(rgb_of, data.path / member.name, member.name)
            found.append(_Image(Source(hashlib.sha256(contents).hexdigest(), opened), anomalous))
    if {image.anomalous for image in found} != {0, 1}:
        raise DataError(
            f"{data.name} does not hold both normal images and real anomalies — the study needs "
            "both; name their folders good and defect, or follow the tree of MVTec"
        )
    return found
