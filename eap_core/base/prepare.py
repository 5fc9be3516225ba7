"""From the tables a person has to the Problem the evaluators need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np
import numpy.typing as npt

from eap_core.base.errors import DataError, SettingsError, list_names, quote
from eap_core.base.problem import ASSUMED_RATE, LARGEST, Problem
from eap_core.base.table import MISSING_ADVICE, MISSING_WORDS, Floats, Labels, Table

# Missing numbers become the median of the training normals: never of candidates or anomalies.

_SHOWN = 5


def fill_medians(parts: list[Table], labels: Labels, candidates: Table) -> list[Table]:
    """All tables, the candidates last, without NaN; their columns are the same already."""
    tables = [*parts, candidates]
    open_columns = np.any([np.isnan(table.values).any(axis=0) for table in tables], axis=0)
    if not open_columns.any():
        return tables
    columns = parts[0].columns
    normals = np.concatenate([part.values for part in parts])[labels == 0]
    medians = np.zeros(len(columns))
    for j in np.flatnonzero(open_columns):
        medians[j] = _median(normals[:, j], columns[j])
    return [_fill_table(table, medians) for table in tables]


def _median(values: Floats, column: str) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        raise DataError(
            f"no training normal has a value in column {quote(column)}, so that its gaps cannot "
            "be filled",
            advice="exclude the column",
        )
    return float(np.median(known))


def _fill_table(table: Table, medians: Floats) -> Table:
    gaps = np.isnan(table.values)
    if not gaps.any():
        return table
    if table.missing != "median":
        i, j = np.argwhere(gaps)[0]
        raise DataError(
            f"missing value — row {quote(table.ids[i])}, column {quote(table.columns[j])}",
            where=table.source,
            advice=MISSING_ADVICE,
        )
    some = [
        f"{quote(table.columns[j])} ({gaps[:, j].sum():,} with {medians[j]:g})"
        for j in np.flatnonzero(gaps.any(axis=0))
    ]
    more = f" and {len(some) - _SHOWN:,} more columns" if len(some) > _SHOWN else ""
    note = (
        f"{table.source}: missing values are filled with the median of the training normals: "
        f"{', '.join(some[:_SHOWN])}{more}"
    )
    return replace(table, values=np.where(gaps, medians, table.values), notes=(*table.notes, note))


# Which columns of text are categories, and what their values are.
#
# The training data alone decide which columns are categorical and which values there are, so that
# no candidate's score depends on another candidate.

MOST_VALUES = 20  # more different texts are names or remarks, not categories
ROWS_EACH = 5  # on average; fewer tell nothing about a value
LONGEST = 50  # characters; longer texts are remarks


@dataclass(frozen=True)
class Category:
    """A categorical column: its values in the training data, and the usual one of the normals."""

    name: str
    values: tuple[str, ...]
    usual: str
    stated: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in self.values)

    def is_gap(self, cell: str) -> bool:
        return _is_gap(cell, self.stated)


def find_categories(
    parts: list[Table], labels: list[Labels]
) -> tuple[list[Category], tuple[str, ...]]:
    """The categorical columns, in the training table's order, and what to say about all texts."""
    first, found, notes = parts[0], [], []
    for name in (*first.categorical, *first.texts):
        stated = name in first.categorical
        # Without a column that one part lacks: if it is a category, that is said later.
        cells = [cells_of(part, name) if name in part.extras else () for part in parts]
        counts = Counter(c for column in cells for c in column if not _is_gap(c, stated))
        if stated or _few(counts):
            found.append(
                Category(name, tuple(sorted(counts)), _usual(cells, labels, stated), stated)
            )
            notes.append(
                f"{first.source}: {quote(name)} is read as {len(counts):,} categories, one 0/1 "
                f"column each: {list_names(sorted(counts))}"
            )
        else:
            notes.append(
                f"{first.source}: {quote(name)} holds {len(counts):,} different texts in "
                f"{counts.total():,} rows and is not scored — categories are 2 to {MOST_VALUES} "
                f"short texts with at least {ROWS_EACH} rows each on average"
            )
    return found, tuple(notes)


def _few(counts: Mapping[str, int]) -> bool:
    return (
        2 <= len(counts) <= MOST_VALUES
        and sum(counts.values()) >= ROWS_EACH * len(counts)
        and max(map(len, counts)) <= LONGEST
    )


def _usual(cells: list[tuple[str, ...]], labels: list[Labels], stated: bool) -> str:
    """The most frequent value of the normals, the first in the alphabet among equals."""
    normal = Counter(
        cell
        for column, part in zip(cells, labels, strict=True)
        for cell in compress(column, part == 0)
        if not _is_gap(cell, stated)
    )
    return min(normal, key=lambda value: (-normal[value], value), default="")


