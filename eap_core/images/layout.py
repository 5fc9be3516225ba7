"""What the folders of images say: names in, roles, metadata and masks out.

Known are the tree of MVTec AD (train/good, test/<defect>, ground_truth/<defect>), the folders of
anomalib (normal, abnormal[/<defect>], mask) and roles by name (generated/<generator>, …), each also
below other folders. The names of files tell no generator or source: a metadata table does.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal

from eap_core.base.errors import DataError, FileError, escape_controls, list_names, quote
from eap_core.base.table import ROLES, Role, metadata_key
from eap_core.images.sources import GatheredFiles, ImageMember
from eap_core.readers.csv import CsvLayout as Text
from eap_core.readers.csv import find_dialect, read_rows, to_utf8
from eap_core.readers.files import ReadNotes

# The words people use for folders of images, in any case and with any of space, dash and dot.

Word = Literal["train", "test", "mask"] | Role

_WORDS: dict[Word, str] = {
    "train": "train training val valid validation",
    "test": "test testing",
    "mask": "mask masks ground_truth groundtruth ground_truths gt annotations_mask",
    "normal": "normal normals good ok nominal healthy defect_free no_defect normal_train",
    "anomaly": "anomaly anomalies anomalous abnormal bad defect defects defective ng nok not_ok "
    "faulty real_anomalies",
    "candidate": "candidate candidates synthetic synthetics synth generated generations fake fakes",
    "test_normal": "test_normal test_normals normal_test test_good good_test",
    "test_anomaly": "test_anomaly test_anomalies anomaly_test abnormal_test test_abnormal "
    "test_bad bad_test test_defect",
}
_MEANING = MappingProxyType(
    {name: word for word, names in _WORDS.items() for name in names.split()}
)


def look_up_word(folder: str) -> Word | None:
    """What a folder's name says of the images in it, if anything."""
    return _MEANING.get(re.sub(r"[\s\-.]+", "_", folder.strip().casefold()))


def as_role(word: Word | None) -> Role | None:
    """The role among the words."""
    return None if word == "train" or word == "test" or word == "mask" else word


# Which mask belongs to which image: by the folder's kind and the name without its ending.

_SUFFIXES = ("_mask", "-mask", "_gt")


@dataclass(frozen=True)
class FiledName:
    """A name taken apart at the first folder that means something."""

    name: str
    above: str
    word: Word | None
    below: tuple[tuple[str, Word | None], ...]

    @property
    def stem(self) -> str:
        """The name without folders and ending."""
        return PurePosixPath(self.name).stem.casefold()

    @property
    def below_role(self) -> Role | None:
        """The role that the folder right below the word names, if it does."""
        return as_role(self.below[0][1]) if self.below else None

    @property
    def kind(self) -> str:
        """The defect or generator: the folders below, without those that say something again."""
        return "/".join(folder.casefold() for folder, word in self.below if word is None)


def take_name_apart(name: str) -> FiledName:
    """A name taken apart; a folder of generated images decides wherever it stands."""
    folders = name.split("/")[:-1]
    words = [look_up_word(folder) for folder in folders]
    telling = [i for i, word in enumerate(words) if word is not None]
    if not telling:
        return FiledName(name, "/".join(folders), None, ())
    at = telling[0]
    if words[at] != "mask" and "candidate" in words:  # nothing generated may pass for real
        at = words.index("candidate")
    below = tuple(zip(folders[at + 1 :], words[at + 1 :], strict=True))
    return FiledName(name, "/".join(folders[: telling[0]]), words[at], below)


def attach_masks(files: Sequence[FiledName]) -> tuple[dict[str, str], list[str]]:
    """The mask of each image that has one, and the masks of no image."""
    found = _beside(files)
    taken = set(found.values())
    index = _index(file for file in files if file.word != "mask" and file.name not in taken)
    lone: list[str] = []
    for mask in (file for file in files if file.word == "mask"):
        owners = _owners(mask, index)
        if len(owners) == 1 and owners[0] not in found:
            found[owners[0]] = mask.name
        else:
            lone.append(mask.name)
    return found, lone


def _beside(files: Sequence[FiledName]) -> dict[str, str]:
    """Masks that lie beside their image: 001.png and 001_mask.png."""
    images: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file in files:
        images[_folder(file), file.stem].append(file.name)
    found: dict[str, str] = {}
    for file in files:
        bare = without_suffix(file.stem)
        owners = images.get((_folder(file), bare), []) if bare != file.stem else []
        if file.word != "mask" and len(owners) == 1:
            found[owners[0]] = file.name
    return found


