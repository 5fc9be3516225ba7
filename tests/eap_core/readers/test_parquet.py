"""Tables in Parquet files: types, gaps, limits and damage."""

from __future__ import annotations

import datetime
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eap_core.readers import binary, files, read_table
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write


def _parquet(columns: dict[str, object], **how: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, **how)
    return buffer.getvalue()


def test_types(write: Write) -> None:
    content = _parquet(
        {
            "id": ["007", "7"],
            "int": pa.array([1, 2], pa.int8()),
            "half": pa.array(np.array([0.5, 2], dtype=np.float16)),
            "exact": [Decimal("1.25"), Decimal("2")],
            "flag": [True, False],
            "kind": pa.array(["x", None]).dictionary_encode(),
            "code": pa.array([7, 8]).dictionary_encode(),
            "label": [1, 0],
        }
    )
    table = read_table(write(content, "t.parquet"))
    assert table.ids == ("007", "7")
    assert table.columns == ("int", "half", "exact", "flag", "code")
    assert table.values.tolist() == [[1, 0.5, 1.25, 1, 7], [2, 2, 2, 0, 8]]
    assert table.extras == {"kind": ("x", "")}
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0]
    assert any("'flag' is read as true = 1" in note for note in table.notes)


def test_numeric_ids_are_not_rounded(write: Write) -> None:
    ids = [2**63 - 1, 2**63 - 2]
    content = _parquet({"id": ids, "a": [1, 2]})
    assert read_table(write(content, "t.parquet")).ids == tuple(str(n) for n in ids)


@pytest.mark.parametrize(
    "values",
    [
        [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 2,
        [[1], [2]],
        [{"x": 1}, {"x": 2}],
        [b"\x00", b"\xff"],
    ],
)
def test_other_types_are_refused_by_name(refusal: Refuse, values: list[object]) -> None:
    alone = refusal(_parquet({"odd": values}), "t.parquet")
    beside = refusal(_parquet({"a": [1, None], "odd": values}), "t.parquet")
    assert "column 'odd' is of the type" in alone
    assert "column 'odd' is of the type" in beside
    assert "column 'a' has a missing value in row 2" in beside


def test_excluded_times_travel_as_text(write: Write) -> None:
    content = _parquet({"a": [1, 2], "day": [datetime.date(2026, 1, 2)] * 2})
    table = read_table(write(content, "t.parquet"), Reading(exclude=("day",)))
    assert table.extras == {"day": ("2026-01-02", "2026-01-02")}


@pytest.mark.parametrize(
    ("values", "what"),
    [([1.0, None], "missing value"), ([1.0, np.nan], "'nan'"), ([1.0, np.inf], "'inf'")],
)
def test_gaps_are_refused_with_their_row(refusal: Refuse, values: list[float], what: str) -> None:
    message = refusal(_parquet({"b": [1, 2], "a": pa.array(values)}), "t.parquet")
    assert what in message
    assert "row 2, column 'a'" in message


def test_bad_names_and_text(refusal: Refuse) -> None:
    assert "no name" in refusal(_parquet({"": [1]}), "t.parquet")
    message = refusal(_parquet({"a": [1], "s": ["x\x00y"]}), "t.parquet")
    assert "NUL" in message
    assert "row 1, column 's'" in message


def test_limits_come_before_reading(refusal: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    content = _parquet({"a": np.zeros(100), "b": np.zeros(100)})
    monkeypatch.setattr(binary, "_read", None)  # reading would fail
    monkeypatch.setattr(files, "MAX_ROWS", 99)
    assert "100 rows; limit is 99" in refusal(content, "t.parquet")
    monkeypatch.setattr(files, "MAX_ROWS", 100)
    monkeypatch.setattr(files, "MAX_CELLS", 199)
    assert "100 rows × 2 columns; limit is 199" in refusal(content, "t.parquet")
    monkeypatch.setattr(files, "MAX_COLUMNS", 1)
    assert "2 columns; limit is 1" in refusal(content, "t.parquet")


def test_a_long_text_in_many_rows(refusal: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "MAX_TEXT", 10_000_000)
    content = _parquet({"a": np.zeros(20_000), "s": ["x" * 1_000] * 20_000})
    assert len(content) < 10_000
    assert "the text in column 's'" in refusal(content, "t.parquet")


@pytest.mark.parametrize("promised", [9, 11])
def test_rows_are_counted_while_reading(tmp_path: Path, promised: int) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(_parquet({"a": np.arange(10.0)}))
    with pq.ParquetFile(path) as file:
        assert binary._read(file, ["a"], 10).num_rows == 10
        with pytest.raises(ValueError, match="do not add up"):
            binary._read(file, ["a"], promised)


def test_damage_is_one_sentence(refusal: Refuse) -> None:
    content = _parquet({"a": np.arange(100.0)})
    for broken in (content[:-1], content[:50], content[:4] + content[50:], b"PAR1"):
        assert "damaged or incomplete" in refusal(broken, "t.parquet")


def test_a_damaged_footer_does_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow aborts when asked about a column whose size statistics do not fit its schema."""
    content = _parquet({"a": np.arange(30.0), "s": ["x"] * 30})
    path = tmp_path / "t.parquet"
    code = (
        "import pathlib, sys\n"
        "from eap_core.base.errors import DataError\n"
        "from eap_core.readers import Reading, read_table\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "content = path.read_bytes()\n"
        "for i in range(len(content) - 400, len(content)):\n"
        "    for bit in (1, 4, 16):\n"
        "        path.write_bytes(content[:i] + bytes([content[i] ^ bit]) + content[i + 1 :])\n"
        "        try:\n"
        "            read_table(path)\n"
        "        except DataError:\n"
        "            pass\n"
    )
    path.write_bytes(content)
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr[-500:]