def cells_of(table: Table, name: str) -> tuple[str, ...]:
    """The column's text without the blanks around it."""
    if name in table.extras:
        return tuple(cell.strip() for cell in table.extras[name])
    if name in table.columns:
        values = table.values[:, table.columns.index(name)]
        if np.isnan(values).all():
            return ("",) * len(table)
        raise DataError(
            f"the column {quote(name)} holds numbers here, but text in the training data",
            where=table.source,
            advice="state it as categorical, or exclude it",
        )
    raise DataError(
        f"{table.source} lacks the column {quote(name)}, which the training data have as "
        "categories",
        advice="add it, or exclude it",
    )


def _is_gap(cell: str, stated: bool) -> bool:
    """In a column that was stated, words such as 'none' are values like any other."""
    return not cell if stated else cell.lower() in MISSING_WORDS


# Categorical columns as columns of 0 and 1: ``colour`` → ``colour=blue``, ``colour=red``.

_MOST_CELLS = 250_000_000  # as many as a file may have


def encode_categories(parts: list[Table], labels: list[Labels], candidates: Table) -> list[Table]:
    """All tables, the candidates last, with the 0/1 columns and without their gaps."""
    found, notes = find_categories(parts, labels)
    tables = [*parts, candidates]
    _check_room(found, tables)
    done = [_with_columns(table, found) for table in tables] if found else tables
    return [replace(done[0], notes=(*done[0].notes, *notes)), *done[1:]]


def _with_columns(table: Table, found: list[Category]) -> Table:
    cells = {category.name: cells_of(table, category.name) for category in found}
    gaps = {
        category.name: np.fromiter(map(category.is_gap, cells[category.name]), bool, len(table))
        for category in found
    }
    gaps = {name: gap for name, gap in gaps.items() if gap.any()}
    if gaps and table.missing == "drop":
        return _with_columns(_without(table, gaps), found)
    notes, warnings = list(table.notes), list(table.warnings)
    blocks = [table.values]
    for category in found:
        column = cells[category.name]
        if category.name in gaps:
            column = _fill_gap(table, category, column, gaps[category.name], notes)
        code = {value: j for j, value in enumerate(category.values)}
        codes = np.array([code.get(cell, -1) for cell in column])
        blocks.append((codes[:, None] == np.arange(len(code))).astype(np.float64))
        warnings += _find_unseen(table, category, compress(column, codes < 0))
    return replace(
        table,
        columns=(*table.columns, *(name for category in found for name in category.columns)),
        values=np.hstack(blocks),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _without(table: Table, gaps: Mapping[str, npt.NDArray[np.bool_]]) -> Table:
    keep = ~np.any(list(gaps.values()), axis=0)
    if not keep.any():
        raise DataError(
            f"every row misses a category in {list_names(list(gaps))}, none is left",
            where=table.source,
            advice="exclude the column",
        )
    dropped = list(compress(table.ids, ~keep))
    warning = (
        f"{table.source}: {len(dropped):,} of {len(table):,} rows are dropped because a category "
        f"is missing in {list_names(list(gaps))}: {list_names(dropped)}"
    )
    return replace(table.only(keep), warnings=(*table.warnings, warning))


def _fill_gap(
    table: Table,
    category: Category,
    column: tuple[str, ...],
    gap: npt.NDArray[np.bool_],
    notes: list[str],
) -> tuple[str, ...]:
    if table.missing != "median" or not category.usual:
        row = table.ids[int(np.argmax(gap))]
        raise DataError(
            f"{int(gap.sum()):,} of {len(gap):,} rows have no value in column "
            f"{quote(category.name)}, which is read as categories — the first is row {quote(row)}",
            where=table.source,
            advice=MISSING_ADVICE,
        )
    notes.append(
        f"{table.source}: {int(gap.sum()):,} missing values in {quote(category.name)} are filled "
        f"with the most frequent one of the training normals, {quote(category.usual)}"
    )
    return tuple(category.usual if empty else cell for cell, empty in zip(column, gap, strict=True))


def _find_unseen(table: Table, category: Category, cells: Iterable[str]) -> list[str]:
    counts = Counter(cells)
    if not counts:
        return []
    return [
        f"{table.source}: {counts.total():,} of {len(table):,} rows have "
        f"{list_names(sorted(counts))} "
        f"in {quote(category.name)}, which no training row has — they are 0 in each of its "
        "columns; that alone may be what is anomalous"
    ]


def _check_room(found: list[Category], tables: list[Table]) -> None:
    names = Counter(name for category in found for name in category.columns)
    for table in tables:
        repeated = [name for name, count in (names + Counter(table.columns)).items() if count > 1]
        if repeated:
            raise DataError(
                f"{list_names(repeated)} is both a column and a category",
                where=table.source,
                advice="rename the column",
            )
    width = len(names) + len(tables[0].columns)
    if found and width * sum(map(len, tables)) > _MOST_CELLS:
        raise DataError(
            f"with its categories it would have {width:,} columns, more than fit",
            where=tables[0].source,
            advice="exclude some of the text columns",
        )


Scale = Literal["standard", "none"]
WITHOUT_ANOMALIES = "there are no real anomalies"
_SMALL_SPREAD = 0.001  # columns that vary less are centred, not scaled


def problem_from_tables(
    normals: Table,
    candidates: Table,
    anomalies: Table | None = None,
    *,
    scale: Scale = "standard",
    assumed_rate: float | None = None,
) -> Problem:
    """Match the tables' columns by name, drop what never varies, standardise, validate.

    ``normals`` may itself hold both classes in a label column; then ``anomalies`` is added to them.
    Text columns of few values become columns of 0 and 1, and gaps are filled, both as the training
    data alone say; rows of a table that drops gaps may be fewer after it.
    """
    parts, labels, candidates = _match_tables(normals, candidates, anomalies)
    normals, train = parts[0], np.concatenate([part.values for part in parts])
    rate, warnings = _rate(labels, assumed_rate)
    varies = np.ptp(train, axis=0) > 0
    if len(train) > 1 and not varies.any():
        raise DataError(
            f"all {len(train):,} training rows are identical",
            advice="at least one column must vary",
        )
    constant = [name for name, keep in zip(normals.columns, varies, strict=True) if not keep]
    if constant:
        warnings += (
            f"{normals.source}: {list_names(constant)} never varies in the training data — "
            "carries nothing and is left out",
        )
    centre, spread = learn_scale(train[:, varies], scale)
    return Problem(
        x_train=(train[:, varies] - centre) / spread,
        y_train=labels,
        x_candidates=(candidates.values[:, varies] - centre) / spread,
        ids=candidates.ids,
        train_ids=_make_ids_distinct(parts),
        columns=tuple(name for name, keep in zip(normals.columns, varies, strict=True) if keep),
        rate=rate,
        centre=centre,
        spread=spread,
        notes=_once(note for part in [*parts, candidates] for note in part.notes),
        warnings=_once(text for part in [*parts, candidates] for text in part.warnings) + warnings,
    )


def _match_tables(
    normals: Table, candidates: Table, anomalies: Table | None
) -> tuple[list[Table], Labels, Table]:
    """Tables with the same columns, all of numbers, and the labels of the training rows."""
    parts = [normals] if anomalies is None else [normals, anomalies]
    *parts, candidates = encode_categories(parts, _labels(parts), candidates)
    *parts, candidates = [t.ordered_like(parts[0].columns) for t in [*parts, candidates]]
    if not parts[0].columns:
        raise DataError(
            f"{normals.source} has no column to score",
            advice="leave one as a feature",
        )
    for part in [*parts, candidates]:
        _check_size(part)
    labels = np.concatenate(_labels(parts))
    *parts, candidates = fill_medians(parts, labels, candidates)
    return parts, labels, candidates


def _labels(parts: list[Table]) -> list[Labels]:
    return [_labels_of(part, default=position) for position, part in enumerate(parts)]


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _check_size(part: Table) -> None:
    """Refuse what could not be squared, before anything is computed from it."""
    bad = np.argwhere(np.abs(part.values) >= LARGEST)
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{part.source}, row {quote(part.ids[i])}, column {quote(part.columns[j])} holds "
            f"{part.values[i, j]:g}",
            advice=f"numbers from {LARGEST:g} on are not accepted; use larger units",
        )


