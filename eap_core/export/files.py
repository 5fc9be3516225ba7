"""A bundle's files: the curated table, the images by name and the tables that tell of them, their
hashes, and a ZIP or folder that is whole or not there.

The table has one row per candidate, with what was decided and what its score rests on.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from eap_core.base.errors import DataError
from eap_core.base.files import PARTIAL, csv_text, sync_folder, whole_file
from eap_core.base.progress import Progress, part_of, silent
from eap_core.base.table import KEYS, free_name
from eap_core.export import IntoTest, LayoutFolders, PlacedImage, Placement
from eap_core.export.request import ExportSelection, ExportSource
from eap_core.images.decode import format_of
from eap_core.project.results import EXPORTED_COLUMNS
from eap_core.review import REASONS, UNTOUCHED
from eap_core.store import Blobs, explain_disk_errors, pieces
from eap_core.store.items import Item

if TYPE_CHECKING:
    import pandas as pd


# The files of a bundle: what each holds is known, with its hash, before the first is written.

_HEAD_BYTES = 16


@dataclass(frozen=True)
class BundleMember:
    """A file by its path in the bundle: bytes made here, or an original of the store."""

    path: str
    size: int
    sha256: str
    data: bytes | None = None
    source: Path | None = None

    @classmethod
    def made(cls, path: str, data: bytes) -> BundleMember:
        return cls(path, len(data), hashlib.sha256(data).hexdigest(), data)

    @property
    def record(self) -> dict[str, str | int]:
        return {"sha256": self.sha256, "size": self.size}

    def parts(self) -> Iterator[bytes]:
        """The content in pieces; refused at the end if it is not what was stored."""
        if self.source is None:
            yield self.data or b""
            return
        digest = hashlib.sha256()
        with self.source.open("rb") as file:
            for part in pieces(file):
                digest.update(part)
                yield part
        if digest.hexdigest() != self.sha256:
            raise DataError(
                f"the stored file {self.sha256[:12]}… was altered on the disk",
                advice="restore a backup or upload it again",
            )


@dataclass(frozen=True)
class OriginalFile:
    """A file of the store before it has a place: its size and how it begins."""

    sha256: str
    source: Path
    size: int
    head: bytes

    def at(self, path: str) -> BundleMember:
        return BundleMember(path, self.size, self.sha256, source=self.source)


def read_original(blobs: Blobs, sha256: str) -> OriginalFile:
    """An original, or the sentence that it is missing."""
    path = blobs.path(sha256)
    try:
        with path.open("rb") as file:
            return OriginalFile(sha256, path, path.stat().st_size, file.read(_HEAD_BYTES))
    except FileNotFoundError:
        blobs.verified(sha256)  # says so
        raise


_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same bundle has the same bytes, whenever it is made
_PACKED = (".csv", ".json", ".md", ".bmp")  # the others are packed already
_UNIX, _RIGHTS = 3, 0o100644 << 16


@contextmanager
def write_zip(
    members: Sequence[BundleMember], target: Path, progress: Progress = silent
) -> Iterator[str]:
    """Write a ZIP and give its SHA-256; it gets its name when the block ends without an error."""
    with explain_disk_errors(), whole_file(target) as file:
        with ZipFile(file, "w", allowZip64=True) as archive:
            for member in _report_members(members, part_of(progress, 0.0, 0.9)):
                _write(archive, member)
        yield _sha256(file, part_of(progress, 0.9, 1.0))


def write_folder(
    members: Sequence[BundleMember], target: Path, progress: Progress = silent
) -> None:
    """Write a new folder, all of it on the disk before it gets its name."""
    with explain_disk_errors():
        partial = Path(mkdtemp(prefix=PARTIAL, dir=target.parent))
        try:
            for member in _report_members(members, progress):
                path = partial / member.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    for part in member.parts():
                        file.write(part)
                    file.flush()
                    os.fsync(file.fileno())
            for folder in (partial, *(path for path in partial.rglob("*") if path.is_dir())):
                sync_folder(folder)
            partial.chmod(0o755)
            partial.rename(target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write_files(files: Sequence[tuple[Path, BundleMember]]) -> None:
    """Write single files, each whole; the last tells of the others, so that it is only there when
    they are: its old one goes before any is replaced, the new one comes when all have been."""
    with explain_disk_errors(), ExitStack() as stack:
        for path, member in reversed(files):  # they get their names in the opposite order
            file = stack.enter_context(whole_file(path))
            for part in member.parts():
                file.write(part)
            file.flush()  # a full disk is told before anything is replaced
        files[-1][0].unlink(missing_ok=True)
        sync_folder(files[-1][0].parent)


def _report_members(members: Sequence[BundleMember], progress: Progress) -> Iterator[BundleMember]:
    """The members in turn, with the share of bytes before each reported."""
    total = sum(member.size for member in members) or 1
    done = 0
    for member in members:
        progress(done / total, "writing the bundle")
        yield member
        done += member.size
    progress(1.0, "writing the bundle")


def _write(archive: ZipFile, member: BundleMember) -> None:
    info = ZipInfo(member.path, _NO_TIME)
    info.compress_type = ZIP_DEFLATED if member.path.endswith(_PACKED) else ZIP_STORED
    info.create_system, info.external_attr = _UNIX, _RIGHTS
    info.file_size = member.size  # tells whether the large form of a member is needed
    with archive.open(info, "w") as file:
        for part in member.parts():
            file.write(part)


def _sha256(file: BinaryIO, progress: Progress) -> str:
    digest, total = hashlib.sha256(), file.tell() or 1
    file.seek(0)
    for part in pieces(file):
        progress(min(1.0, file.tell() / total), "checking the bundle")
        digest.update(part)
    return digest.hexdigest()


# Names inside a bundle: safe on every system, never a name that somebody else chose as it is.

_LONGEST = 60
_ENDINGS = MappingProxyType(
    {"PNG": ".png", "JPEG": ".jpg", "BMP": ".bmp", "TIFF": ".tif", "WebP": ".webp"}
)
_HEAD = 16  # bytes that tell a format
# Readers take "good" for normal, and a real kind must not look like a synthetic one.
_TAKEN = re.compile(r"good|synthetic.*")
# Windows makes no file or folder of such a name.
_DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


@dataclass(frozen=True)
class Names:
    """What the candidates' table and its papers are called."""

    table: str
    card: str
    manifest: str

    @classmethod
    def inside(cls, ending: str) -> Names:
        """In a ZIP or folder of their own."""
        return cls(f"candidates.{ending}", "README.md", "manifest.json")

    @classmethod
    def beside(cls, table: str) -> Names:
        """Among other files, where each table has papers of its own."""
        return cls(table, f"{table}.README.md", f"{table}.manifest.json")


