"""Text that an export made harmless for spreadsheets, as it was before.

An export puts one quote in front of every text that a spreadsheet would take for a formula and
leaves none without. So a column is taken for exported if it has such quotes and no bare formula;
in any other column a quote is the writer's own and stays.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from eap_core.writers import neutral, original


def is_neutral(texts: Iterable[str]) -> bool:
    """Whether these texts look as an export would have left them, with something to take back."""
    quoted = False
    for text in texts:
        if original(text) != text:
            quoted = True
        elif neutral(text) != text:
            return False
    return quoted


def neutral_columns(columns: dict[str, pa.ChunkedArray]) -> frozenset[str]:
    """The columns that an export made harmless."""
    return frozenset(
        name
        for name, cells in columns.items()
        if pc.any(pc.starts_with(cells, "'")).as_py() and is_neutral(pc.unique(cells).to_pylist())
    )


def restored(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column without the quotes of an export."""
    distinct = pc.unique(cells)
    before = pa.array([original(text) for text in distinct.to_pylist()], pa.string())
    return pa.chunked_array(
        [pc.take(before, pc.index_in(cells, value_set=distinct).combine_chunks())]
    )