def _labels_of(part: Table, default: int) -> Labels:
    if part.labels is None:
        return np.full(len(part), default, dtype=np.int8)
    if default == 1 and not part.labels.all():
        raise DataError(
            f"{part.source} is given as anomalies but holds rows labelled 0",
            advice="remove them, or give the file as training data",
        )
    return part.labels


def _rate(labels: Labels, assumed: float | None) -> tuple[float, tuple[str, ...]]:
    if assumed is not None and not 0 < assumed < 0.5:
        raise SettingsError(
            f"an assumed share of anomalies of {assumed:g} is not possible",
            advice="it must lie above 0 and below 0.5",
        )
    if labels.any():
        return float(labels.mean()), ()
    rate = assumed or ASSUMED_RATE
    return rate, (
        f"{WITHOUT_ANOMALIES}: the prior, the threshold and k cannot be learned — an "
        f"anomaly rate of {rate:g} is assumed for the first two, and k keeps its prior, which "
        "draws the balls wide; evaluators that measure detection (loo, ame, influence, data_oob, "
        "data_banzhaf and the Shapley values) have nothing to measure and give 0; state the rate "
        "you expect, or add a few real anomalies",
    )


def learn_scale(train: Floats, scale: Scale = "standard") -> tuple[Floats, Floats]:
    """The centre and the spread that rows are brought to the training rows' scale with."""
    d = train.shape[1]
    if scale == "none":
        return np.zeros(d), np.ones(d)
    spread = train.std(axis=0, ddof=1)
    return train.mean(axis=0), np.where(spread < _SMALL_SPREAD, 1.0, spread)


def _make_ids_distinct(parts: list[Table]) -> tuple[str, ...]:
    """Training ids; an id that stands in both tables is told apart by its file."""
    counts = Counter(name for part in parts for name in part.ids)
    return tuple(
        name if counts[name] == 1 else f"{part.source}:{name}"
        for part in parts
        for name in part.ids
    )
