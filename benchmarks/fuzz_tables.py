"""Damaged tables read with random choices: only an error that a person can act on may come out.

    python -m benchmarks.fuzz_tables 180 [folder with more tables]

A child process with limited memory does the reading, so that a crash is a finding and not the end.
"""

from __future__ import annotations

import io
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eap_core.base.errors import DataError, SettingsError
from eap_core.base.prepare import problem_from_tables
from eap_core.base.table import Table
from eap_core.readers import read_table
from eap_core.readers.files import Reading

MEMORY = 4 * 1024**3
LONGEST = 10  # seconds for one file
LARGEST = 100_000  # bytes of a file that is worth mutating thousands of times
KINDS = (".csv", ".parquet", ".npz", ".npy", ".tsv", ".txt")
COLUMNS = ("a", "b, c", "kind", "id", "f0", "f1", "label", "source", "f2", "'=x", "=x", "note")
PIECES = [b'"', b",", b";", b"\t", b"|", b"\r", b"\n", b"\n\n", b"\x00", b"\xc3", b"\xff" * 4]
PIECES += [b"nan", b"NA", b"1e999", b"'=", b"'", b"=1+1", b"1.234,5", b"1,234.5", b"-", b"((("]


def sources(folder: Path | None) -> list[tuple[str, bytes]]:
    """Tables of our own making, and those of the folder."""
    x = np.random.default_rng(0).normal(size=(30, 3))
    words = [("red", "blue", "", "NA")[i % 4] for i in range(30)]
    rows = "".join(
        f'n{i},{a:.4f},"{b * 1e4:,.2f}",{word},{"" if i % 9 == 3 else c},é"\n'
        for i, ((a, b, c), word) in enumerate(zip(x, words, strict=True))
    )
    text = f'id,a,"b, c",kind,\'=x,note\n{rows}'
    comma = "a;kind;source\n" + "".join(
        f"{a:.3f};{word};'-{i}\n".replace(".", ",")
        for i, (a, word) in enumerate(zip(x[:, 0], words, strict=True))
    )
    numbers = "".join(f"{a} {b} {c}\n" for a, b, c in x)
    made = [(".csv", text.encode()), (".csv", comma.encode("utf-16")), (".txt", numbers.encode())]
    tabs = "a\tkind\tnote\n" + "".join(
        f"{a:.3f}\t{word}\té{i}\n" for i, (a, word) in enumerate(zip(x[:, 0], words, strict=True))
    )
    made.append((".tsv", tabs.encode("cp1252")))
    named = "a b f2\n" + numbers
    made.append((".txt", named.replace(" ", "|").encode()))
    buffer = io.BytesIO()
    columns: dict[str, Any] = {
        "id": [f"n{i}" for i in range(30)],
        "a": [None, *x[1:, 0]],
        "f1": x[:, 1],
        "kind": words,
    }
    columns["source"] = pa.array(words).dictionary_encode()
    pq.write_table(pa.table(columns), buffer)
    made.append((".parquet", buffer.getvalue()))
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": x[:, 0], "f1": x[:, 1], "kind": ["r", "b"] * 15}), buffer)
    made.append((".parquet", buffer.getvalue()))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=x, y=np.arange(30) % 2, kind=np.array(words), source=x[:, 0])
    made.append((".npz", buffer.getvalue()))
    buffer = io.BytesIO()
    np.save(buffer, np.where(x > 2, np.nan, x))
    made.append((".npy", buffer.getvalue()))
    given = sorted(folder.iterdir()) if folder else []
    # Our own are sound and more often worth a mutation than files that are broken already.
    return 4 * made + [(p.suffix, p.read_bytes()) for p in given if p.suffix in KINDS]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Nothing, or some flipped bits, cuts, splices of the file's own bytes and things put in."""
    for _ in range(rng.choice([0, 1, 1, 2, 4, 9]) if len(content) <= LARGEST else 1):
        at, other = sorted(rng.choices(range(len(content) + 1), k=2))
        match rng.randrange(4):
            case 0 if at < len(content):
                flipped = bytes([content[at] ^ (1 << rng.randrange(8))])
                content = content[:at] + flipped + content[at + 1 :]
            case 1:
                content = content[:at] if rng.random() < 0.2 else content[:at] + content[at + 5 :]
            case 2:
                content = content[:at] + content[other : other + 40] + content[at:]
            case _:
                content = content[:at] + rng.choice(PIECES) + content[at:]
    return content


