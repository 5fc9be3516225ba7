"""The contents of a file to a table: label, ids, features and what travels along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eap_core.errors import DataError, listed
from eap_core.readers.contents import Contents, Features
from eap_core.readers.ids import find_ids, find_unique_text, made_ids, read_ids
from eap_core.readers.labels import find_label
from eap_core.readers.limits import excess
from eap_core.readers.remarks import Asked
from eap_core.table import Floats, Table

Convert = Callable[[Contents, list[str]], Features]


def table_from(contents: Contents, asked: Asked, convert: Convert) -> Table:
    """Tell the columns apart, convert the features, and put the rows together."""
    _check_size(contents)
    _check_asked(contents, asked)
    labelled = find_label(contents, asked)
    taken = {*asked.exclude, *([labelled[0]] if labelled else [])}
    id_column, spare = find_ids(contents, asked, taken)
    taken |= {*spare, *([id_column] if id_column else [])}
    features = convert(contents, [name for name in contents.columns if name not in taken])
    columns = tuple(name for name in contents.columns if name in features.numbers)
    if not columns:
        raise DataError(
            f"{contents.source} has no column of numbers to score — it has "
            f"{listed(list(contents.columns))} — separate columns by ',', ';', '|' or a tab"
        )
    id_column = id_column or find_unique_text(contents, features.texts)
    _mention_texts(contents, [name for name in features.texts if name != id_column])
    excluded = set(asked.exclude) & set(contents.columns)
    travelling = {*excluded, *spare, *features.texts} - {id_column}
    return Table(
        source=contents.source,
        columns=columns,
        values=_matrix(features, columns, contents.rows),
        ids=read_ids(contents, id_column) if id_column else made_ids(contents),
        labels=labelled[1] if labelled else None,
        extras={
            name: tuple(contents.text(name).to_pylist())
            for name in contents.columns
            if name in travelling
        },
        notes=tuple(contents.remarks.notes),
        warnings=tuple(contents.remarks.warnings),
    )


def _check_size(contents: Contents) -> None:
    if not contents.rows:
        raise DataError(f"{contents.source} has no rows — export it again with its rows")
    if too_much := excess(contents.rows, len(contents.columns)):
        raise DataError(f"{contents.source} has {too_much} — split the file")


def _check_asked(contents: Contents, asked: Asked) -> None:
    roles = [name for name in (asked.label, asked.id_column, *asked.exclude) if name is not None]
    twice = sorted({name for name in roles if roles.count(name) > 1})
    if twice:
        raise DataError(
            f"{contents.source}: {listed(twice)} was asked to be more than one of label, id and "
            "excluded column — name it once"
        )


def _mention_texts(contents: Contents, texts: list[str]) -> None:
    if texts:
        contents.remarks.note(f"{listed(texts)} holds text — kept for the export, not scored")


def _matrix(features: Features, columns: tuple[str, ...], rows: int) -> Floats:
    values = np.empty((rows, len(columns)))
    for j, name in enumerate(columns):
        values[:, j] = features.numbers[name]
    values.setflags(write=False)
    return values
