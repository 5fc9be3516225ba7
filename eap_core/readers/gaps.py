"""Numbers that are missing: refused, left out with their rows, or left open to be filled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eap_core.errors import DataError, listed, shown
from eap_core.missing import MISSING_ADVICE
from eap_core.readers.contents import Contents, Features
from eap_core.readers.reading import Reading
from eap_core.table import Table, counted

_Bools = npt.NDArray[np.bool_]
_SHOWN = 3


def complete_rows(contents: Contents, features: Features, reading: Reading) -> _Bools | None:
    """The rows to keep if gaps are to be dropped; None if all rows are kept."""
    gaps = {name: np.isnan(values) for name, values in features.numbers.items()}
    gaps = {name: gap for name, gap in gaps.items() if gap.any()}
    if not gaps:
        return None
    if reading.missing == "refuse":
        raise _refusal(contents, gaps)
    counts = counted({name: int(gap.sum()) for name, gap in gaps.items()})
    if reading.missing == "median":
        contents.remarks.note(f"values are missing: {counts} — to be filled with a median")
        return None
    keep: _Bools = ~np.any(list(gaps.values()), axis=0)
    return keep


def without_gaps(table: Table, keep: _Bools, contents: Contents) -> Table:
    """The table without the rows that miss a value, and with a warning that says which."""
    dropped = np.flatnonzero(~keep).tolist()
    if len(dropped) == len(keep):
        raise DataError(
            f"{contents.source}: every row misses a value, none is left — exclude the columns that "
            "have gaps"
        )
    places = ", ".join(contents.places(dropped[:_SHOWN]))
    more = f" and {len(dropped) - _SHOWN:,} more" if len(dropped) > _SHOWN else ""
    contents.remarks.warn(
        f"{len(dropped):,} of {len(keep):,} rows are dropped because a value is missing — "
        f"{places}{more}"
    )
    return table.only(keep)


def _refusal(contents: Contents, gaps: dict[str, _Bools]) -> DataError:
    name, gap = next(iter(gaps.items()))
    row = int(np.argmax(gap))
    cell = contents.columns[name][row].as_py()
    what = (
        "missing value" if cell is None or not str(cell).strip() else f"missing value {shown(cell)}"
    )
    total = int(sum(gap.sum() for gap in gaps.values()))
    if total > 1:
        what += f", one of {total:,} in {listed(list(gaps))}"
    return contents.bad_value(what, name, row, MISSING_ADVICE)
