"""Damaged files are refused or read, and nothing else happens to them."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eap_core.base.errors import DataError
from eap_core.readers import read_table

ROUNDS = 400
X = np.random.default_rng(0).normal(size=(12, 3))
CHUNKS = [b'"', b",", b";", b"\r", b"\n\n", b"\x00", b"\xc3", b"nan", b"1e999", b"\xff" * 4, b"((("]


def _csv() -> bytes:
    rows = "".join(f'n{i},{x:.4f},"{y * 1e4:,.2f}",é"\n' for i, (x, y, _) in enumerate(X))
    return f'id,a,"b, c",note\n{rows}'.encode()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    columns = {"id": [f"i{i}" for i in range(12)], "a": X[:, 0], "b": np.arange(12) % 2 == 0}
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _npz() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, X=X, y=np.arange(12) % 2, ids=np.array([f"i{i}" for i in range(12)])
    )
    return buffer.getvalue()


def _npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, X)
    return buffer.getvalue()


def _mutated(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, a cut, a splice of the file's own bytes, or something put in."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, other = sorted(rng.choices(range(len(content) + 1), k=2))
        match rng.randrange(4):
            case 0 if at < len(content):
                flipped = bytes([content[at] ^ (1 << rng.randrange(8))])
                content = content[:at] + flipped + content[at + 1 :]
            case 1:
                content = content[:at] if rng.random() < 0.3 else content[:at] + content[at + 5 :]
            case 2:
                content = content[:at] + content[other : other + 40] + content[at:]
            case _:
                content = content[:at] + rng.choice(CHUNKS) + content[at:]
    return content


@pytest.mark.parametrize(
    ("content", "suffix"),
    [(_csv(), "csv"), (_parquet(), "parquet"), (_npz(), "npz"), (_npy(), "npy")],
    ids=["csv", "parquet", "npz", "npy"],
)
def test_no_damage_does_harm(tmp_path: Path, content: bytes, suffix: str) -> None:
    rng = random.Random(20_261_116)
    path = tmp_path / f"t.{suffix}"
    messages = []
    for _ in range(ROUNDS):
        path.write_bytes(_mutated(content, rng))
        try:
            table = read_table(path)
        except DataError as error:
            messages.append(str(error))
            continue
        assert np.isfinite(table.values).all()
        assert len({*table.ids}) == len(table)
    assert 0 < len(messages) < ROUNDS
    assert not [message for message in messages if "\n" in message]
