"""A backup back into a store, as one new project: checked whole, then committed at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import IO, Any, Literal, get_args, get_origin, get_type_hints
from zipfile import BadZipFile, ZipInfo

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from eap_core.base.archive import (
    LongDirectoryError,
    PackedMember,
    ZipLimits,
    find_fault,
    place_members,
    read_directory,
    unpack_pieces,
)
from eap_core.base.errors import DataError, EapError, escape_controls, quote
from eap_core.base.progress import Progress, silent
from eap_core.base.table import ROLES
from eap_core.review import Decision
from eap_core.store import explain_disk_errors, is_hash, is_id, new_ids, state_digest
from eap_core.store.backup import (
    FORMAT,
    LONGEST_LINE,
    MANIFEST,
    MEMBER,
    MOST_BYTES,
    MOST_IN_ENTRY,
    MOST_IN_PROJECT,
    MOST_IN_THUMBNAIL,
    MOST_MEMBERS,
    MOST_RATIO,
    PROJECT,
    RATIO_FROM,
    ROWS,
    from_line,
    to_line,
)
from eap_core.store.cleanup import remove_unused
from eap_core.store.decisions import check_decisions
from eap_core.store.projects import Kind, Project, by_id, free_name
from eap_core.store.runs import make_portable
from eap_core.store.store import VERSION, Store, projects

# A backup read as what it is, a file from anywhere: names are never paths, sizes are counted.

_MOST_OF_LIST = 200 * MOST_MEMBERS  # bytes; an entry with its name takes some 150
_ANY_SIZE = ZipLimits()  # sizes are those of the manifest, judged with it


@dataclass(frozen=True)
class ArchiveMember:
    sha256: str
    size: int


@dataclass(frozen=True)
class Archive:
    """An open backup whose list of contents was checked, but not yet the contents."""

    file: IO[bytes]
    places: Mapping[str, PackedMember]
    members: Mapping[str, ArchiveMember]
    about: Mapping[str, Any]

    @property
    def originals(self) -> list[str]:
        return [name[-64:] for name in self.members if name.startswith("originals/")]

    @property
    def thumbnails(self) -> list[str]:
        return [name[-64:] for name in self.members if name.startswith("thumbnails/")]

    def verify_rows(self) -> None:
        """Read every member that holds rows to its end, which compares its hash."""
        for name in ROWS:
            for _ in self.parts(name):
                pass

    def parts(self, name: str) -> Iterator[bytes]:
        """A member in pieces; an error, at the end at the latest, if it is not as stated."""
        return _check_parts(self.file, self.places[name], name, self.members[name])

    def lines(self, name: str) -> Iterator[bytes]:
        """A member line by line."""
        rest = bytearray()
        for part in self.parts(name):
            rest += part
            if len(rest) > LONGEST_LINE:
                raise _explain_damage("a line is too long")
            if b"\n" in part:
                *whole, rest = rest.split(b"\n")
                yield from map(bytes, whole)
        if rest:
            raise _explain_damage("the last line is cut off")


@contextmanager
def open_archive(file: Path) -> Iterator[Archive]:
    """A backup whose members are those its manifest states."""
    try:
        with explain_disk_errors("not restored"), file.open("rb") as opened:
            yield _archive(opened, file.stat().st_size)
    except LongDirectoryError as error:
        raise _explain_damage("its list of members is not plausible") from error
    except BadZipFile as error:
        raise _explain_damage("it is no whole ZIP file") from error


def _archive(file: IO[bytes], packed: int) -> Archive:
    directory = read_directory(file, _MOST_OF_LIST)
    infos = directory.entries
    names = {info.filename for info in infos}
    if len(names) != len(infos) or len(infos) > MOST_MEMBERS:
        raise _explain_damage("its list of members is not plausible")
    for info in infos:
        _check_member(info)
    places = dict(zip((info.filename for info in infos), place_members(directory), strict=True))
    members = _manifest(file, places)
    _check_sizes(members, packed)
    if names != {*members, MANIFEST} or not {PROJECT, *ROWS} <= names:
        raise _explain_damage("members are missing or too many")
    parts = _check_parts(file, places[PROJECT], PROJECT, members[PROJECT])
    about = _object(b"".join(parts), PROJECT)
    _check_about(about)
    return Archive(file, places, members, about)


def _check_member(info: ZipInfo) -> None:
    if not MEMBER.fullmatch(info.filename):
        raise _explain_damage(f"{quote(info.filename)} does not belong into it")
    if find_fault(info, _ANY_SIZE) is not None:
        raise _explain_damage(f"{quote(info.filename)} is packed in an unknown way")


def _check_sizes(members: Mapping[str, ArchiveMember], packed: int) -> None:
    """Refuse what would fill disk or memory; no member can become larger than stated."""
    for name, member in members.items():
        most = MOST_IN_THUMBNAIL if name.startswith("thumbnails/") else MOST_BYTES
        if member.size > (MOST_IN_PROJECT if name == PROJECT else most):
            raise _explain_damage(f"{quote(name)} is too large")
    total = sum(member.size for member in members.values())
    if total > min(MOST_BYTES, max(RATIO_FROM, MOST_RATIO * packed)):
        raise _explain_damage("it claims to be larger than any project")


def _manifest(file: IO[bytes], places: Mapping[str, PackedMember]) -> dict[str, ArchiveMember]:
    if MANIFEST not in places:
        raise _explain_damage("it has no manifest")
    most = MOST_IN_ENTRY * len(places)
    stated = _object(b"".join(_limit_member(file, places[MANIFEST], MANIFEST, most)), MANIFEST)
    return {name: _member(entry) for name, entry in stated.items()}


def _member(entry: object) -> ArchiveMember:
    match entry:
        case {"sha256": str(sha256), "size": int(size)} if size >= 0:
            return ArchiveMember(sha256, size)
    raise _explain_damage(f"the manifest holds {quote(entry)}")


def _check_about(about: Mapping[str, Any]) -> None:
    if about.get("format") != FORMAT:
        raise _explain_damage("it is of another kind")
    version = about.get("schema_version")
    if version != VERSION:
        raise DataError(
            f"the backup has the format {quote(version)}, known is {VERSION}",
            advice="use the version of this program that made it, or a newer one",
        )


def _check_parts(
    file: IO[bytes], place: PackedMember, name: str, member: ArchiveMember
) -> Iterator[bytes]:
    digest, size = hashlib.sha256(), 0
    for part in _limit_member(file, place, name, member.size):
        digest.update(part)
        size += len(part)
        yield part
    if size != member.size or digest.hexdigest() != member.sha256:
        raise _explain_damage(f"{quote(name)} was altered")


def _limit_member(file: IO[bytes], place: PackedMember, name: str, most: int) -> Iterator[bytes]:
    """What a member inflates to, given up as soon as it is more than stated."""
    size = 0
    for part in unpack_pieces(file, place):
        size += len(part)
        if size > most:
            raise _explain_damage(f"{quote(name)} is larger than stated")
        yield part


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _explain_damage(f"{name} cannot be read")
    return found


def _explain_damage(why: str) -> DataError:
    return DataError(
        f"not restored: the file is no sound backup ({why})",
        advice="use another copy",
    )


# What the JSON in a backup's rows must hold, so that nothing that reads it later can stumble.
#
# A function for each table names the first value that the program could not use, or None.

Fields = Mapping[str, Any]
Shape = Mapping[str, type | tuple[type, ...]]
_ABSENT = ()
_TAKEN: Shape = {"counts": dict, "skipped": list, "notes": list, "warnings": list}
_TABLE: Shape = {
    **{"reading": dict, "source": str, "columns": list, "texts": list, "categorical": list},
    **{"missing": str, "digest": str},
}
_BESIDE_PLAN: Shape = {"notes": list, "warnings": list}
_OF_CLIP = ("clip_model", "weights", "int8")  # of a plan; an older program said nothing of it
_ONCE_IN_FACTS: Shape = {"perceptual": str}  # an earlier version hashed how images look


@cache
def _shape_of(kind: type) -> Shape:
    """The fields of a dataclass with the types that JSON has for them."""
    hints = get_type_hints(kind)
    return {each.name: _types_of(hints[each.name]) for each in fields(kind)}


def _types_of(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) is UnionType:
        return tuple(one for part in get_args(hint) for one in _types_of(part))
    if get_origin(hint) is Literal:
        return tuple({type(value) for value in get_args(hint)})
    if is_dataclass(hint):
        return (dict,)
    kind: type = get_origin(hint) or hint
    return {float: (int, float), tuple: (list,)}.get(kind, (kind,))


def upload_lacks(row: Fields) -> str | None:
    details = row["details"]
    wrong = _lacking(details, _TAKEN if row["kind"] != "table" else {**_TAKEN, **_TABLE})
    if wrong is None and not all(_pair(each) for each in details["skipped"]):
        wrong = "skipped"
    if wrong is None and row["kind"] == "table":
        wrong = None if is_hash(details["digest"]) else "digest"
    if wrong is None and row["kind"] in ("table", "features"):
        wrong = _reading_lacks(row)
    return wrong and f"uploads.details.{wrong}"


def item_lacks(row: Fields, kind: str) -> str | None:
    """``kind`` is that of the upload."""
    from eap_core.images.decode import ImageFacts  # slow to import

    if not isinstance(row["metadata"], dict):
        return "items.metadata"
    if kind != "images":
        return None if isinstance(row["facts"], dict) else "items.facts"
    if row["sha256"] is None:
        return "items.sha256"
    facts = row["facts"]
    shape = {
        **_shape_of(ImageFacts),
        **{key: kind for key, kind in _ONCE_IN_FACTS.items() if key in facts},
    }
    wrong = _lacking(facts, shape, alone=True)
    return wrong and f"items.facts.{wrong}"


def run_lacks(row: Fields) -> str | None:
    from eap_core.analysis import Plan  # slow to import

    found = row["settings"]
    shape = {**_shape_of(Plan), **_BESIDE_PLAN}
    if isinstance(found, dict):
        shape = {key: kind for key, kind in shape.items() if key in found or key not in _OF_CLIP}
    wrong = _lacking(found, shape) or _misfit(found)
    if wrong is None and not _makes(Plan.from_record, {"record": found}):
        wrong = "settings"
    if wrong is not None:
        return f"runs.settings.{wrong}"
    if not isinstance(row["candidates"], list):
        return "runs.candidates"
    return None if all(_finding(each) for each in row["findings"]) else "runs.findings"


def _reading_lacks(row: Fields) -> str | None:
    from eap_core.readers.files import Reading  # slow to import

    given = row["details"].get("reading")
    if row["sha256"] is None or not isinstance(given, dict):
        return "reading"
    lists = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return None if _makes(Reading, lists) else "reading"


def _lacking(found: object, shape: Shape, *, alone: bool = False) -> str | None:
    """The first key that is absent or of another type; ``alone`` allows no further keys."""
    if not isinstance(found, dict):
        return "*"
    wrong = [key for key, kind in shape.items() if not isinstance(found.get(key, _ABSENT), kind)]
    return next(iter([*wrong, *(found.keys() - shape.keys() if alone else ())]), None)


def _misfit(found: Fields) -> str | None:
    """The name of a model or of its weights that nobody could have given."""
    texts = ((key, found.get(key) or "") for key in ("clip_model", "weights"))
    return next((key for key, text in texts if escape_controls(text) != text), None)


def _pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _finding(record: object) -> bool:
    from eap_core.health import Finding, Severity  # slow to import

    if not isinstance(record, dict) or _lacking(record, _shape_of(Finding), alone=True) is not None:
        return False
    found = Finding.from_record(record)
    return found.severity in get_args(Severity) and all(isinstance(w, str) for w in found.where)


def _makes(kind: Callable[..., object], given: Mapping[str, Any]) -> bool:
    try:
        kind(**given)
    except (TypeError, ValueError):
        return False
    return True


# Rows of a backup made fit for this store: own ids, references only to one another.

Row = dict[str, Any]


@dataclass(frozen=True)
class RowRestorer:
    """What is known while the rows of one backup come in: which ids, files and chains of undos."""

    project: str
    renew: bool
    files: frozenset[str]
    new_id: dict[tuple[str, str], str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # of uploads
    present: list[tuple[datetime, str, str]] = field(default_factory=list)  # uploads: old, new id
    lengths: dict[str, int] = field(default_factory=dict)  # of a run's scores
    decided: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # uuid: item, root

    def take(self, table: str, old: str) -> str:
        """The id that a row of the backup gets here."""
        new = new_ids(1)[0] if self.renew else check_id(old)
        if self.new_id.setdefault((table, old), new) != new:
            raise _explain_row(f"the id {quote(old)} is there twice")
        return new

    def named(self, table: str, old: str) -> str:
        """The id of a row that came earlier."""
        try:
            return self.new_id[table, old]
        except (KeyError, TypeError):
            raise _explain_row(f"{quote(old)} is named, but not in {table}") from None

    @cached_property
    def states(self) -> tuple[str, str]:
        """What the project held as its digest there and here; when all uploads have come in."""
        old = sorted((added, old) for added, old, _ in self.present)
        new = sorted((added, new) for added, _, new in self.present)
        return state_digest(each for _, each in old), state_digest(each for _, each in new)

    def file(self, sha256: str | None) -> str | None:
        if sha256 is not None and sha256 not in self.files:
            raise _explain_row(f"the file {quote(sha256)} is not in it")
        return sha256


def _upload(row: Row, known: RowRestorer) -> Row:
    _refuse(upload_lacks(row))
    upload = known.take("uploads", row["id"])
    known.kinds[upload] = row["kind"]
    if row["removed_at"] is None:
        known.present.append((row["added"], row["id"], upload))
    return row | {"id": upload, "sha256": known.file(row["sha256"])}


def _item(row: Row, known: RowRestorer) -> Row:
    if row["role"] not in ROLES:
        raise _explain_row(f"{quote(row['role'])} is no role")
    known.file(row["sha256"]), known.file(row["mask"])
    upload = known.named("uploads", row["upload"])
    _refuse(item_lacks(row, known.kinds[upload]))
    return row | {"id": known.take("items", row["id"]), "upload": upload}


def _run(row: Row, known: RowRestorer) -> Row:
    if row["status"] not in ("running", "finished", "failed", "cancelled"):
        raise _explain_row(f"{quote(row['status'])} is no state of a run")
    _refuse(run_lacks(row))
    run = known.take("runs", row["id"])
    candidates = [known.named("items", item) for item in row["candidates"]]
    known.lengths[run] = len(candidates)
    there, here = known.states
    settings = make_portable(row["settings"])
    if settings.get("state") == there:  # or a copy would say that its data changed
        settings = {**settings, "state": here}
    return row | {"id": run, "job": None, "candidates": candidates, "settings": settings}


def _scores(row: Row, known: RowRestorer) -> Row:
    run = known.named("runs", row["run"])
    if len(row["values"]) != 8 * known.lengths[run]:
        raise _explain_row(f"the scores {quote(row['name'])} are cut off")
    return row | {"run": run}


def _decision(row: Row, known: RowRestorer) -> Row:
    item = known.named("items", row["item"])
    drafted = {name: row[name] for name in ("uuid", "verdict", "reviewer", "reason", "note")}
    check_decisions(Decision(**drafted, item=item, batch=row["batch"], undo_of=row["undo_of"]))
    root = None
    if row["undo_of"] is not None:
        undone, above = known.decided.get(row["undo_of"], (None, None))
        if undone != item:
            raise _explain_row(f"{quote(row['uuid'])} undoes what is not there")
        root = above or row["undo_of"]
    known.decided[row["uuid"]] = item, root
    return row | {"item": item, "root": root}


FIT: Mapping[str, Callable[[Row, RowRestorer], Row]] = MappingProxyType(
    {"uploads": _upload, "items": _item, "runs": _run, "scores": _scores, "decisions": _decision}
)


def fit_row(table: str, row: Row, known: RowRestorer) -> Row:
    """The row as it is inserted."""
    ready = FIT[table](row, known)
    return ready | {"project": known.project} if "project" in row else ready


def check_id(old: str) -> str:
    """The id, unless it is none of this program's: it becomes the name of files and folders."""
    if not is_id(old):
        raise _explain_row(f"{quote(old)} is no id")
    return old


