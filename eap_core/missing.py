"""What counts as missing in a table, and what may be done about it."""

from __future__ import annotations

from typing import Literal

Missing = Literal["refuse", "drop", "median"]
# What programs and people write into a cell of a number or a category that is not there.
MISSING_WORDS = (
    *("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "nil", "missing"),
    *("-", "?", "."),
)
MISSING_ADVICE = (
    "fill these cells, exclude the column, or set missing to 'drop' (leaves such rows out) or "
    "'median' (of the training normals)"
)
