"""``python -m benchmarks [NAME …]``: measure, print, and keep the figures in docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import eap, evaluators, image_features, intake, scale, scaling, store, tables
from benchmarks.measure import markdown

ALL = {
    "eap": eap,
    "evaluators": evaluators,
    "scale": scale,
    "scaling": scaling,
    "tables": tables,
    "intake": intake,
    "image_features": image_features,
    "store": store,
}
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench` on two cores. Every figure stands beside a reference measured in the same run;
compare ratios, not seconds.
"""


def main() -> None:
    chosen = sys.argv[1:] or list(ALL)
    parts = []
    for name in chosen:
        parts.append(markdown(ALL[name].TITLE, ALL[name].NOTE, ALL[name].run()))
        print(parts[-1], flush=True)
    if chosen == list(ALL):
        PAGE.write_text("\n".join([HEAD, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
