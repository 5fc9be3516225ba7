"""A table's file before it is read: its name, its kind, its limits, and how it is to be read."""

from __future__ import annotations

import codecs
import stat
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, get_args

from eap_core.base.archive import STARTS
from eap_core.base.errors import DataError, FileError, SettingsError, list_names, quote
from eap_core.base.files import neutralise, restore_text
from eap_core.base.table import Floats, Missing

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TableFile:
    """Where the bytes are, and the name that messages, made ids and the ending come from."""

    path: Path
    name: str

    @property
    def source(self) -> str:
        """The name as messages show it: without folders, escaped and cut."""
        return quote(self._last.name or self.name)[1:-1]

    @property
    def stem(self) -> str:
        """The name without its ending, as ids may hold it."""
        stem = self._last.stem
        return stem if stem.isprintable() else quote(stem)[1:-1]

    @property
    def ending(self) -> str:
        return self._last.suffix.lower()

    @property
    def _last(self) -> PurePosixPath:
        return PurePosixPath(self.name)


# How large a table may be; every reader checks these before it reads a file in full.

MAX_BYTES = 2 * 1024**3
MAX_ROWS = 5_000_000
MAX_COLUMNS = 10_000
MAX_CELLS = 250_000_000  # 2 GB of float64: a small compressed file can stand for far more
MAX_NAME = 200
LONG_CELL = 100_000
MAX_TEXT = 1024**3  # in one column of a compressed file

# Archives: zeros deflate 1000:1, measured tables hardly 20:1, though a real one of mostly zeros
# (InternetAds, 24 MB) 314:1. Small arrays harm nobody.
MAX_MEMBERS = 1_000
MAX_DIRECTORY = 1024**2  # bytes that list the members
MAX_RATIO = 200
RATIO_COUNTS_FROM = 64 * 1024**2


def explain_excess(rows: int, columns: int) -> str | None:
    """What about a table of this size is over the limit, if anything."""
    if rows > MAX_ROWS:
        return f"{rows:,} rows; limit is {MAX_ROWS:,} rows"
    if columns > MAX_COLUMNS:
        return f"{columns:,} columns; limit is {MAX_COLUMNS:,} columns"
    if rows * columns > MAX_CELLS:
        return f"{rows:,} rows × {columns:,} columns; limit is {MAX_CELLS:,} values"
    return None


# Which kind of file this is: by an allow-list of names and by its first bytes.

_HEAD, _TAIL = 4_096, 65_536
_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "Parquet file",
    ".npz": "ZIP archive",
    ".npy": "NumPy array",
}
_ACCEPTED_KINDS = "use .csv, .tsv, .txt, .parquet, .npz or .npy"
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"  # with which such files begin
_SIGNATURES = (
    (PNG, "PNG image"),
    (JPEG, "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel workbook"),
    (b"PAR1", "Parquet file"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n", "HDF5 file"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x1f\x8b\x08", "gzip archive"),
    (b"\x7fELF", "program"),
)
_WORKBOOK = b"xl/workbook"
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")
_ADVICE = {
    "Excel workbook": "save it as CSV",
    "gzip archive": "unpack it first",
    "Parquet file": "rename it to .parquet",
    "NumPy array": "rename it to .npy",
}


def check_kind(file: TableFile) -> str:
    """The allowed ending of a file whose first bytes do not contradict it."""
    source, suffix = file.source, file.ending
    size = _size(file.path, source)
    kind = guess_kind(*_ends(file.path, source, size)) if size else None
    if suffix not in _KINDS:
        hint = f" and looks like {_article(kind)}" if kind else ""
        advice = "save it as CSV" if kind == "Excel workbook" else _ACCEPTED_KINDS
        raise DataError(
            f"the type {quote(suffix)} is not accepted{hint}",
            where=source,
            advice=advice,
        )
    if not size:
        raise FileError("is empty (0 bytes)", where=source, advice="export it again")
    expected = _KINDS[suffix]
    if (kind or "text") != expected:
        found = f"looks like {_article(kind)}" if kind else f"is not {_article(expected)}"
        raise FileError(
            found,
            where=source,
            advice=_ADVICE.get(kind or "", _ACCEPTED_KINDS),
        )
    return suffix