def without_suffix(stem: str) -> str:
    """A mask's name without what marks it as a mask."""
    return next((stem.removesuffix(s) for s in _SUFFIXES if stem.endswith(s) and stem != s), stem)


def _folder(file: FiledName) -> str:
    return file.name.rpartition("/")[0]


Key = tuple[str, str | None, str]


def _index(images: Iterable[FiledName]) -> dict[Key, list[str]]:
    """Images that may have a mask by product, kind and stem, and by product and stem alone."""
    index: dict[Key, list[str]] = defaultdict(list)
    for image in images:
        if image.word is None:
            # No folder says where the product's name ends: any of them may be it.
            folders = image.above.split("/") if image.above else []
            for i in range(len(folders) + 1):
                index["/".join(folders[:i]), None, image.stem].append(image.name)
        elif "normal" not in (image.word, image.below_role) and image.word != "test_normal":
            index[image.above, image.kind, image.stem].append(image.name)
            index[image.above, None, image.stem].append(image.name)
    return index


def _owners(mask: FiledName, index: dict[Key, list[str]]) -> list[str]:
    """The images a mask fits; where it lies in no folder of a kind, any kind will do."""
    kinds = (mask.kind,) if mask.kind else ("", None)
    for stem in dict.fromkeys((mask.stem, without_suffix(mask.stem))):
        for kind in kinds:
            if owners := index.get((mask.above, kind, stem)):
                return owners
    return []


Kind = Literal["mvtec", "anomalib folder", "roles", "flat"]
_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Place:
    """What is known of one image by where it lies; a mask has no role of its own."""

    role: Role | None = None
    metadata: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    mask: bool = False


@dataclass(frozen=True)
class Layout:
    """The place of every name, and the mask of each image that has one."""

    kind: Kind
    places: Mapping[str, Place]
    masks: Mapping[str, str]
    notes: tuple[str, ...]


def recognise(names: Iterable[str]) -> Layout:
    """The layout that the names with their folders tell."""
    files = [take_name_apart(name) for name in names]
    masks, lone = attach_masks(files)
    of_masks = set(masks.values()) | set(lone)
    places = {
        file.name: Place(mask=True) if file.name in of_masks else _place(file) for file in files
    }
    kind = _kind(files)
    return Layout(
        kind,
        MappingProxyType(places),
        MappingProxyType(masks),
        tuple(_notes(kind, files, places, lone)),
    )


def _kind(files: list[FiledName]) -> Kind:
    words = {file.word for file in files}
    if words & {"train", "test"}:
        return "mvtec"
    if "candidate" in words:
        return "roles"
    return "anomalib folder" if words - {None, "mask"} else "flat"


def _place(file: FiledName) -> Place:
    role, metadata = _role_of_place(file), {}
    if role == "candidate":
        below = [folder for folder, word in file.below if word is None]
        metadata = dict(zip(("generator", "defect_type"), below, strict=False))
    elif role in ("anomaly", "test_anomaly") and file.below:
        metadata = {"defect_type": file.below[-1][0]}
    return Place(role, MappingProxyType(metadata) if metadata else _EMPTY)


def _role_of_place(file: FiledName) -> Role | None:
    if file.word == "train":
        return file.below_role
    if file.word == "test":
        if file.below_role == "normal":
            return "test_normal"
        return "anomaly" if file.below else None
    return as_role(file.word)


def _notes(
    kind: Kind, files: list[FiledName], places: Mapping[str, Place], lone: list[str]
) -> Iterable[str]:
    if kind == "mvtec" and any(
        file.word == "test" and places[file.name].role == "anomaly" for file in files
    ):
        yield (
            "the defects below test/ are taken as real anomalies, which scoring may learn from; "
            "give them the role test_anomaly to hold them out"
        )
    parents = Counter(file.above for file in files if file.word is not None)
    if len(parents) > 1:
        several = list_names([above or "(top)" for above in parents], 4)
        yield f"folders of several products are mixed: {several} — take one alone if that is wrong"
    unplaced = [name for name, place in places.items() if place.role is None and not place.mask]
    if kind != "flat" and unplaced:
        yield f"no folder says what {len(unplaced):,} images are: {list_names(unplaced, 3)}"
    if lone:
        yield f"{len(lone):,} masks belong to no image here: {list_names(lone, 3)}"


# What a metadata.csv beside the images says of them, as Hugging Face's ImageFolder has it.
#
# One row per image: a column with the file's name as seen from the table's folder, columns of
# metadata, and a role and a mask where wanted. It goes before the folders.

_FILE_COLUMNS = ("file_name", "filename", "file", "image", "image_file", "image_path", "path")


