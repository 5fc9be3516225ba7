"""The contents of a file to a table: label, ids, features and what travels along."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.base.errors import DataError, FileError, list_names, quote
from eap_core.base.table import MISSING_ADVICE, Floats, Labels, Table, count_columns, metadata_key
from eap_core.readers.files import (
    MAX_COLUMNS,
    MAX_NAME,
    Features,
    RawColumns,
    Reading,
    ReadNotes,
    explain_excess,
    text_of,
)
from eap_core.readers.numbers import FALSE_WORDS, TRUE_WORDS, first_true, numbers_in

# The text by which each row is known, kept exactly as it was written.

ID_NAMES = ("id", "ids", "sample_id", "uuid", "name", "key", "index", "sample")
_SURELY_IDS = ("id", "ids", "sample_id")
_MANY = 20  # so many different texts are no categories
_SHOWN_IDS = 3


def find_ids(
    contents: RawColumns, reading: Reading, taken: set[str]
) -> tuple[str | None, list[str]]:
    """The id column that was asked for or is called like one, and other columns called so."""
    if reading.id_column is not None:
        return contents.require(reading.id_column, "id"), []
    order = {name: position for position, name in enumerate(ID_NAMES)}
    named = [
        name for name in contents.columns if name.strip().casefold() in order and name not in taken
    ]
    if not named:
        return None, []
    named.sort(key=lambda name: order[name.strip().casefold()])
    chosen, others = named[0], named[1:]
    _mention(contents, chosen)
    if others:
        contents.remarks.warn(
            f"{list_names(others)} looks like an id beside {quote(chosen)} — kept for the export, "
            "not used for the score; name the id column to use it"
        )
    return chosen, others


def find_unique_text(contents: RawColumns, texts: list[str]) -> str | None:
    """The first text column in which every row says something else."""
    if contents.rows < _MANY:
        return None
    for name in texts:
        cells = contents.text(name)
        if pc.count_distinct(cells).as_py() == len(cells) and _first_blank(cells) is None:
            contents.remarks.warn(
                f"column {quote(name)} holds {len(cells):,} different texts and is treated as the "
                "id — name the id column to confirm it"
            )
            return name
    return None


def read_ids(contents: RawColumns, name: str) -> tuple[str, ...]:
    """The ids of all rows; a missing or repeated id is an error."""
    cells = contents.text(name)
    blank = _first_blank(cells)
    if blank is not None:
        raise contents.bad_value("missing id", name, blank, "give every row its own id")
    ids = tuple(cells.to_pylist())
    if len(set(ids)) < len(ids):
        raise _explain_repeated(contents, name, ids)
    return ids


def make_ids(contents: RawColumns) -> tuple[str, ...]:
    """Ids from the file's name and the row number, for files that have none."""
    return tuple(f"{contents.stem}:{row}" for row in range(1, contents.rows + 1))


def _mention(contents: RawColumns, name: str) -> None:
    """Point at an id that was found by a looser name and might have been meant otherwise."""
    surely = name.strip().casefold() in _SURELY_IDS
    if not surely and (contents.rows >= _MANY or numbers_in(contents.text(name)) is not None):
        contents.remarks.warn(
            f"column {quote(name)} is treated as the id — name the id column to confirm it"
        )
    else:
        contents.remarks.note(f"the ids are taken from column {quote(name)}")


def _first_blank(cells: pa.ChunkedArray) -> int | None:
    return first_true(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(cells)), 0))


def _explain_repeated(contents: RawColumns, name: str, ids: tuple[str, ...]) -> DataError:
    first_row: dict[str, int] = {}
    pairs: list[tuple[str, int, int]] = []
    for row, text in enumerate(ids):
        if first_row.setdefault(text, row) != row:
            pairs.append((text, first_row[text], row))
    shown_pairs = pairs[:_SHOWN_IDS]
    places = contents.places([row for _, *both in shown_pairs for row in both])
    seen = ", ".join(
        f"{quote(text)} ({places[2 * i]} and {places[2 * i + 1]})"
        for i, (text, _, _) in enumerate(shown_pairs)
    )
    more = f" and {len(pairs) - _SHOWN_IDS:,} more" if len(pairs) > _SHOWN_IDS else ""
    return DataError(
        f"ids in column {quote(name)} are repeated — {seen}{more}",
        where=contents.source,
        advice="make them unique, name another id column, or exclude this one",
    )


# A column of 0 and 1 that says which rows are anomalies.