def guess_kind(head: bytes, tail: bytes) -> str | None:
    """The kind of file that starts with ``head`` and ends with ``tail``; None may be text."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head.startswith(STARTS):
        # Of three bytes alone, as in "xl/", packed numbers hold every combination.
        return "Excel workbook" if _WORKBOOK in head + tail else "ZIP archive"
    # MZ is also what a spectrometer calls its first column, so the NUL of a program decides.
    if head.startswith(b"MZ") and b"\x00" in head[:64]:
        return "program"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        return "HTML page"
    return None


def _article(kind: str | None) -> str:
    return f"{'an' if kind in ('Excel workbook', 'HTML page', 'HDF5 file') else 'a'} {kind}"


def _size(path: Path, source: str) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise FileError(
            f"cannot be opened — {_reason(error)}",
            where=source,
            advice="check its name",
        ) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise FileError(f"is {kind}", where=source, advice=f"name a file: {_ACCEPTED_KINDS}")
    if found.st_size > MAX_BYTES:
        raise FileError(
            f"has {found.st_size:,} bytes; limit is {MAX_BYTES:,}",
            where=source,
            advice="split it or keep only the columns that are needed",
        )
    return found.st_size


def _ends(path: Path, source: str, size: int) -> tuple[bytes, bytes]:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(0, size - _TAIL))
            return head, file.read(_TAIL)
    except OSError as error:
        raise FileError(
            f"cannot be read — {_reason(error)}",
            where=source,
            advice="check its permissions",
        ) from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# What a person should know about how a file was read.


@dataclass
class ReadNotes:
    """Collects what a person should know about how one file was read."""

    source: str
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Harmless information."""
        self.notes.append(f"{self.source}: {text}")

    def warn(self, text: str) -> None:
        """Something a person should look at."""
        self.warnings.append(f"{self.source}: {text}")


# Text that an export made harmless for spreadsheets, as it was before.
#
# An export puts one quote in front of every text that a spreadsheet would take for a formula and
# leaves none without. So a column is taken for exported if it has such quotes and no bare formula;
# in any other column a quote is the writer's own and stays.


def is_neutral(texts: Iterable[str]) -> bool:
    """Whether these texts look as an export would have left them, with something to take back."""
    quoted = False
    for text in texts:
        if restore_text(text) != text:
            quoted = True
        elif neutralise(text) != text:
            return False
    return quoted


def neutral_columns(columns: dict[str, pa.ChunkedArray]) -> frozenset[str]:
    """The columns that an export made harmless."""
    import pyarrow.compute as pc  # slow to import, as below

    return frozenset(
        name
        for name, cells in columns.items()
        if pc.any(pc.starts_with(cells, "'")).as_py() and is_neutral(pc.unique(cells).to_pylist())
    )


def restore_cells(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column without the quotes of an export."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = pc.unique(cells)
    before = pa.array([restore_text(text) for text in distinct.to_pylist()], pa.string())
    return pa.chunked_array(
        [pc.take(before, pc.index_in(cells, value_set=distinct).combine_chunks())]
    )


# What a file holds before label, ids and features are told apart.


@dataclass(frozen=True)
class RawColumns:
    """Named columns of one file; ``places`` says where given rows are in it (``line 7``).

    ``stem`` starts the ids of rows that have none; ``neutral`` are the columns whose text carries
    the quotes of an export.
    """

    stem: str
    columns: Mapping[str, pa.ChunkedArray]
    places: Callable[[list[int]], list[str]]
    remarks: ReadNotes
    neutral: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        return self.remarks.source

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def text(self, name: str) -> pa.ChunkedArray:
        """A column as text, whatever its type, as it was before any export."""
        text = text_of(self.columns[name])
        return restore_cells(text) if name in self.neutral else text

    def bad_value(self, what: str, name: str, row: int, advice: str) -> DataError:
        """The error for one value, with its place."""
        [place] = self.places([row])
        return DataError(
            f"{what} — {place}, column {quote(name)}",
            where=self.source,
            advice=advice,
        )

    def require(self, name: str, role: str) -> str:
        """The same name, if there is such a column."""
        if name in self.columns:
            return name
        raise DataError(
            f"there is no column {quote(name)} to use as {role}",
            where=self.source,
            advice=f"it has {list_names(list(self.columns))}",
        )


def row_places(rows: list[int]) -> list[str]:
    """Places in a file that has no lines."""
    return [f"row {row + 1:,}" for row in rows]


def text_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Any column as strings, with the empty string for what is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column if column.type == pa.string() else pc.cast(column, pa.string())
    return pc.fill_null(text, "") if text.null_count else text


@dataclass
class Features:
    """Columns of numbers, NaN where one is missing, and the names of those that hold text."""

    numbers: dict[str, Floats] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


# The encodings that a caller may state for a text file.

# Named one by one: Python knows further codecs that decode no text.
_ACCEPTED_CODECS = frozenset(
    {
        *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
        *("utf-32", "utf-32-le", "utf-32-be", "mac-roman", "koi8-r", "koi8-u"),
        *("big5", "big5hkscs", "gb2312", "gbk", "gb18030", "shift_jis", "euc_jp", "euc_kr"),
        *(f"cp{page}" for page in (437, 850, 852, 866, 874, 932, 949, 950, *range(1250, 1259))),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),  # there is no twelfth
    }
)
# Longer marks first: UTF-32's starts with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def codec_name(stated: str) -> str:
    """Python's own name for an encoding, if it is one of the accepted ones."""
    try:
        name = codecs.lookup(stated).name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        name = ""
    if name not in _ACCEPTED_CODECS:
        raise SettingsError(
            f"the encoding {quote(stated)} is not known",
            advice="use a name such as utf-8, utf-16, cp1252 or shift_jis",
        )
    return name


