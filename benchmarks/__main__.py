"""``python -m benchmarks [NAME …]``: measure, print, and keep each part in docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import (
    app,
    clip,
    eap,
    evaluators,
    export,
    gallery,
    image_features,
    insight,
    intake,
    large,
    reviewers,
    scale,
    scaling,
    startup,
    store,
    study,
    tables,
)
from benchmarks.measure import markdown

ALL = {
    "eap": eap,
    "evaluators": evaluators,
    "scale": scale,
    "scaling": scaling,
    "large": large,
    "tables": tables,
    "intake": intake,
    "image_features": image_features,
    "clip": clip,
    "store": store,
    "insight": insight,
    "gallery": gallery,
    "export": export,
    "app": app,
    "reviewers": reviewers,
    "study": study,
    "startup": startup,
}
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench` on two cores. Every figure stands beside a reference measured in the same run;
compare ratios, not seconds.
"""


def main() -> None:
    for name in sys.argv[1:] or list(ALL):
        part = markdown(ALL[name].TITLE, ALL[name].NOTE, ALL[name].run())
        print(part, flush=True)
        PAGE.write_text(with_part(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8")


def with_part(page: str, part: str) -> str:
    """The page with this part in the place of the one measured before, or at the end."""
    parts = [f"## {text}".rstrip() + "\n" for text in page.split("\n## ")[1:]]
    title = part.split("\n", 1)[0]
    same = [i for i, known in enumerate(parts) if known.split("\n", 1)[0] == title]
    if same:
        parts[same[0]] = part
    else:
        parts.append(part)
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    main()
