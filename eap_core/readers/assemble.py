"""The contents of a file to a table: label, ids, features and what travels along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eap_core.errors import DataError, listed
from eap_core.readers.columns import Columns, tell_apart
from eap_core.readers.contents import Contents, Features
from eap_core.readers.gaps import complete_rows, without_gaps
from eap_core.readers.ids import find_unique_text, made_ids, read_ids
from eap_core.readers.limits import excess
from eap_core.readers.reading import Reading
from eap_core.table import Floats, Table

Convert = Callable[[Contents, list[str]], Features]


def table_from(contents: Contents, reading: Reading, convert: Convert) -> Table:
    """Tell the columns apart, convert the features, and put the rows together."""
    _check_size(contents)
    roles = tell_apart(contents, reading)
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
        ids=read_ids(contents, id_column) if id_column else made_ids(contents),
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
        table = without_gaps(table, keep, contents)
    remarks = contents.remarks
    return replace(table, notes=tuple(remarks.notes), warnings=tuple(remarks.warnings))


def _check_size(contents: Contents) -> None:
    if not contents.rows:
        raise DataError(f"{contents.source} has no rows — export it again with its rows")
    if too_much := excess(contents.rows, len(contents.columns)):
        raise DataError(f"{contents.source} has {too_much} — split the file")


def _nothing_to_score(contents: Contents, roles: Columns) -> DataError:
    if roles.candidates:
        return DataError(
            f"{contents.source} has no column of numbers to score — it has "
            f"{listed(list(contents.columns))} — separate columns by ',', ';', '|' or a tab, or "
            "say which columns of text are categorical"
        )
    return DataError(
        f"{contents.source} has no column left to score — {listed(list(contents.columns))} is "
        "label, id, metadata or excluded — leave at least one column as a feature"
    )


def _mention_texts(contents: Contents, texts: list[str], kept: set[str]) -> None:
    if texts:
        contents.remarks.note(
            f"{listed(texts)} holds text — kept for the export, and scored as categories where the "
            "training data have few different ones"
        )
    taken_back = sorted(contents.neutral & kept)
    if taken_back:
        contents.remarks.note(
            f"quotes that an export puts before formulas are taken off in {listed(taken_back)}"
        )


def _matrix(features: Features, columns: tuple[str, ...], rows: int) -> Floats:
    values = np.empty((rows, len(columns)))
    for j, name in enumerate(columns):
        values[:, j] = features.numbers[name]
    values.setflags(write=False)
    return values