def slug(text: str, otherwise: str) -> str:
    """ASCII letters, digits, dash and underscore in lower case, of a moderate length."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:_LONGEST].rstrip("_") or otherwise
    return f"{name}_{otherwise}" if _DEVICES.fullmatch(name) else name


def stem_of(name: str) -> str:
    """What is kept of a file's own name, behind the number that makes it unique."""
    return slug(PurePosixPath(name.replace("\\", "/")).stem, "image")


def kind_folders(kinds: Iterable[str]) -> dict[str, str]:
    """A folder for each kind of defect; two kinds never share one."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for kind in sorted(set(kinds)):
        name = slug(kind, "defect")
        name = f"kind_{name}" if _TAKEN.fullmatch(name) else name
        free, number = name, 1
        while free in used:
            number += 1
            free = f"{name}_{number}"
        used.add(free)
        found[kind] = free
    return found


def ending_of(head: bytes) -> str:
    """The ending that the content asks for, whatever the file was called."""
    return _ENDINGS.get(format_of(head[:_HEAD]) or "", ".bin")


def curate_table(
    source: ExportSource,
    selection: ExportSelection,
    rows: list[str],
    split: str,
    files: Mapping[str, str],
) -> pd.DataFrame:
    """The rows in their order; ``files`` are the paths of images in the bundle by item."""
    import pandas as pd  # slow to import

    items = {item.id: item for item in source.items["candidate"]}
    own = [items[row] for row in rows]
    frame = pd.DataFrame(
        {
            "id": _texts(item.name for item in own),
            "file": _texts(files.get(row, "") for row in rows),
            "sha256": _texts(item.sha256 or "" for item in own),
            **_decisions(source, selection, rows),
            **_scores(source, rows),
            "run": _texts(source.run.id for _ in rows),
        }
    )
    for name, values in _metadata(own).items():
        frame[free_name(name, {*frame, "synthetic", "split"}.__contains__)] = _texts(values)
    frame["synthetic"] = True
    frame["split"] = _texts(split for _ in rows)
    return frame


def write_parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def write_csv(frame: pd.DataFrame) -> bytes:
    return csv_text(frame).encode()


def _decisions(source: ExportSource, selection: ExportSelection, rows: list[str]) -> dict[str, Any]:
    states = [source.states.get(row, UNTOUCHED) for row in rows]
    decided = [state if state.decided else UNTOUCHED for state in states]
    return {
        "decision": _texts(selection.settled[row].outcome for row in rows),
        "decided_by": _texts(selection.settled[row].by for row in rows),
        "reason": _texts(REASONS[state.reason] if state.reason else "" for state in decided),
        "note": _texts(state.note for state in decided),
        "reviewer": _texts(state.reviewer or "" for state in decided),
        "decided_at": _texts(state.at.isoformat() if state.at else "" for state in decided),
        "flagged": [state.flagged for state in states],
    }


def _scores(source: ExportSource, rows: list[str]) -> dict[str, Any]:
    """The score with its parts first, then every other number that the run has."""
    known = source.frame.set_index("item").reindex(rows)
    numbers = [str(name) for name in known if known[name].dtype.kind in "iuf"]
    first = [name for name in EXPORTED_COLUMNS if name in numbers or name == "category"]
    found = {name: known[name].reset_index(drop=True) for name in dict.fromkeys(first + numbers)}
    found["rank"] = found["rank"].astype("Int64")  # a whole number also beside gaps
    found["category"] = found["category"].fillna("")
    return found


def _metadata(items: Sequence[Item]) -> dict[str, list[str]]:
    """What people said of the candidates; the names that everybody knows come first."""
    keys = dict.fromkeys(key for item in items for key in item.metadata)
    ordered = [key for key in KEYS if key in keys] + [key for key in keys if key not in KEYS]
    return {key: [str(item.metadata.get(key, "")) for item in items] for key in ordered}


def _texts(values: Iterable[str]) -> pd.Series:
    import pandas as pd

    return pd.Series(list(values), dtype="str")  # also where there is not a single row


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
_METADATA_SCORES = EXPORTED_COLUMNS[:2]
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
    for name in _METADATA_SCORES:
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
