"""Column names as they may enter a table."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from eap_core.errors import DataError, listed, shown
from eap_core.readers.limits import MAX_COLUMNS, MAX_NAME
from eap_core.readers.remarks import Remarks


def check_names(names: Sequence[str], remarks: Remarks) -> None:
    """Refuse too many, too long, empty and repeated names; point at invisible characters."""
    source = remarks.source
    if len(names) > MAX_COLUMNS:
        raise DataError(
            f"{source} has {len(names):,} columns; limit is {MAX_COLUMNS:,} columns — "
            "keep only the columns that are needed"
        )
    _check_each(names, source)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"{source}: the column name {listed(repeated)} occurs more than once — "
            "give every column its own name"
        )
    hidden = [name for name in names if any(_invisible(char) for char in name)]
    if hidden:
        remarks.warn(
            f"the column name {listed(hidden)} holds invisible characters, shown escaped here — "
            "check that it is the column you mean"
        )


def _check_each(names: Sequence[str], source: str) -> None:
    for number, name in enumerate(names, 1):
        if len(name) > MAX_NAME:
            raise DataError(
                f"{source}: the name of column {number:,}, {shown(name[:MAX_NAME])}, has "
                f"{len(name):,} characters; limit is {MAX_NAME} characters — shorten it"
            )
        if not name.strip():
            raise DataError(
                f"{source}: column {number:,} has no name in the header — "
                "name it (such as 'id' for a saved row number) or remove it"
            )
        if not _storable(name):
            raise DataError(
                f"{source}: the column name {shown(name)} is no valid text — rename the column"
            )


def _invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")


def _storable(text: str) -> bool:
    """Neither NUL nor half of a surrogate pair: no database and no file takes those."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