LABEL_NAMES = ("label", "labels", "y", "is_anomaly", "anomaly", "target", "outlier")
_WORDS = dict.fromkeys(TRUE_WORDS, 1) | dict.fromkeys(FALSE_WORDS, 0)
_ZERO_OR_ONE = re.compile(r"\+?0*([01])([.,]0*)?", re.ASCII)
_NEITHER = -1
_SHOWN_LABELS = 5


def find_label(
    contents: RawColumns, reading: Reading, taken: set[str]
) -> tuple[str, Labels] | None:
    """The label column that was asked for or is called like one, with its labels."""
    if reading.label is not None:
        name = contents.require(reading.label, "label")
        return name, _check_codes(contents, name, _codes(contents, name))
    named = [
        name
        for name in contents.columns
        if name.strip().casefold() in LABEL_NAMES and name not in taken
    ]
    codes = {name: _codes(contents, name) for name in named}
    fitting = [name for name in named if (codes[name] != _NEITHER).all()]
    if len(fitting) > 1:
        raise FileError(
            f"has more than one possible label column — {list_names(fitting)}",
            where=contents.source,
            advice="say which one is the label or exclude the others",
        )
    if not named:
        return None
    name = (fitting or named)[0]
    contents.remarks.note(f"the labels are taken from column {quote(name)}")
    return name, _check_codes(contents, name, codes[name])


def _codes(contents: RawColumns, name: str) -> npt.NDArray[np.int8]:
    """0, 1 or, for every other value, -1."""
    cells = pc.ascii_trim_whitespace(contents.text(name))
    distinct = pc.unique(cells)
    code_of = np.array([_code(cell) for cell in distinct.to_pylist()], dtype=np.int8)
    codes: npt.NDArray[np.int8] = code_of[pc.index_in(cells, value_set=distinct).to_numpy()]
    return codes


def _code(cell: str) -> int:
    word = cell.lower()
    if word in _WORDS:
        return _WORDS[word]
    number = _ZERO_OR_ONE.fullmatch(word)
    return int(number.group(1)) if number else _NEITHER


def _check_codes(contents: RawColumns, name: str, codes: npt.NDArray[np.int8]) -> Labels:
    wrong = np.flatnonzero(codes == _NEITHER).tolist()
    if wrong:
        cells = contents.text(name)
        places = contents.places(wrong[:_SHOWN_LABELS])
        seen = ", ".join(
            f"{place} ({quote(cells[row].as_py())})"
            for place, row in zip(places, wrong, strict=False)
        )
        more = f" and {len(wrong) - _SHOWN_LABELS:,} more" if len(wrong) > _SHOWN_LABELS else ""
        raise DataError(
            f"the label column {quote(name)} holds other values than 0 and 1 — {seen}{more}",
            where=contents.source,
            advice="use 0 for normal and 1 for anomaly, or state that the column is a feature or "
            "excluded",
        )
    lowered = pc.ascii_lower(pc.ascii_trim_whitespace(contents.text(name)))
    if pc.any(pc.is_in(lowered, value_set=pa.array(list(_WORDS)))).as_py():
        contents.remarks.note(f"labels in {quote(name)}: true = yes = 1 and false = no = 0")
    codes.setflags(write=False)
    return codes


# Which column of a file is what: label, id, metadata, excluded, or a possible feature.


@dataclass(frozen=True)
class ColumnRoles:
    """The parts that the columns play; ``candidates`` for a feature are what is left."""

    labels: Labels | None
    id_column: str | None
    travelling: frozenset[str]
    categorical: tuple[str, ...]
    candidates: tuple[str, ...]


def sort_columns(contents: RawColumns, reading: Reading) -> ColumnRoles:
    """What the caller said comes first, then what a column is called."""
    names = list(contents.columns)
    stated = {*reading.exclude, *reading.metadata, *reading.categorical, *reading.features}
    roles = {name for name in (reading.label, reading.id_column) if name is not None}
    described = [n for n in names if is_metadata(n, reading)]
    unstated = [name for name in described if name not in reading.metadata]
    if unstated:
        contents.remarks.note(
            f"{list_names(unstated)} is metadata by its name — kept for the export, not scored"
        )
    taken = {*stated, *described}
    labelled = find_label(contents, reading, taken | roles)
    taken |= {labelled[0]} if labelled else set()
    id_column, spare = find_ids(contents, reading, taken)
    taken |= {*spare, *([id_column] if id_column else [])}
    taken -= {*reading.features}
    return ColumnRoles(
        labels=labelled[1] if labelled else None,
        id_column=id_column,
        travelling=frozenset({*reading.exclude, *described, *spare} & {*names}),
        categorical=tuple(name for name in names if name in reading.categorical),
        candidates=tuple(name for name in names if name not in taken),
    )


