"""What a person should know of many images at once: their sizes and how they were converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eap_core.errors import listed, shown
from eap_core.images.facts import Facts


def notes_on(facts: Mapping[str, Facts], odd_masks: Sequence[str]) -> Iterator[str]:
    """One note per matter, with the number of images and the first of them."""
    sizes = Counter((fact.width, fact.height) for fact in facts.values())
    if len(sizes) > 1:
        ordered = sorted(sizes, key=lambda size: size[0] * size[1])
        (w, h), (W, H) = ordered[0], ordered[-1]
        yield (
            f"the images have {len(sizes):,} sizes, from {w:,} × {h:,} to {W:,} × {H:,} pixels; "
            "for features all are resized alike"
        )
    if len({fact.grey for fact in facts.values()}) > 1:
        grey = sum(fact.grey for fact in facts.values())
        yield f"{grey:,} of {len(facts):,} images are grey, the others have colours"
    matters: dict[str, list[str]] = {}
    for name, fact in facts.items():
        for note in fact.notes:
            matters.setdefault(note, []).append(name)
    for note, names in matters.items():
        yield f"{note} — {len(names):,} images, the first is {shown(names[0])}"
    if odd_masks:
        names_shown = listed(list(odd_masks), 3)
        yield f"{len(odd_masks):,} masks have another size than their image: {names_shown}"
