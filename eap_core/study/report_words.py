"""What the figures say, in sentences."""

from __future__ import annotations

import pandas as pd

from eap_core.study.paper import orders, published
from eap_core.study.results import EXPERIMENT
from eap_core.study.significance import TOO_FEW, Significance, Versus, enough

TITLES = {"images": "Images", "tables": "Tables"}


def headline(rows: pd.DataFrame, track: str, whole: pd.DataFrame, found: Significance) -> str:
    """Who came first, by how much, over how much data, and whether that may be chance."""
    by_auc = rows.sort_values("AUC_qlt", ascending=False, kind="stable").set_index("evaluator")
    means = {str(name): float(value) for name, value in by_auc["AUC_qlt"].items()}
    order, own = list(means), str(found.reference)
    over = experiments(whole, track)
    if len(order) == 1:
        return f"Only {own} was run: its mean AUC_qlt is {means[own]:.3f}, over {over}."
    if order[0] == own:
        other = order[1]
        ahead = f"{own} came first with a mean AUC_qlt of {means[own]:.3f}, "
        ahead += f"{means[own] - means[other]:.3f} above {other} ({means[other]:.3f})"
    else:
        other = order[0]
        ahead = f"{other} came first with a mean AUC_qlt of {means[other]:.3f}; {own} came "
        ahead += f"{_ordinal(order.index(own) + 1)}, {means[other] - means[own]:.3f} below"
        ahead += f" ({means[own]:.3f})"
    return f"{ahead}, over {over}. {chance(found, other)}"


def chance(found: Significance, other: str) -> str:
    """Whether the reference and another one are told apart."""
    pair = next((each for each in found.against if each.other == other), None)
    others = len(found.ranks) - 1
    if pair is None or (not pair.significant and found.datasets < enough(others)):
        needed = f"{found.datasets}, where {_counted(others, 'comparison')} need "
        wins = f" {_wins(found, pair)}" if pair else ""
        question = "whether the difference is more than chance"
        return f"There are {TOO_FEW} {question}: {needed}{enough(others)}.{wins}"
    verdict = "significant" if pair.significant else "not significant"
    test = f"p {p_value(pair.corrected)}, Wilcoxon with Holm’s correction"
    return f"The difference is {verdict} ({test}). {_wins(found, pair)}"


def _wins(found: Significance, pair: Versus) -> str:
    return f"{found.reference} is the better of the two on {pair.better} of {found.datasets}."


def p_value(p: float) -> str:
    """A probability with its sign of comparison, never zero."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def experiments(whole: pd.DataFrame, track: str) -> str:
    """Over how much: data sets × seeds where every data set has the same number of seeds."""
    rows = whole.loc[whole["track"] == track, EXPERIMENT].drop_duplicates()
    seeds = rows.groupby("dataset")["seed"].size()
    sets = _counted(len(seeds), "data set")
    if seeds.nunique() == 1:
        return f"{sets} × {_counted(int(seeds.iloc[0]), 'seed')}"
    return f"{len(rows)} experiments on {sets}"


def beside_paper(table: pd.DataFrame, track: str, own: str) -> str:
    """How near this is to what the paper reports."""
    paper = published().set_index(["data", "evaluator"])["AUC_qlt"]
    ours = table.set_index(["data", "evaluator"])["AUC_qlt"]
    if (track, own) not in paper.index:
        return ""
    theirs, mine = float(paper[(track, own)]), float(ours[(track, own)])
    way = "above" if mine > theirs else "below"
    text = f"The paper reports {theirs:.3f} for {own}; ours is {abs(mine - theirs):.3f} {way}."
    both = orders(table, track)
    if both.spearman is None:
        return text
    return f"{text} {_same_order(both.spearman, len(both.ours))}"


def _same_order(spearman: float, count: int) -> str:
    return (
        f"The order of the {count} evaluators by mean AUC_qlt agrees with the paper’s at a "
        f"Spearman correlation of {spearman:.2f} (1 is the same order)."
    )


def left_out(count: int) -> str:
    """What is not in the figures, never silently."""
    if count == 0:
        return ""
    verb, pronoun = ("is", "it") if count == 1 else ("are", "them")
    return (
        f"{_counted(count, 'experiment')} {verb} left out of all figures below, "
        f"because a method is missing in {pronoun}."
    )


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _ordinal(place: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th") if place // 10 != 1 else "th"
    return f"{place}{ending}"
