"""The text by which each row is known, kept exactly as it was written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.contents import Contents
from eap_core.readers.number_text import first_true, numbers_in
from eap_core.readers.reading import Reading

ID_NAMES = ("id", "ids", "sample_id", "uuid", "name", "key", "index", "sample")
_SURELY_IDS = ("id", "ids", "sample_id")
_MANY = 20  # so many different texts are no categories
_SHOWN = 3


def find_ids(contents: Contents, reading: Reading, taken: set[str]) -> tuple[str | None, list[str]]:
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
            f"{listed(others)} looks like an id beside {shown(chosen)} — kept for the export, "
            "not used for the score; name the id column to use it"
        )
    return chosen, others


def find_unique_text(contents: Contents, texts: list[str]) -> str | None:
    """The first text column in which every row says something else."""
    if contents.rows < _MANY:
        return None
    for name in texts:
        cells = contents.text(name)
        if pc.count_distinct(cells).as_py() == len(cells) and _first_blank(cells) is None:
            contents.remarks.warn(
                f"column {shown(name)} holds {len(cells):,} different texts and is treated as the "
                "id — name the id column to confirm it"
            )
            return name
    return None


def read_ids(contents: Contents, name: str) -> tuple[str, ...]:
    """The ids of all rows; a missing or repeated id is an error."""
    cells = contents.text(name)
    blank = _first_blank(cells)
    if blank is not None:
        raise contents.bad_value("missing id", name, blank, "give every row its own id")
    ids = tuple(cells.to_pylist())
    if len(set(ids)) < len(ids):
        raise _repeated(contents, name, ids)
    return ids


def made_ids(contents: Contents) -> tuple[str, ...]:
    """Ids from the file's name and the row number, for files that have none."""
    return tuple(f"{contents.stem}:{row}" for row in range(1, contents.rows + 1))


def _mention(contents: Contents, name: str) -> None:
    """Point at an id that was found by a looser name and might have been meant otherwise."""
    surely = name.strip().casefold() in _SURELY_IDS
    if not surely and (contents.rows >= _MANY or numbers_in(contents.text(name)) is not None):
        contents.remarks.warn(
            f"column {shown(name)} is treated as the id — name the id column to confirm it"
        )
    else:
        contents.remarks.note(f"the ids are taken from column {shown(name)}")


def _first_blank(cells: pa.ChunkedArray) -> int | None:
    return first_true(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(cells)), 0))


def _repeated(contents: Contents, name: str, ids: tuple[str, ...]) -> DataError:
    first_row: dict[str, int] = {}
    pairs: list[tuple[str, int, int]] = []
    for row, text in enumerate(ids):
        if first_row.setdefault(text, row) != row:
            pairs.append((text, first_row[text], row))
    shown_pairs = pairs[:_SHOWN]
    places = contents.places([row for _, *both in shown_pairs for row in both])
    seen = ", ".join(
        f"{shown(text)} ({places[2 * i]} and {places[2 * i + 1]})"
        for i, (text, _, _) in enumerate(shown_pairs)
    )
    more = f" and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    return DataError(
        f"{contents.source}: ids in column {shown(name)} are repeated — {seen}{more} — "
        "make them unique, name another id column, or exclude this one"
    )