def is_metadata(name: str, reading: Reading) -> bool:
    """Whether a column describes its row, by the caller's word or by its name."""
    if name in reading.metadata:
        return True
    otherwise = {*reading.exclude, *reading.categorical, *reading.features}
    otherwise |= {role for role in (reading.label, reading.id_column) if role is not None}
    return name not in otherwise and metadata_key(name) is not None


# Numbers that are missing: refused, left out with their rows, or left open to be filled.

_Bools = npt.NDArray[np.bool_]
_SHOWN_GAPS = 3


def complete_rows(contents: RawColumns, features: Features, reading: Reading) -> _Bools | None:
    """The rows to keep if gaps are to be dropped; None if all rows are kept."""
    gaps = {name: np.isnan(values) for name, values in features.numbers.items()}
    gaps = {name: gap for name, gap in gaps.items() if gap.any()}
    if not gaps:
        return None
    if reading.missing == "refuse":
        raise _refusal(contents, gaps)
    counts = count_columns({name: int(gap.sum()) for name, gap in gaps.items()})
    if reading.missing == "median":
        contents.remarks.note(f"values are missing: {counts} — to be filled with a median")
        return None
    keep: _Bools = ~np.any(list(gaps.values()), axis=0)
    return keep


def drop_gaps(table: Table, keep: _Bools, contents: RawColumns) -> Table:
    """The table without the rows that miss a value, and with a warning that says which."""
    dropped = np.flatnonzero(~keep).tolist()
    if len(dropped) == len(keep):
        raise DataError(
            "every row misses a value, none is left",
            where=contents.source,
            advice="exclude the columns that have gaps",
        )
    places = ", ".join(contents.places(dropped[:_SHOWN_GAPS]))
    more = f" and {len(dropped) - _SHOWN_GAPS:,} more" if len(dropped) > _SHOWN_GAPS else ""
    contents.remarks.warn(
        f"{len(dropped):,} of {len(keep):,} rows are dropped because a value is missing — "
        f"{places}{more}"
    )
    return table.only(keep)


def _refusal(contents: RawColumns, gaps: dict[str, _Bools]) -> DataError:
    name, gap = next(iter(gaps.items()))
    row = int(np.argmax(gap))
    cell = contents.columns[name][row].as_py()
    what = (
        "missing value" if cell is None or not str(cell).strip() else f"missing value {quote(cell)}"
    )
    total = int(sum(gap.sum() for gap in gaps.values()))
    if total > 1:
        what += f", one of {total:,} in {list_names(list(gaps))}"
    return contents.bad_value(what, name, row, MISSING_ADVICE)


Convert = Callable[[RawColumns, list[str]], Features]


def table_from(contents: RawColumns, reading: Reading, convert: Convert) -> Table:
    """Tell the columns apart, convert the features, and put the rows together."""
    _check_size(contents)
    roles = sort_columns(contents, reading)
    features = convert(contents, list(roles.candidates))
    columns = tuple(name for name in contents.columns if name in features.numbers)
    if not columns and not roles.categorical:
        raise _nothing_to_score(contents, roles)
    keep = complete_rows(contents, features, reading)
    id_column = roles.id_column or find_unique_text(contents, features.texts)
    texts = tuple(name for name in features.texts if name != id_column)
    travelling = {*roles.travelling, *roles.categorical, *texts} - {id_column or ""}
    _mention_texts(contents, list(texts), {*travelling, id_column or ""})
    table = Table(
        source=contents.source,
        columns=columns,
        values=_matrix(features, columns, contents.rows),
        ids=read_ids(contents, id_column) if id_column else make_ids(contents),
        labels=roles.labels,
        extras={
            name: tuple(contents.text(name).to_pylist())
            for name in contents.columns
            if name in travelling
        },
        texts=texts,
        categorical=roles.categorical,
        missing=reading.missing,
    )
    if keep is not None:
        table = drop_gaps(table, keep, contents)
    remarks = contents.remarks
    return replace(table, notes=tuple(remarks.notes), warnings=tuple(remarks.warnings))