def chosen(rng: random.Random) -> dict[str, Any]:
    """Some of all choices, possible ones and others."""

    def some() -> tuple[str, ...]:
        return tuple(rng.sample(COLUMNS, rng.choice([0, 0, 1, 2])))

    everything: dict[str, Any] = {
        "label": rng.choice(COLUMNS),
        "id_column": rng.choice(COLUMNS),
        "array": rng.choice(["X", "A", "y"]),
        "exclude": some(),
        "metadata": some(),
        "categorical": some(),
        "features": some(),
        "missing": rng.choice(["refuse", "drop", "drop", "median", "median", "mean"]),
        "encoding": rng.choice(["utf-8", "utf-16", "cp1252", "gb18030", "latin-1", "rot13"]),
        "delimiter": rng.choice([",", ";", "\t", " ", "|", ".", "'"]),
        "decimal": rng.choice([".", ","]),
        "header": rng.choice([True, False]),
    }
    names = rng.sample(sorted(everything), rng.choice([0, 1, 1, 2, 2, 3, 5]))
    return {name: everything[name] for name in names}


def used(table: Table) -> str:
    """What becomes of a table that was read: it must serve as training data and candidates."""
    whole = np.isfinite(table.values) | (np.isnan(table.values) & (table.missing == "median"))
    assert whole.all(), "a value that is neither finite nor an allowed gap"
    assert len({*table.ids}) == len(table) == len(table.values), "ids"
    assert all(len(cells) == len(table) for cells in table.extras.values()), "extras"
    try:
        problem = problem_from_tables(table, table)
    except DataError:
        return "read"
    assert np.isfinite(problem.x_candidates).all(), "not finite"
    return "problem"


def outcome(path: Path, kind: str, choices: dict[str, Any]) -> str:
    try:
        table = read_table(path, Reading(**choices), name=f"t{kind}")
    except (DataError, SettingsError) as error:
        kept = error
    else:
        return used(table)
    assert "\n" not in str(kept), "a message of several lines"
    return type(kept).__name__


def work(seconds: float, seed: int, scratch: Path, folder: Path | None) -> None:
    """Read until the time is over; the case at hand stays on disk."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, files = random.Random(seed), sources(folder)
    small = [file for file in files if len(file[1]) <= LARGEST]
    counts: Counter[str] = Counter()
    slowest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        kind, content = rng.choice(files if rng.random() < 0.01 else small)
        choices = chosen(rng)
        (scratch / "case").write_bytes(mutated(content, rng))
        (scratch / "choices.json").write_text(json.dumps([kind, choices]))
        signal.alarm(LONGEST)
        started = time.monotonic()
        counts[f"{kind} {outcome(scratch / 'case', kind, choices)}"] += 1
        slowest = max(slowest, time.monotonic() - started)
        signal.alarm(0)
    print(json.dumps({"cases": counts.total(), "slowest": round(slowest, 2)} | dict(counts)))


def main() -> None:
    seconds, folder = float(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None
    seed = time.time_ns() % 2**32
    scratch = Path(tempfile.mkdtemp(prefix="fuzz_tables_"))
    code = (
        "import sys; from pathlib import Path; from benchmarks.fuzz_tables import work; "
        f"work({seconds}, {seed}, Path(sys.argv[1]), {str(folder) if folder else None!r} and "
        "Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, str(scratch), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout or done.stderr[-3000:])
    print(f"seed {seed}, exit code {done.returncode}")
    if done.returncode:
        sys.exit(f"the case is kept in {scratch}")


if __name__ == "__main__":
    main()
