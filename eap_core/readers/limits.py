"""How large a table may be; every reader checks these before it reads a file in full."""

from __future__ import annotations

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


def excess(rows: int, columns: int) -> str | None:
    """What about a table of this size is over the limit, if anything."""
    if rows > MAX_ROWS:
        return f"{rows:,} rows; limit is {MAX_ROWS:,} rows"
    if columns > MAX_COLUMNS:
        return f"{columns:,} columns; limit is {MAX_COLUMNS:,} columns"
    if rows * columns > MAX_CELLS:
        return f"{rows:,} rows × {columns:,} columns; limit is {MAX_CELLS:,} values"
    return None