def _check_size(contents: RawColumns) -> None:
    if not contents.rows:
        raise FileError(
            "has no rows",
            where=contents.source,
            advice="export it again with its rows",
        )
    if too_much := explain_excess(contents.rows, len(contents.columns)):
        raise FileError(f"has {too_much}", where=contents.source, advice="split the file")


def _nothing_to_score(contents: RawColumns, roles: ColumnRoles) -> DataError:
    if roles.candidates:
        return FileError(
            f"has no column of numbers to score — it has {list_names(list(contents.columns))}",
            where=contents.source,
            advice="separate columns by ',', ';', '|' or a tab, or say which columns of text are "
            "categorical",
        )
    return FileError(
        f"has no column left to score — {list_names(list(contents.columns))} is "
        "label, id, metadata or excluded",
        where=contents.source,
        advice="leave at least one column as a feature",
    )


def _mention_texts(contents: RawColumns, texts: list[str], kept: set[str]) -> None:
    if texts:
        contents.remarks.note(
            f"{list_names(texts)} holds text — kept for the export, and scored as categories "
            "where the training data have few different ones"
        )
    taken_back = sorted(contents.neutral & kept)
    if taken_back:
        contents.remarks.note(
            f"quotes that an export puts before formulas are taken off in {list_names(taken_back)}"
        )


def _matrix(features: Features, columns: tuple[str, ...], rows: int) -> Floats:
    values = np.empty((rows, len(columns)))
    for j, name in enumerate(columns):
        values[:, j] = features.numbers[name]
    values.setflags(write=False)
    return values


# Column names as they may enter a table.


def check_names(names: Sequence[str], remarks: ReadNotes) -> None:
    """Refuse too many, too long, empty and repeated names; point at invisible characters."""
    source = remarks.source
    if len(names) > MAX_COLUMNS:
        raise FileError(
            f"has {len(names):,} columns; limit is {MAX_COLUMNS:,} columns",
            where=source,
            advice="keep only the columns that are needed",
        )
    _check_each(names, source)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"the column name {list_names(repeated)} occurs more than once",
            where=source,
            advice="give every column its own name",
        )
    hidden = [name for name in names if any(_invisible(char) for char in name)]
    if hidden:
        remarks.warn(
            f"the column name {list_names(hidden)} holds invisible characters, shown escaped here "
            "— check that it is the column you mean"
        )


def _check_each(names: Sequence[str], source: str) -> None:
    for number, name in enumerate(names, 1):
        if len(name) > MAX_NAME:
            raise DataError(
                f"the name of column {number:,}, {quote(name[:MAX_NAME])}, has {len(name):,} "
                f"characters; limit is {MAX_NAME} characters",
                where=source,
                advice="shorten it",
            )
        if not name.strip():
            raise DataError(
                f"column {number:,} has no name in the header",
                where=source,
                advice="name it (such as 'id' for a saved row number) or remove it",
            )
        if not _storable(name):
            raise DataError(
                f"the column name {quote(name)} is no valid text",
                where=source,
                advice="rename the column",
            )


def _invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")


def _storable(text: str) -> bool:
    """Neither NUL nor half of a surrogate pair: no database and no file takes those."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


# Columns that come with a type: numbers and true/false are features, strings are text.


def convert_typed(contents: RawColumns, names: list[str]) -> Features:
    """Every number as float64, NaN where it is missing; what is not finite is an error."""
    features = Features()
    for name in names:
        if is_text(contents.columns[name].type):
            features.texts.append(name)
        else:
            features.numbers[name] = _numbers(contents, name)
    booleans = [name for name in names if pa.types.is_boolean(contents.columns[name].type)]
    if booleans:
        contents.remarks.note(f"{list_names(booleans)} is read as true = 1 and false = 0")
    return features


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are strings."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of this type can be read as numbers."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def check_text(name: str, column: pa.ChunkedArray, remarks: ReadNotes) -> None:
    """Refuse text that no database takes: NUL, or bytes that are not UTF-8."""
    text = text_of(column)
    row = first_true(pc.match_substring(text, "\x00"))
    if row is not None:
        raise FileError(
            f"holds a NUL character — row {row + 1:,}, column {quote(name)}",
            where=remarks.source,
            advice="remove it",
        )


def _numbers(contents: RawColumns, name: str) -> Floats:
    column = contents.columns[name]
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    values: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy()
    odd = np.flatnonzero(np.isinf(values))
    if odd.size:
        row = int(odd[0])
        raise contents.bad_value(
            f"'{values[row]}' is not a finite number",
            name,
            row,
            "fill these cells, remove these rows, or exclude it",
        )
    return values
