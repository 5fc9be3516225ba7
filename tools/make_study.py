"""Puts a study's figures into docs/study.md: ``python -m tools.make_study RESULTS``.

The words of the page are written by hand; what stands between two markers is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from eap_core.study import results
from eap_core.study.figures import write_figures

PAGE = Path(__file__).parents[1] / "docs" / "study.md"
FIGURES = PAGE.parent / "study"
METRICS = ("AUC_qlt", "AULC_g", "ACC_g", "AULC_p")


def main() -> None:
    cells = pd.read_parquet(Path(sys.argv[1]) / "cells.parquet")
    found = results.summarise(cells)
    page = PAGE.read_text(encoding="utf-8")
    for track in ("tables", "images"):
        page = put(page, f"{track} against the paper", against_the_paper(found.table, track))
        page = put(page, f"{track} by data set", by_data_set(cells, track))
        page = put(page, f"{track} priors", priors(found.sweep, track))
        page = put(page, f"{track} differences", differences(cells, track))
    PAGE.write_text(page, encoding="utf-8")
    write_figures(cells, FIGURES)


def put(page: str, name: str, text: str) -> str:
    """The page with the text between the markers of that name."""
    marked = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"docs/study.md has no place for {name}")
    return marked.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def against_the_paper(table: pd.DataFrame, track: str) -> str:
    """Means and mean ranks of ours, the paper's behind them in brackets."""
    theirs = results.read_published().set_index(["data", "evaluator"])
    lines = []
    for _, row in table[table["data"] == track].iterrows():
        known = theirs.loc[(track, row["evaluator"])]
        cells = [f"{row[m]:.3f} ({known[m]:.3f})" for m in METRICS]
        ranks = [f"{row[m]:.2f} ({known[m]:.2f})" for m in ("rAUC_qlt", "avg_rank")]
        lines.append([str(row["evaluator"]), *cells, *ranks])
    return markdown(["evaluator", *METRICS, "rank by AUC_qlt", "rank by all four"], lines)


def by_data_set(cells: pd.DataFrame, track: str) -> str:
    """EAP's AUC_qlt over seeds, and who was best."""
    mine = cells[(cells["track"] == track) & (cells["kind"] == "evaluator")]
    lines = []
    for name, rows in mine.groupby("dataset"):
        means = rows.groupby("method")["AUC_qlt"].mean()
        eap = rows.loc[rows["method"] == "eap", "AUC_qlt"]
        best = str(means.drop("eap").idxmax())
        lines.append(
            [
                str(name),
                f"{eap.mean():.3f} ({eap.min():.3f} to {eap.max():.3f})",
                f"{results.NAMES[best]} {means[best]:.3f}",
                str(int(means.rank(ascending=False)["eap"])),
            ]
        )
    return markdown(["data set", "EAP, over seeds", "best of the others", "EAP's place"], lines)


def priors(sweep: pd.DataFrame, track: str) -> str:
    rows = sweep[sweep["data"] == track]
    lines = [
        [str(row["prior"]), *(f"{row[m]:.3f}" for m in METRICS), f"{row['avg_rank']:.2f}"]
        for _, row in rows.iterrows()
    ]
    return markdown(["prior", *METRICS, "rank by all four"], lines)


def differences(cells: pd.DataFrame, track: str) -> str:
    """EAP against each other evaluator: Wilcoxon over data sets, after Holm."""
    found = results.compare_evaluators(cells, track)
    lines = [
        [pair.other, f"{pair.better} of {found.datasets}", f"{pair.corrected:.4f}"]
        for pair in found.against
    ]
    return markdown(["EAP against", "better on", "p, corrected"], lines)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body])


if __name__ == "__main__":
    main()