@dataclass(frozen=True)
class _Row:
    """What one line says of one image; names are still as written."""

    line: int
    file: str
    role: Role | None
    metadata: Mapping[str, str]
    mask: str | None


@dataclass
class _AppliedTable:
    """Places and masks as the tables leave them, and the names that nothing was found for."""

    places: dict[str, Place]
    masks: dict[str, str]
    told: Counter[str] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def layout_of(gathered: GatheredFiles) -> Layout:
    """What folders and metadata tables together say of the gathered images."""
    return with_metadata(recognise(gathered.names), gathered.tables)


def with_metadata(layout: Layout, tables: Sequence[ImageMember]) -> Layout:
    """The layout with what the tables say; a table that cannot be read is an error.

    It may say which images are generated, so that going on without it could take fakes for real.
    """
    if not tables:
        return layout
    applied = _AppliedTable(dict(layout.places), dict(layout.masks))
    known = _by_form(layout.places)
    for table in tables:
        _apply(table, known, applied)
    twice = [name for name, count in applied.told.items() if count > 1]
    if twice:
        applied.notes.append(
            f"metadata: the last of several lines counts for {list_names(twice, 3)}"
        )
    if applied.unknown:
        count = len(applied.unknown)
        applied.notes.append(
            f"metadata: {count:,} files are not here: {list_names(applied.unknown, 3)}"
        )
    return Layout(
        layout.kind,
        MappingProxyType(applied.places),
        MappingProxyType(applied.masks),
        (*layout.notes, *applied.notes),
    )


def _apply(table: ImageMember, known: Mapping[str, str], applied: _AppliedTable) -> None:
    folder = posixpath.dirname(table.name)
    for row in _rows(table, applied.notes):
        name = _find_member(row.file, folder, known)
        if name is None:
            applied.unknown.append(row.file)
            continue
        applied.told[name] += 1
        place = applied.places[name]
        metadata = MappingProxyType({**place.metadata, **row.metadata})
        applied.places[name] = replace(place, role=row.role or place.role, metadata=metadata)
        if row.mask is None:
            continue
        mask = _find_member(row.mask, folder, known)
        if mask is None:
            applied.unknown.append(row.mask)
            continue
        applied.masks[name] = mask
        applied.places[mask] = Place(mask=True)


def _rows(table: ImageMember, notes: list[str]) -> Iterator[_Row]:
    remarks = ReadNotes(quote(table.name)[1:-1])
    data = to_utf8(table.read(), remarks)
    text = Text(remarks.source, *find_dialect(data, remarks.source))
    columns = [column.strip().casefold() for column in text.header]
    at = next((columns.index(name) for name in _FILE_COLUMNS if name in columns), None)
    if at is None:
        raise FileError(
            f"has no column that names the images, only {list_names(list(text.header), 4)}",
            where=remarks.source,
            advice="add a column file_name",
        )
    keys = [None if i == at else _key(column) for i, column in enumerate(text.header)]
    for line, values in read_rows(data, text):
        cells = {
            key: escape_controls(cell.strip())
            for key, cell in zip(keys, values, strict=True)
            if key
        }
        role = _role_of_row(cells.pop("role", ""), line, remarks.source)
        mask = cells.pop("mask", "") or None
        yield _Row(line, values[at], role, {key: cell for key, cell in cells.items() if cell}, mask)
    notes.extend(remarks.notes + remarks.warnings)


def _key(column: str) -> str | None:
    """Under which name a column's cells are kept: the usual one, or its own."""
    own = escape_controls(column.strip())
    return "role" if own.casefold() == "role" else metadata_key(own) or own or None


def _role_of_row(text: str, line: int, source: str) -> Role | None:
    if not text:
        return None
    role = as_role(look_up_word(text))
    if role is None:
        raise DataError(
            f"{quote(text)} is no role — line {line:,}, column 'role'",
            where=source,
            advice=f"use {', '.join(ROLES)}",
        )
    return role


def _by_form(names: Iterable[str]) -> dict[str, str]:
    """Names by themselves and, where only one has it, by their Unicode form."""
    forms: dict[str, list[str]] = {}
    for name in names:
        forms.setdefault(_form(name), []).append(name)
    known = {form: found[0] for form, found in forms.items() if len(found) == 1}
    return known | {name: name for found in forms.values() for name in found}


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _find_member(written: str, folder: str, known: Mapping[str, str]) -> str | None:
    path = written.strip().replace("\\", "/")
    name = escape_controls(posixpath.normpath(posixpath.join(folder, path)))
    return known.get(name) or known.get(_form(name))
