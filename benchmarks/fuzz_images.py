"""Damaged images and archives at random: each must load or be refused with a DataError, soon.

    python -m benchmarks.fuzz_images --seconds 300 [--seed 0] [--more FOLDER]

Workers run in processes with little memory; one that dies or takes longer than ten seconds over a
file counts as a finding, and its file is kept in the folder named at the end.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import resource
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.fuzz_damage import mutated
from eap_core.base.errors import DataError
from eap_core.images import read_images
from eap_core.images.decode import decode, thumbnail
from eap_core.images.layout import layout_of
from eap_core.images.sources import gather

MEMORY = 3 * 1024**3
HANG = 10.0
MORE = (".png", ".jpg", ".zip")
Options = dict[str, Any]


def seeds() -> Iterator[tuple[str, bytes]]:
    """Small files of every kind that is read."""
    rng = np.random.default_rng(1)
    colour = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    deep = Image.fromarray(rng.integers(0, 2**16, (9, 9), dtype=np.uint16))
    several: Options = {"save_all": True, "append_images": [colour.rotate(90)]}
    for kind in ("png", "tiff", "webp"):
        yield kind, _saved(colour, kind, several)
        yield kind, _saved(colour.convert("RGBA"), kind, {})
    for kind in ("png", "jpeg", "bmp", "tiff", "webp"):
        yield kind, _saved(colour, kind, {})
        yield kind, _saved(colour, kind, {"exif": _exif()} if kind != "bmp" else {})
    for kind in ("png", "bmp", "tiff"):
        yield kind, _saved(colour.convert("P"), kind, {})
        yield kind, _saved(colour.convert("1"), kind, {})
    for kind in ("png", "tiff"):
        yield kind, _saved(deep, kind, {})
    for packing in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        yield "tiff", _saved(colour, "tiff", {"compression": packing})
    yield "tiff", _saved(colour.convert("1"), "tiff", {"compression": "group4"})
    yield "jpeg", _saved(colour, "jpeg", {"progressive": True})
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield "zip", _archive(_saved(colour, "png", {}), method)


def _saved(image: Image.Image, kind: str, options: Options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _exif() -> bytes:
    exif = Image.Exif()
    exif[274], exif[306], exif[315] = 6, "2026:01:01 00:00:00", "nobody" * 20
    return exif.tobytes()


def _archive(picture: bytes, method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in ("normal/a.png", "bad/crack/b.png", "masks/crack/b.png", "generated/g/c.png"):
            archive.writestr(name, picture)
        archive.writestr("metadata.csv", "file_name,prompt\nnormal/a.png,a bottle\n")
    return stream.getvalue()


def try_file(path: Path, kind: str) -> str:
    """What came of one file: loaded, refused, or the name of the finding."""
    try:
        if kind == "zip":
            found = gather(path, name="x.zip")
            done = read_images(found, layout_of(found), "candidate", lambda *_: None)
            return "loaded" if done.items else "refused"
        picture = decode(path.read_bytes(), path.name)
        thumbnail(picture.rgb)
    except DataError as error:
        return "refused" if "\n" not in str(error) else "line break in the message"
    except Exception as error:
        return f"finding: {type(error).__name__}: {error}"[:200]
    return "loaded"


def work(pipe: Connection) -> None:
    """Try the files whose names come through the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    while True:
        path, kind = pipe.recv()
        pipe.send(try_file(path, kind))


def start() -> tuple[multiprocessing.Process, Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def outcome_of(pipe: Connection, path: Path, kind: str) -> str:
    pipe.send((path, kind))
    if not pipe.poll(HANG):
        return "finding: hangs"
    try:
        return str(pipe.recv())
    except EOFError:
        return "finding: the process died"


def fuzz(seconds: float, seed: int, more: Path | None) -> Counter[str]:
    """Count what came of damaged files until the time is up; files of findings are kept."""
    rng, files = np.random.default_rng(seed), list(seeds())
    if more is not None:
        small = (path for path in sorted(more.iterdir()) if path.stat().st_size < 10**6)
        files += [(p.suffix[1:], p.read_bytes()) for p in small if p.suffix in MORE]
    folder = Path(tempfile.mkdtemp(prefix="fuzz_images_"))
    counts: Counter[str] = Counter()
    process, pipe = start()
    end = time.monotonic() + seconds
    slowest = 0.0
    while time.monotonic() < end:
        kind, data = files[int(rng.integers(len(files)))]
        _, other = files[int(rng.integers(len(files)))]
        path = folder / "x.bin"
        path.write_bytes(mutated(data, other, rng))
        began = time.monotonic()
        outcome = outcome_of(pipe, path, kind)
        slowest = max(slowest, time.monotonic() - began)
        counts[f"{kind} {outcome}"] += 1
        if outcome not in ("loaded", "refused"):
            path.rename(folder / f"finding_{sum(counts.values())}.{kind}")
        if outcome in ("finding: hangs", "finding: the process died"):
            process.kill()
            process, pipe = start()
    process.kill()
    print(f"{sum(counts.values()):,} files in {seconds:.0f} s, the slowest took {slowest:.2f} s")
    print(f"files of findings: {folder}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--more", type=Path, help="a folder of further files to damage")
    asked = parser.parse_args()
    for outcome, count in sorted(fuzz(asked.seconds, asked.seed, asked.more).items()):
        print(f"{count:8,}  {outcome}")


if __name__ == "__main__":
    main()