def marked_encoding(data: bytes) -> str | None:
    """The family of encodings whose byte order mark the text starts with, if any."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


# How a file is to be read, where the caller knows better than the file says.

Decimal = Literal[".", ","]
# What may separate columns: no letter, digit, quote, or sign of a number.
_SEPARATORS = frozenset(string.punctuation + "\t ") - frozenset("\"'.+-_")
_TEXT_ONLY = ("encoding", "delimiter", "decimal", "header")


@dataclass(frozen=True)
class Reading:
    """The caller's choices; what is None or empty is found in the file itself.

    ``label`` and ``id_column`` name those columns; ``array`` the table among several in an NPZ
    file; ``exclude`` and ``metadata`` columns that, where they exist, are no features and travel
    along as text; ``categorical`` columns whose values are names, also where they look like
    numbers; ``features`` columns that are features whatever they are called. ``missing`` says
    what becomes of rows with gaps. The rest describes text files alone.
    """

    label: str | None = None
    id_column: str | None = None
    array: str | None = None
    exclude: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    missing: Missing = "refuse"
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Decimal | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        _check_roles(self)
        _check_choice("missing", self.missing, get_args(Missing))
        _check_choice("decimal", self.decimal, (None, *get_args(Decimal)))
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter not in _SEPARATORS
        ):
            raise SettingsError(
                f"a delimiter of {quote(self.delimiter)} is not possible",
                advice="use one character such as ',', ';', '|' or a tab",
            )
        if self.delimiter is not None and self.delimiter == self.decimal:
            raise SettingsError(
                f"{quote(self.delimiter)} cannot separate the columns and be the decimal mark as "
                "well",
                advice="state one of the two",
            )
        if self.encoding is not None:
            codec_name(self.encoding)

    def without_meaning(self, kind: str) -> list[str]:
        """The choices that say nothing about a file with this ending."""
        given = [f.name for f in fields(self) if getattr(self, f.name) not in (None, ())]
        arrays, typed = kind in (".npz", ".npy"), kind in (".npz", ".npy", ".parquet")
        unused = (*(_TEXT_ONLY if typed else ()), *(() if arrays else ("array",)))
        return [name for name in given if name in unused]


def _check_roles(reading: Reading) -> None:
    one = [name for name in (reading.label, reading.id_column) if name is not None]
    many = (reading.exclude, reading.metadata, reading.categorical, reading.features)
    roles = [*one, *(name for names in many for name in dict.fromkeys(names))]
    twice = sorted({name for name in roles if roles.count(name) > 1})
    if twice:
        raise SettingsError(
            f"{list_names(twice)} was asked to be more than one of label, id, excluded, metadata, "
            "categorical and feature",
            advice="name it once",
        )


def _check_choice(what: str, value: str | None, accepted: tuple[str | None, ...]) -> None:
    if value not in accepted:
        words = " or ".join(f"'{word}'" for word in accepted if word is not None)
        raise SettingsError(f"{what} is {quote(value)}", advice=f"it must be {words}")
