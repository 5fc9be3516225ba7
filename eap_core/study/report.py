"""The study's results as one page that needs nothing but itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

import pandas as pd

from eap_core.base.errors import escape_controls
from eap_core.base.files import explain_unwritable, write_frame
from eap_core.study import results
from eap_core.study.figures import (
    DARK,
    LIGHT,
    Drawing,
    describe_groups,
    draw_auc,
    draw_curves,
    draw_differences,
    draw_priors,
    draw_ranks,
    format_difference,
    mark_extra,
)
from eap_core.study.plan import StudyPlan
from eap_core.study.results import (
    EXPERIMENT,
    EXTRAS,
    METRICS,
    SIDES,
    TOO_FEW,
    Significance,
    Summary,
    Versus,
    average_curves,
    by_dataset,
    choose_featured,
    choose_methods,
    choose_rank,
    compare_evaluators,
    compare_orders,
    compare_with_paper,
    complete_experiments,
    count_better,
    has_curves,
    has_enough,
    in_order,
    measured,
    name_unrealistic,
    read_published,
    summarise,
    tracks,
)
from eap_core.study.run import CellOutcome, FailedCell, Result
from eap_core.study.unrealistic import FOREIGN, WORDS

# What the figures say, in sentences.

TITLES = {"images": "Images", "tables": "Tables"}


def headline(rows: pd.DataFrame, track: str, whole: pd.DataFrame, found: Significance) -> str:
    """Who came first, by how much, over how much data, and whether that may be chance."""
    ranked = rows[~rows["evaluator"].isin(EXTRAS)]
    by_auc = ranked.sort_values("AUC_qlt", ascending=False, kind="stable").set_index("evaluator")
    means = {str(name): float(value) for name, value in by_auc["AUC_qlt"].items()}
    order, own = list(means), str(found.reference)
    over = experiments(whole, track)
    if not order:
        return f"None of the paper’s evaluators was run, over {over}."
    if len(order) == 1:
        only = f"Only {own}" if len(rows) == 1 else f"Of the paper’s evaluators only {own}"
        return f"{only} was run: its mean AUC_qlt is {means[own]:.3f}, over {over}."
    first = "came first" if len(rows) == len(ranked) else "came first of the paper’s"
    if order[0] == own:
        other = order[1]
        ahead = f"{own} {first} with a mean AUC_qlt of {means[own]:.3f}, "
        ahead += f"{means[own] - means[other]:.3f} above {other} ({means[other]:.3f})"
    else:
        other = order[0]
        ahead = f"{other} {first} with a mean AUC_qlt of {means[other]:.3f}; {own} came "
        ahead += f"{_ordinal(order.index(own) + 1)}, {means[other] - means[own]:.3f} below"
        ahead += f" ({means[own]:.3f})"
    return f"{ahead}, over {over}. {chance(found, other)}"


def beside_ranks(rows: pd.DataFrame, track: str, whole: pd.DataFrame, found: Significance) -> str:
    """The figures of evaluators that are not the paper's, and how often they beat the reference."""
    parts = []
    for name, mean in zip(rows["evaluator"], rows["AUC_qlt"], strict=True):
        if name in EXTRAS:
            words = f"{name} {mean:.3f}"
            if own := found.reference:
                better = count_better(whole, track, str(name), own)
                words += f", better than {own} on {better} of {found.datasets}"
            parts.append(words)
    return f"Not the paper’s, and without a rank: {'; '.join(parts)}." if parts else ""


def chance(found: Significance, other: str) -> str:
    """Whether the reference and another one are told apart."""
    pair = next((each for each in found.against if each.other == other), None)
    others = len(found.ranks) - 1
    if pair is None or (not pair.significant and found.datasets < has_enough(others)):
        needed = f"{found.datasets}, where {_count_things(others, 'comparison')} need "
        wins = f" {_wins(found, pair)}" if pair else ""
        question = "whether the difference is more than chance"
        return f"There are {TOO_FEW} {question}: {needed}{has_enough(others)}.{wins}"
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
    sets = _count_things(len(seeds), "data set")
    if seeds.nunique() == 1:
        return f"{sets} × {_count_things(int(seeds.iloc[0]), 'seed')}"
    return f"{len(rows)} experiments on {sets}"


