"""What the image demo consists of: every picture's name, role, way of drawing and metadata.

Nothing is rendered here, and no picture's entry depends on another picture having been drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from types import MappingProxyType

import numpy as np

from eap_core.base.table import Role
from eap_core.scoring.posterior import INDISTINGUISHABLE, REALISTIC, UNREALISTIC
from tools.demo_images import collage, timid, wild
from tools.demo_images.defects import DEFECTS
from tools.demo_images.picture import Picture, damaged
from tools.demo_images.scene import Scene, stream

Draw = Callable[[Scene, np.random.Generator, str], Picture]

NORMALS, ANOMALIES, TEST_NORMALS, TEST_ANOMALIES = 120, 12, 20, 20


@dataclass(frozen=True)
class Way:
    """A way in which a generator draws: what it makes of it in truth, and how often it does so."""

    draw: Draw
    truth: str
    count: int


GENERATORS: Mapping[str, tuple[Way, ...]] = MappingProxyType(
    {
        "careful-inpaint": (Way(damaged, REALISTIC, 40),),
        "timid-inpaint": (
            Way(timid.untouched, INDISTINGUISHABLE, 4),
            Way(timid.encoded_again, INDISTINGUISHABLE, 10),
            Way(timid.faint, INDISTINGUISHABLE, 16),
        ),
        "wild-dream": (
            Way(wild.neon, UNREALISTIC, 6),
            Way(wild.floating, UNREALISTIC, 6),
            Way(wild.holes_outside, UNREALISTIC, 6),
            Way(wild.melted, UNREALISTIC, 6),
            Way(wild.inverted, UNREALISTIC, 6),
        ),
        "cut-and-paste": (
            Way(collage.seams, UNREALISTIC, 14),
            Way(collage.fitting, REALISTIC, 3),
            Way(collage.plain, INDISTINGUISHABLE, 3),
        ),
    }
)
# Delivered twice under two names, as happens, so that the health report has something to find.
REPEATED: Mapping[str, str] = MappingProxyType(
    {
        "generated/careful-inpaint/corrosion-40.jpg": "generated/careful-inpaint/corrosion-12.jpg",
        "generated/wild-dream/dent-30.jpg": "generated/wild-dream/dent-26.jpg",
    }
)
_PROMPTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scratch": (
            "a long scratch across the face",
            "a deep scratch with fine hairlines beside it",
            "a scratched steel flange, raw metal visible in the groove",
        ),
        "dent": (
            "a dent in the face from a hard impact",
            "a dented steel flange, the metal pushed in between two bolt holes",
            "one deep dent with a raised rim",
        ),
        "closed-hole": (
            "one bolt hole is closed",
            "one of the six bolt holes is not open",
            "a flange with only five open bolt holes",
        ),
        "corrosion": (
            "a patch of orange rust on the face",
            "a corroded area with a ragged border",
            "rust spots and a brown stain near a bolt hole",
        ),
    }
)


@dataclass(frozen=True)
class Entry:
    """One picture of the demo, not yet drawn.

    ``scene`` and ``strokes`` name the random numbers of its photograph and of what is drawn into
    it; ``draw`` is missing for a part without a fault.
    """

    name: str
    role: Role
    scene: str
    strokes: str
    draw: Draw | None
    metadata: Mapping[str, str]


def catalogue(seed: int = 0) -> tuple[Entry, ...]:
    """All entries: normals, real anomalies, candidates, then those held out for testing."""
    return (
        *(_faultless(_flange("normal", i), "normal") for i in range(1, NORMALS + 1)),
        *_anomalies("anomaly", ANOMALIES, first=201),
        *_candidates(seed),
        *(_faultless(_flange("test_normal", 301 + i), "test_normal") for i in range(TEST_NORMALS)),
        *_anomalies("test_anomaly", TEST_ANOMALIES, first=401),
    )


def _flange(folder: str, number: int) -> str:
    """No number is used twice, so that a mask's file name alone tells what it belongs to."""
    return f"{folder}/flange-{number:03d}.jpg"


def _faultless(name: str, role: Role) -> Entry:
    return Entry(name, role, scene=name, strokes=name, draw=None, metadata=MappingProxyType({}))


def _anomalies(role: Role, count: int, first: int) -> Iterator[Entry]:
    for number, defect in zip(range(first, first + count), cycle(DEFECTS), strict=False):
        name = _flange(f"{role}/{defect}", number)
        yield Entry(name, role, name, name, damaged, MappingProxyType({"defect_type": defect}))


def _candidates(seed: int) -> Iterator[Entry]:
    """The candidates in the order of the generators, each made from a normal of its own."""
    sources = iter(stream(seed, "sources").permutation(NORMALS))
    made: dict[str, Entry] = {}
    for generator, ways in GENERATORS.items():
        drawn = [way for way in ways for _ in range(way.count)]
        for i, (way, defect) in enumerate(zip(drawn, cycle(DEFECTS), strict=False), start=1):
            name = f"generated/{generator}/{defect}-{i:02d}.jpg"
            source = _flange("normal", int(next(sources)) + 1)
            made[name] = Entry(
                name,
                "candidate",
                source,
                name,
                way.draw,
                MappingProxyType(
                    {
                        "generator": generator,
                        "defect_type": defect,
                        "prompt": str(stream(seed, name, "prompt").choice(_PROMPTS[defect])),
                        "source": source,
                        "truth": way.truth,
                    }
                ),
            )
    for name, original in REPEATED.items():
        made[name] = replace(made[original], name=name)
    yield from made.values()