def _refuse(lacking: str | None) -> None:
    if lacking is not None:
        raise _explain_row(f"{quote(lacking)} is not what this program writes")


def _explain_row(why: str) -> DataError:
    return DataError(
        f"not restored: the file is no sound backup ({why})",
        advice="use another copy",
    )


_ROWS_AT_ONCE, _BYTES_AT_ONCE = 2_000, 8 * 2**20
_THUMBNAIL_SIDE = 1_024


def restore(
    store: Store, file: Path, name: str | None = None, progress: Progress = silent
) -> Project:
    """Make a project from a backup.

    It keeps its ids if this store does not have the project; otherwise it becomes a second project
    with new ids throughout. Either way the log keeps its uuids and its order, which are unique
    within a project only.
    """
    with open_archive(file) as archive:
        archive.verify_rows()
        new = [sha256 for sha256 in archive.originals if not store.blobs.has(sha256)]
        try:
            _put_files(store, archive, progress)
            with store.writing() as connection:
                project = _put_rows(connection, archive, name)
                _refuse_lost_files(store, archive)
        except BaseException as error:
            with suppress(EapError):  # files too many do no harm; what went wrong is told
                remove_unused(store, new)
            if isinstance(error, IntegrityError):
                raise DataError(
                    "not restored: the backup's rows contradict one another, or have ids that "
                    "other projects use",
                    advice="use another copy",
                ) from error
            raise
    progress(1.0, "restoring")
    return by_id(store, project)