def beside_paper(table: pd.DataFrame, track: str, own: str) -> str:
    """How near this is to what the paper reports."""
    paper = read_published().set_index(["data", "evaluator"])["AUC_qlt"]
    ours = table.set_index(["data", "evaluator"])["AUC_qlt"]
    if (track, own) not in paper.index:
        return ""
    theirs, mine = float(paper[(track, own)]), float(ours[(track, own)])
    way = "above" if mine > theirs else "below"
    text = f"The paper reports {theirs:.3f} for {own}; ours is {abs(mine - theirs):.3f} {way}."
    both = compare_orders(table, track)
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
        f"{_count_things(count, 'experiment')} {verb} left out of all figures below, "
        f"because a method is missing in {pronoun}."
    )


def _count_things(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _ordinal(place: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th") if place // 10 != 1 else "th"
    return f"{place}{ending}"


# The report's tables, every cell escaped.


def escape_text(words: object) -> str:
    """Words as they may stand in markup: names are data, whatever is in them."""
    return escape(escape_controls(str(words)), quote=True)


def element(name: str, attributes: Mapping[str, str], *inside: str) -> str:
    """One element; what is inside is markup already."""
    given = "".join(f' {key}="{escape_text(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(inside)}</{name}>" if inside else f"<{name}{given}/>"


def main_table(table: pd.DataFrame, track: str, kind: str = FOREIGN) -> str:
    """Means beside the paper's, with the difference; the best of ours in bold.

    Evaluators that are not the paper's stand below a line. Beside other unrealistic candidates than
    the paper's its figures would not compare, and are left out.
    """
    rows, rank = table[table["data"] == track], choose_rank(table)
    extra, metrics, like = rows["evaluator"].isin(EXTRAS), measured(table), kind == FOREIGN
    both = compare_with_paper(table).set_index(["data", "evaluator", "metric"])
    best = {m: float((rows.loc[~extra, m] * sign).max()) * sign for m, sign in metrics.items()}
    paper = read_published().set_index(["data", "evaluator"])[rank]
    # Ranks among another number of evaluators would not compare.
    comparable = like and set(rows.loc[~extra, "evaluator"]) == set(read_published()["evaluator"])
    body = []
    for name, place, aside in zip(rows["evaluator"], rows[rank], extra, strict=True):
        cells = []
        for metric in metrics:
            own, theirs = (float(both.loc[(track, name, metric), c]) for c in ("ours", "paper"))
            top = own == best[metric] and not aside
            cells.append(_beside(own, theirs, 3, top) if like else _number(f"{own:.3f}", top))
        top = place == rows[rank].min()
        if aside:
            cells.append(_number("–"))
        elif comparable:
            cells.append(_beside(float(place), float(paper[(track, name)]), 2, top))
        else:
            cells.append(_number(f"{place:.2f}", top))
        body.append([_head(name), *cells])
    if extra.any():
        wide = {"scope": "rowgroup", "class": "line", "colspan": str(len(metrics) + 2)}
        body.insert(int((~extra).sum()), [element("th", wide, "Not the paper’s: without a rank")])
    trio = [element("span", {"class": name}, name) for name in ("ours", "paper", "gap")]
    heads = [_title_metric(m, sign, *(trio if like else ())) for m, sign in metrics.items()]
    last = _title_metric("Mean rank", -1, *(trio if comparable else ()))
    caption = "Means over all experiments"
    caption += ": ours, the paper’s, and the gap between them" if like else ""
    return _table(caption, ["Evaluator", *heads, last], body, "main")


def rank_table(table: pd.DataFrame, track: str, kind: str) -> str:
    """Mean ranks by each metric."""
    rows = table[table["data"] == track].dropna(subset="avg_rank")
    columns = [*(f"r{metric}" for metric in METRICS), "avg_rank"]
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
    heads = [mark_extra(str(name)) for name in wide.columns]
    note = "; * not the paper’s" if EXTRAS & {*wide.columns} else ""
    return _table(f"AUC_qlt, mean over the seeds{note}", ["Data set", *heads], body)


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
    metrics, rank = measured(sweep), choose_rank(sweep)
    best = {m: float((rows[m] * sign).max()) * sign for m, sign in metrics.items()}
    best[rank] = float(rows[rank].min())
    columns = {metric: rows[metric].to_dict() for metric in best}
    body = []
    for name in in_order(str(name) for name in rows.index):
        values = {column: float(columns[column][name]) for column in best}
        words = {c: f"{v:.{2 if c == rank else 3}f}" for c, v in values.items()}
        body.append([_head(name), *(_number(words[c], values[c] == best[c]) for c in best)])
    heads = [_title_metric(metric, sign) for metric, sign in metrics.items()]
    caption = f"EAP under {len(rows)} priors, means over all experiments"
    return _table(caption, ["Prior", *heads, _title_metric("Mean rank", -1)], body)


def _table(
    caption: str, heads: Sequence[str], body: Sequence[Sequence[str]], style: str = ""
) -> str:
    """A table that scrolls by itself where the page is narrower, also by keyboard."""
    top = element("tr", {}, *(h if h.startswith("<th") else _column(h) for h in heads))
    rows = (element("tr", {}, *cells) for cells in body)
    table = element(
        "table",
        {"class": style} if style else {},
        element("caption", {}, element("span", {}, escape_text(caption))),
        element("thead", {}, top),
        element("tbody", {}, *rows),
    )
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption}
    return element("div", box, table)


def _column(words: str) -> str:
    return element("th", {"scope": "col"}, escape_text(words))


def _title_metric(metric: str, sign: int, *under: str) -> str:
    way = "higher is better" if sign > 0 else "lower is better"
    return element(
        "th", {"scope": "col"}, escape_text(metric), element("small", {}, escape_text(way)), *under
    )


def _head(words: str) -> str:
    return element("th", {"scope": "row"}, escape_text(words))


def _number(words: str, strong: bool = False) -> str:
    inside = element("strong", {}, escape_text(words)) if strong else escape_text(words)
    return element("td", {"class": "number"}, inside)


def _beside(ours: float, paper: float, digits: int, best: bool) -> str:
    own = element("strong" if best else "span", {"class": "ours"}, f"{ours:.{digits}f}")
    known = not math.isnan(paper)
    theirs = element("span", {"class": "paper"}, f"{paper:.{digits}f}" if known else "–")
    gap = element(
        "span", {"class": "gap"}, format_difference(ours - paper, digits) if known else "–"
    )
    return element("td", {"class": "number"}, own, theirs, gap)


About = Mapping[str, str | Sequence[str]]
_CSS: Final = Path(__file__).with_name("report.css")
_SAFE: Final = "default-src 'none'; style-src 'unsafe-inline'"
_MEASURES: Final = {
    "AUC_qlt": "How well a score puts realistic candidates before the others: 1 is perfect, "
    "0.5 is chance.",
    "AULC_g": "Test accuracy while the best candidates are added first, averaged up to a third "
    "of them. Higher is better.",
    "ACC_g": "Test accuracy when the best third is added. Higher is better.",
    "AULC_p": "Test accuracy while the worst candidates are added first, averaged up to two "
    "thirds of them. Lower is better: what the score calls worst should not help.",
}


def write_report(cells: pd.DataFrame, about: About) -> str:
    """The whole page; the same cells and words give the same bytes."""
    found = summarise(cells)
    whole, _ = complete_experiments(cells, "evaluator")
    tests = {track: compare_evaluators(cells, track) for track in tracks(whole)}
    kind = name_unrealistic(cells)
    sections = [_track(whole, found, track, tests[track], kind) for track in tests]
    parts = [_measures(cells), *sections, *_priors(found), _describe_making(about)]
    body = [
        element("header", {}, *_top(cells, whole, found, tests)),
        element("main", {}, *parts),
    ]
    head = [
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": _SAFE}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, "Study of evaluators of synthetic anomalies"),
        element("style", {}, _style()),
    ]
    page = element("html", {"lang": "en"}, element("head", {}, *head), element("body", {}, *body))
    return f"<!DOCTYPE html>\n{page}\n"


def _style() -> str:
    dark = f"@media screen and (prefers-color-scheme:dark){{{_colours(DARK)}}}\n"
    return _colours(LIGHT) + dark + _CSS.read_text(encoding="utf-8")


def _colours(colours: Mapping[str, str]) -> str:
    return f":root{{{''.join(f'--{name}:{value};' for name, value in colours.items())}}}"


def _top(
    cells: pd.DataFrame, whole: pd.DataFrame, found: Summary, tests: Mapping[str, Significance]
) -> Iterator[str]:
    kind = name_unrealistic(cells)
    yield element("h1", {}, "Which score finds the realistic synthetic anomalies?")
    text = f"Unrealistic candidates ({kind}): {WORDS.get(kind, kind)}."
    if kind != FOREIGN:
        text += " The paper’s are rows of other data sets: its figures are not beside these."
    yield from _paragraphs(text)
    for track, test in tests.items():
        rows = found.table[found.table["data"] == track]
        first = headline(rows, track, whole, test)
        paper = kind == FOREIGN
        beside = [
            beside_paper(found.table, track, str(test.reference)) if paper else "",
            beside_ranks(rows, track, whole, test),
        ]
        parts = [element("h2", {}, TITLES[track]), element("p", {}, escape_text(first))]
        parts += [part for text in beside for part in _paragraphs(text, "quiet")]
        yield element("div", {"class": "headline"}, *parts)
    yield from _missing(cells, whole)
    links = {track: TITLES[track] for track in tests} | (
        {"priors": "Priors"} if len(found.sweep) else {}
    )
    yield element(
        "nav", {}, *(_link(*each) for each in {**links, "made": "How it was made"}.items())
    )


def _link(where: str, words: str) -> str:
    return element("a", {"href": f"#{where}"}, words)


def _missing(cells: pd.DataFrame, whole: pd.DataFrame) -> Iterator[str]:
    rows = cells[cells["kind"] == "evaluator"]
    for track in tracks(rows) or [""]:
        there, kept = (
            len(each.loc[each["track"] == track, EXPERIMENT].drop_duplicates())
            for each in (rows, whole)
        )
        if kept == 0:
            name = f"{TITLES[track]}: " if track else ""
            text = f"{name}there is no experiment yet in which every evaluator has its figures."
            yield from _paragraphs(text, "missing")
        elif there > kept:
            yield from _paragraphs(f"{TITLES[track]}: {left_out(there - kept)}", "missing")


def _paragraphs(text: str, style: str = "") -> list[str]:
    return [element("p", {"class": style} if style else {}, escape_text(text))] if text else []


def _measures(cells: pd.DataFrame) -> str:
    there = measured(cells) or METRICS
    rows = [
        element("dt", {}, escape_text(name)) + element("dd", {}, escape_text(_MEASURES[name]))
        for name in there
    ]
    parts = [element("h2", {}, "What is measured")]
    missing = [name for name in METRICS if name not in there]
    if missing:
        text = f"{', '.join(missing)} were not computed: the study was run without learning curves."
        parts += _paragraphs(text, "missing")
    return element("section", {}, *parts, element("dl", {}, *rows))


def _track(
    whole: pd.DataFrame, found: Summary, track: str, test: Significance, kind: str = FOREIGN
) -> str:
    own, ranks = choose_featured(whole, track), []
    if has_curves(whole) and test.ranks:
        table = rank_table(found.table, track, "evaluator")
        ranks = [_details("Ranks by each measure", table)]
    parts = [
        element("h2", {}, TITLES[track]),
        element("h3", {}, "Against the paper’s figures" if kind == FOREIGN else "In figures"),
        main_table(found.table, track, kind),
        *ranks,
        element("h3", {}, f"{escape_text(own)} on every data set"),
        *_paragraphs("* not the paper’s." if EXTRAS & {*whole["method"]} else "", "quiet"),
        _both(draw_auc(whole, track), draw_auc(whole, track, narrow=True)),
        _details("The same in figures", dataset_table(whole, track)),
        *(_learning(whole, found, track, own) if has_curves(whole) else ()),
        *_ranks(whole, track, test),
        *_significance(test),
    ]
    return element("section", {"id": track}, *parts)


def _ranks(whole: pd.DataFrame, track: str, test: Significance) -> Iterator[str]:
    if len(test.ranks) < 2:
        return  # one evaluator is the first everywhere
    yield element("h3", {}, "Ranks on every data set")
    yield from _paragraphs("By AUC_qlt, averaged over the seeds; 1 (yellow) is the best.", "quiet")
    yield _both(draw_ranks(whole, track), draw_ranks(whole, track, narrow=True))


def _learning(whole: pd.DataFrame, found: Summary, track: str, own: str) -> Iterator[str]:
    methods = choose_methods(found.table, track, own)
    both = {side: average_curves(whole, track, side, methods) for side in SIDES}
    sets = both["gain"].datasets
    yield element("h3", {}, "What the candidates do for a classifier")
    band = "; bands are one standard error over the data sets" if len(sets) > 1 else ""
    text = f"{own}, the strongest others by their ranks, and a random order, averaged{band}."
    text += " * not the paper’s." if EXTRAS & {*methods} else ""
    yield from _paragraphs(text, "quiet")
    panels = [draw_curves(both[side], side, both[side].over(track)).inline() for side in SIDES]
    yield element("div", {"class": "panels"}, *panels)
    each = []
    for i, name in enumerate(sets):
        each.append(element("h4", {}, escape_text(name)))
        small = [draw_curves(both[side].only(i), side, name, 200).inline() for side in SIDES]
        each.append(element("div", {"class": "panels"}, *small))
    yield _details("Curves of each data set", *each)


def _significance(test: Significance) -> Iterator[str]:
    yield element("h3", {}, "Could it be chance?")
    if test.friedman is not None:
        text = f"All evaluators together differ at p {p_value(test.friedman)} (Friedman’s test). "
        text += "Each data set counts once, with its mean over the seeds. "
        text += "Bars join evaluators that Nemenyi’s test does not tell apart at 0.05."
        yield from _paragraphs(text)
        yield _both(draw_differences(test), draw_differences(test, narrow=True))
        yield _details("The bars in words", *_paragraphs(f"{describe_groups(test.groups)}."))
    for note in test.notes:
        yield from _paragraphs(f"{note[0].upper()}{note[1:]}.", "missing")
    if test.against:
        yield against_table(test)


def _priors(found: Summary) -> Iterator[str]:
    there = tracks(found.sweep.rename(columns={"data": "track"}))
    if not there:
        return
    parts = [element("h2", {}, "How much the prior matters")]
    text = (
        "EAP begins with an assumed share of anomalies; m/n is their share among the training "
        f"rows, the default. {left_out(found.sweep_left_out)}"
    )
    parts += _paragraphs(text.strip(), "quiet")
    for track in there:
        panels = (sweep_table(found.sweep, track), draw_priors(found.sweep, track).inline())
        parts += [element("h3", {}, TITLES[track]), element("div", {"class": "beside"}, *panels)]
    yield element("section", {"id": "priors"}, *parts)


def _describe_making(about: About) -> str:
    rows = []
    for name, value in about.items():
        if isinstance(value, str):
            inside = escape_text(value)
        elif value:
            inside = element("ul", {}, *(element("li", {}, escape_text(each)) for each in value))
        else:
            inside = "none"
        rows.append(element("dt", {}, escape_text(name)) + element("dd", {}, inside))
    parts = [element("h2", {}, "How it was made")]
    return element("section", {"id": "made"}, *parts, *([element("dl", {}, *rows)] if rows else []))


def _both(wide: Drawing, narrow: Drawing) -> str:
    """A figure drawn twice, of which the page shows the one that fits."""
    return element("div", {"class": "figure"}, wide.inline("wide"), narrow.inline("narrow"))


def _details(title: str, *inside: str) -> str:
    return element("details", {}, element("summary", {}, escape_text(title)), *inside)


# What a study leaves behind: cells, tables, the comparison with the paper, and a report.

_SHOWN = ("data", "evaluator", "AUC_qlt", "rAUC_qlt", "avg_rank")
_LINE = "— not the paper’s —"


def write_outputs(
    plan: StudyPlan, outcome: CellOutcome, out: Path
) -> tuple[list[str], list[Sequence[object]]] | None:
    """Write everything into the folder; the table's head and rows for people to see at once."""
    _write_failures(outcome.failed, out)
    if not outcome.results:
        return None
    cells = frame_of(outcome.results)
    summary = results.summarise(cells)
    own = {} if plan.unrealistic == FOREIGN else {"unrealistic": plan.unrealistic}
    write_frame(cells, out / "cells.parquet")
    write_frame(summary.table.assign(**own), out / "table.csv")
    write_frame(summary.sweep.assign(**own), out / "sweep.csv")
    if not own:  # the paper has no other kind
        write_frame(results.compare_with_paper(summary.table), out / "comparison.csv")
    write_frame(_times(outcome.results), out / "times.csv")
    _write_text(out / "report.html", write_report(cells, about(plan, outcome)))
    shown = [name for name in _SHOWN if name in summary.table]
    return shown, list(_shown_rows(summary.table[shown]))


def _shown_rows(table: pd.DataFrame) -> Iterator[Sequence[object]]:
    """The rows of a table for people; those that are not the paper's below a line."""
    for data, rows in table.groupby("data"):
        extra = rows["evaluator"].isin(EXTRAS)
        yield from rows[~extra].itertuples(index=False, name=None)
        if extra.any():
            yield (data, _LINE, *("" for _ in table.columns[2:]))
        yield from rows[extra].astype(object).fillna("–").itertuples(index=False, name=None)


def frame_of(found: Sequence[Result]) -> pd.DataFrame:
    """One row for each cell and method, in an order that does not depend on who was first."""
    head = ["track", "dataset", "seed"]
    if any(cell.get("unrealistic", FOREIGN) != FOREIGN for cell in found):
        head.append("unrealistic")
    rows = [
        {name: cell[name] for name in head} | row
        for cell in sorted(found, key=lambda cell: tuple(cell[name] for name in head))
        for row in cell["rows"]
    ]
    return pd.DataFrame(rows)


def about(plan: StudyPlan, outcome: CellOutcome) -> dict[str, str | Sequence[str]]:
    """How the figures were made, without anything that differs from one machine to the next."""
    curves = (
        f"{plan.points} positions; a random forest of 100 trees for tables, a support vector "
        "machine with an RBF kernel for images"
    )
    first = f", from {plan.first_seed} on" if plan.first_seed else ""
    return {
        "Data sets": f"{len(plan.datasets)}, each split with {plan.seeds} seeds{first}",
        "Unrealistic candidates": f"{plan.unrealistic}: {WORDS[plan.unrealistic]}",
        "Cells": f"{len(outcome.results)} of {len(plan.datasets) * plan.seeds}",
        "Evaluators": ", ".join(plan.evaluators),
        "Learning curves": curves if plan.points else "not computed",
        "Notes": list(plan.notes),
        "Failed cells": [f"{one.cell.name}: {one.reason}" for one in outcome.failed],
    }


def _times(found: Sequence[Result]) -> pd.DataFrame:
    rows = [
        {"track": cell["track"], "dataset": cell["dataset"], "seed": cell["seed"]} | cell["seconds"]
        for cell in found
    ]
    return pd.DataFrame(rows)


def _write_failures(failed: Sequence[FailedCell], out: Path) -> None:
    path = out / "failed.txt"
    if failed:
        lines = (f"{escape_controls(one.cell.name)}: {one.reason}\n{one.details}" for one in failed)
        _write_text(path, "\n".join(lines))
    else:
        path.unlink(missing_ok=True)


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise explain_unwritable(path, error) from error
