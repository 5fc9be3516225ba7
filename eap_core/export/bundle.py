"""Bundles in the store's folder: made, listed, deleted.

A bundle is ``exports/<project>/<name>.zip`` with ``<name>.json`` beside it, which holds its hash
and its manifest. The latter is written first: a ZIP that is there can always be described.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from eap_core.errors import DataError, EapError, shown
from eap_core.export.contents import Contents, contents
from eap_core.export.names import slug
from eap_core.export.request import Request
from eap_core.export.writing import PARTIAL, written_zip
from eap_core.progress import Progress, part_of, silent
from eap_core.store.blobs import whole_file
from eap_core.store.derived import exports_folder
from eap_core.store.failures import told_of_disk
from eap_core.store.store import Store

_DAY = 86_400


@dataclass(frozen=True, eq=False)
class Bundle:
    """A ZIP in the store's folder; its manifest without the list of files."""

    path: Path
    sha256: str
    size: int
    table: str
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def counts(self) -> Mapping[str, int]:
        found: Mapping[str, int] = self.manifest["selection"]["counts"]
        return found

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.manifest["created"])

    def read_table(self) -> bytes:
        """The candidates' table alone."""
        with told_of_disk("not read"), ZipFile(self.path) as archive:
            return archive.read(self.table)


def bundle(
    store: Store,
    project: str,
    request: Request,
    progress: Progress = silent,
    created: datetime | None = None,
) -> Bundle:
    """Make a bundle in the store's folder; the page and the command line both come here."""
    progress(0.0, "collecting what was decided")
    found = contents(store, project, request, created)
    folder = _folder(store, project)
    _sweep(folder)
    target = folder / f"{_name(found)}.zip"
    with written_zip(found.members, target, part_of(progress, 0.05, 1.0)) as sha256:
        _describe(target, sha256, found)
    return _described(target)


def bundles_of(store: Store, project: str) -> list[Bundle]:
    """The bundles of a project, latest first."""
    found = []
    for path in _folder(store, project).glob("*.zip"):
        with suppress(EapError, ValueError, KeyError):  # deleted meanwhile, or not made here
            found.append(_described(path))
    return sorted(found, key=lambda each: (each.created, each.name), reverse=True)


def bundle_named(store: Store, project: str, name: str) -> Bundle:
    """One of them."""
    for each in bundles_of(store, project):
        if each.name == name:
            return each
    raise DataError(f"there is no bundle {shown(name)} any more — make it again")


def delete(store: Store, project: str, name: str) -> None:
    """Delete a bundle; what it was made from stays."""
    found = bundle_named(store, project, name)
    with told_of_disk("not removed"):
        found.path.unlink(missing_ok=True)
        found.path.with_suffix(".json").unlink(missing_ok=True)


def _folder(store: Store, project: str) -> Path:
    folder = exports_folder(store.home, project)
    if folder is None:  # it may come from an address that anybody typed
        raise DataError(f"there is no project {shown(project)} — choose one from the list")
    return folder


def _name(found: Contents) -> str:
    """The project, the form and the moment; the rest keeps two of one second apart."""
    manifest = found.manifest
    moment = datetime.fromisoformat(manifest["created"])
    rest = found.member(found.names.manifest).sha256[:8]
    return f"{slug(found.project, 'bundle')}-{manifest['format']}-{moment:%Y%m%d-%H%M%S}-{rest}"


def _describe(target: Path, sha256: str, found: Contents) -> None:
    short = {key: value for key, value in found.manifest.items() if key != "files"}
    record = {"sha256": sha256, "table": found.names.table, "manifest": short}
    with whole_file(target.with_suffix(".json")) as file:
        file.write(json.dumps(record, ensure_ascii=False).encode())


def _described(path: Path) -> Bundle:
    with told_of_disk("not read"):
        record = json.loads(path.with_suffix(".json").read_bytes())
        size = path.stat().st_size
    return Bundle(path, record["sha256"], size, record["table"], record["manifest"])


def _sweep(folder: Path) -> None:
    """Delete what bundles that broke off left more than a day ago."""
    lone = [path for path in folder.glob("*.json") if not path.with_suffix(".zip").exists()]
    for left in (*lone, *folder.glob(f"{PARTIAL}*")):
        with suppress(OSError):  # another process may be faster, and nobody needs it
            if time.time() - left.stat().st_mtime > _DAY:
                left.unlink()
