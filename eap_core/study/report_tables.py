"""The report's tables, every cell escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from eap_core.study.auc_chart import signed
from eap_core.study.paper import comparison, published
from eap_core.study.report_words import p_value
from eap_core.study.results import METRICS, RANKS, by_dataset, in_order
from eap_core.study.significance import Significance
from eap_core.study.svg import element, written


def main_table(table: pd.DataFrame, track: str) -> str:
    """Means beside the paper's, with the difference; the best of ours in bold."""
    rows = table[table["data"] == track]
    both = comparison(table).set_index(["data", "evaluator", "metric"])
    best = {m: float((rows[m] * sign).max()) * sign for m, sign in METRICS.items()}
    paper = published().set_index(["data", "evaluator"])["avg_rank"]
    # Ranks among another number of evaluators would not compare.
    comparable = set(rows["evaluator"]) == set(published()["evaluator"])
    body = []
    for name, rank in zip(rows["evaluator"], rows["avg_rank"], strict=True):
        cells = []
        for metric in METRICS:
            own, theirs = (float(both.loc[(track, name, metric), c]) for c in ("ours", "paper"))
            cells.append(_beside(own, theirs, 3, own == best[metric]))
        top = rank == rows["avg_rank"].min()
        if comparable:
            cells.append(_beside(float(rank), float(paper[(track, name)]), 2, top))
        else:
            cells.append(_number(f"{rank:.2f}", top))
        body.append([_head(name), *cells])
    trio = [element("span", {"class": name}, name) for name in ("ours", "paper", "gap")]
    heads = [_titled(metric, sign, *trio) for metric, sign in METRICS.items()]
    last = _titled("Mean rank", -1, *(trio if comparable else ()))
    caption = "Means over all experiments: ours, the paper’s, and the gap between them"
    return _table(caption, ["Evaluator", *heads, last], body, "main")


def rank_table(table: pd.DataFrame, track: str, kind: str) -> str:
    """Mean ranks by each metric."""
    rows = table[table["data"] == track]
    columns = [*RANKS, "avg_rank"]
    body = [
        [_head(str(row[kind])), *(_number(f"{row[column]:.2f}") for column in columns)]
        for _, row in rows.iterrows()
    ]
    heads = [kind.capitalize(), *METRICS, "All four"]
    return _table(f"Mean ranks, 1 to {len(rows)}; lower is better", heads, body)


def dataset_table(whole: pd.DataFrame, track: str) -> str:
    """AUC_qlt of every evaluator on every data set, averaged over the seeds."""
    wide = by_dataset(whole, track, "AUC_qlt")
    body = [
        [_head(str(name)), *(_number(f"{value:.3f}") for value in values)]
        for name, values in zip(wide.index, wide.to_numpy(dtype=float), strict=True)
    ]
    return _table("AUC_qlt, mean over the seeds", ["Data set", *map(str, wide.columns)], body)


def against_table(found: Significance) -> str:
    """The reference against each other evaluator."""
    body = [
        [
            _head(each.other),
            _number(f"{each.better} of {found.datasets}"),
            _number(p_value(each.p).removeprefix("= ")),
            _number(p_value(each.corrected).removeprefix("= ")),
            _number("yes" if each.significant else "no", each.significant),
        ]
        for each in sorted(found.against, key=lambda each: (each.corrected, each.p))
    ]
    heads = ["Against", f"{found.reference} better on", "p", "p, Holm", "Told apart"]
    return _table("Wilcoxon signed-rank test over data sets, level 0.05", heads, body)


def sweep_table(sweep: pd.DataFrame, track: str) -> str:
    """Means and mean rank under each prior, by its size."""
    rows = sweep[sweep["data"] == track].set_index("prior")
    best = {m: float((rows[m] * sign).max()) * sign for m, sign in METRICS.items()}
    best["avg_rank"] = float(rows["avg_rank"].min())
    columns = {metric: rows[metric].to_dict() for metric in best}
    body = []
    for name in in_order(str(name) for name in rows.index):
        values = {column: float(columns[column][name]) for column in best}
        words = {c: f"{v:.{2 if c == 'avg_rank' else 3}f}" for c, v in values.items()}
        body.append([_head(name), *(_number(words[c], values[c] == best[c]) for c in best)])
    heads = [_titled(metric, sign) for metric, sign in METRICS.items()]
    caption = f"EAP under {len(rows)} priors, means over all experiments"
    return _table(caption, ["Prior", *heads, _titled("Mean rank", -1)], body)


def _table(
    caption: str, heads: Sequence[str], body: Sequence[Sequence[str]], style: str = ""
) -> str:
    """A table that scrolls by itself where the page is narrower, also by keyboard."""
    top = element("tr", {}, *(h if h.startswith("<th") else _column(h) for h in heads))
    rows = (element("tr", {}, *cells) for cells in body)
    table = element(
        "table",
        {"class": style} if style else {},
        element("caption", {}, element("span", {}, written(caption))),
        element("thead", {}, top),
        element("tbody", {}, *rows),
    )
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption}
    return element("div", box, table)


def _column(words: str) -> str:
    return element("th", {"scope": "col"}, written(words))


def _titled(metric: str, sign: int, *under: str) -> str:
    way = "higher is better" if sign > 0 else "lower is better"
    return element(
        "th", {"scope": "col"}, written(metric), element("small", {}, written(way)), *under
    )


def _head(words: str) -> str:
    return element("th", {"scope": "row"}, written(words))


def _number(words: str, strong: bool = False) -> str:
    inside = element("strong", {}, written(words)) if strong else written(words)
    return element("td", {"class": "number"}, inside)


def _beside(ours: float, paper: float, digits: int, best: bool) -> str:
    own = element("strong" if best else "span", {"class": "ours"}, f"{ours:.{digits}f}")
    known = not math.isnan(paper)
    theirs = element("span", {"class": "paper"}, f"{paper:.{digits}f}" if known else "–")
    gap = element("span", {"class": "gap"}, signed(ours - paper, digits) if known else "–")
    return element("td", {"class": "number"}, own, theirs, gap)
