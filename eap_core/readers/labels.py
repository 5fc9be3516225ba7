"""A column of 0 and 1 that says which rows are anomalies."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eap_core.errors import DataError, listed, shown
from eap_core.readers.contents import Contents
from eap_core.readers.csv_cells import FALSE_WORDS, TRUE_WORDS
from eap_core.readers.reading import Reading
from eap_core.table import Labels

LABEL_NAMES = ("label", "labels", "y", "is_anomaly", "anomaly", "target", "outlier")
_WORDS = dict.fromkeys(TRUE_WORDS, 1) | dict.fromkeys(FALSE_WORDS, 0)
_ZERO_OR_ONE = re.compile(r"\+?0*([01])([.,]0*)?", re.ASCII)
_NEITHER = -1
_SHOWN = 5


def find_label(contents: Contents, reading: Reading, taken: set[str]) -> tuple[str, Labels] | None:
    """The label column that was asked for or is called like one, with its labels."""
    if reading.label is not None:
        name = contents.require(reading.label, "label")
        return name, _checked(contents, name, _codes(contents, name))
    named = [
        name
        for name in contents.columns
        if name.strip().casefold() in LABEL_NAMES and name not in taken
    ]
    codes = {name: _codes(contents, name) for name in named}
    fitting = [name for name in named if (codes[name] != _NEITHER).all()]
    if len(fitting) > 1:
        raise DataError(
            f"{contents.source} has more than one possible label column — {listed(fitting)} — "
            "say which one is the label or exclude the others"
        )
    if not named:
        return None
    name = (fitting or named)[0]
    contents.remarks.note(f"the labels are taken from column {shown(name)}")
    return name, _checked(contents, name, codes[name])


def _codes(contents: Contents, name: str) -> npt.NDArray[np.int8]:
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


def _checked(contents: Contents, name: str, codes: npt.NDArray[np.int8]) -> Labels:
    wrong = np.flatnonzero(codes == _NEITHER).tolist()
    if wrong:
        cells = contents.text(name)
        places = contents.places(wrong[:_SHOWN])
        seen = ", ".join(
            f"{place} ({shown(cells[row].as_py())})"
            for place, row in zip(places, wrong, strict=False)
        )
        more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise DataError(
            f"{contents.source}: the label column {shown(name)} holds other values than 0 and 1 — "
            f"{seen}{more} — use 0 for normal and 1 for anomaly, or state that "
            "the column is a feature or excluded"
        )
    lowered = pc.ascii_lower(pc.ascii_trim_whitespace(contents.text(name)))
    if pc.any(pc.is_in(lowered, value_set=pa.array(list(_WORDS)))).as_py():
        contents.remarks.note(f"labels in {shown(name)}: true = yes = 1 and false = no = 0")
    codes.setflags(write=False)
    return codes