def _put_files(store: Store, archive: Archive, progress: Progress) -> None:
    originals = archive.originals
    for number, sha256 in enumerate(originals):
        progress(number / len(originals), "restoring")
        store.blobs.put_pieces(archive.parts(f"originals/{sha256}"), sha256)
    for sha256 in set(archive.thumbnails) & set(originals):
        if not store.blobs.thumbnail_path(sha256).is_file():  # the store trusts its own more
            data = b"".join(archive.parts(f"thumbnails/{sha256}"))
            if _is_thumbnail(data):  # what is none can be remade
                store.blobs.put_thumbnail(sha256, data)


def _is_thumbnail(data: bytes) -> bool:
    from eap_core.images.decode import (
        format_of,
        rgb_of,  # slow to import
    )

    try:
        return format_of(data) in ("WebP", "PNG") and max(rgb_of(data).size) <= _THUMBNAIL_SIDE
    except DataError:
        return False


def _put_rows(connection: Connection, archive: Archive, name: str | None) -> str:
    row = from_line(projects, to_line({c.name: archive.about.get(c.name) for c in projects.c}))
    if row["kind"] not in get_args(Kind):
        raise DataError(f"not restored: {quote(row['kind'])} is no kind of project")
    own = check_id(row["id"])
    taken = connection.execute(select(projects.c.id).filter_by(id=own)).first() is not None
    project = new_ids(1)[0] if taken else own
    fitted: dict[str, str | None] = {
        "id": project,
        "name": free_name(connection, name or row["name"]),
    }
    fitted |= {"binned_at": None, "current_run": None}
    connection.execute(projects.insert().values(row | fitted))
    known = RowRestorer(project, taken, frozenset([*archive.originals, *_missing(archive)]))
    for member, table in ROWS.items():
        for lines in _parts(archive.lines(member)):
            rows = [fit_row(table.name, from_line(table, line), known) for line in lines]
            connection.execute(table.insert(), rows)
    if row["current_run"] is not None:
        current = known.named("runs", row["current_run"])
        connection.execute(projects.update().filter_by(id=project).values(current_run=current))
    return project


def _missing(archive: Archive) -> list[str]:
    """Files the store had lost before the backup was made: rows may name them."""
    found = archive.about.get("missing")
    stated = [str(sha256) for sha256 in found] if isinstance(found, list) else []
    return [sha256 for sha256 in stated if is_hash(sha256)]


def _refuse_lost_files(store: Store, archive: Archive) -> None:
    if not all(store.blobs.has(sha256) for sha256 in archive.originals):
        raise DataError("not restored: files were deleted meanwhile", advice="try again")


def _parts(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Some lines at a time, and no more than memory should hold as rows."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if len(part) == _ROWS_AT_ONCE or size > _BYTES_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part
