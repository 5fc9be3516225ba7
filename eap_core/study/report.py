"""The study's results as one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from eap_core.study import report_tables as tables
from eap_core.study import svg
from eap_core.study.auc_chart import auc_chart, featured
from eap_core.study.curve_chart import SIDES, curves, dataset_chart, mean_chart, shown_methods
from eap_core.study.prior_chart import prior_chart
from eap_core.study.rank_charts import difference_chart, grouped, heat_map
from eap_core.study.report_words import TITLES, beside_paper, headline, left_out, p_value
from eap_core.study.results import EXPERIMENT, Summary, complete, summary, tracks
from eap_core.study.significance import Significance, compare
from eap_core.study.svg import element, written

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


def report(cells: pd.DataFrame, about: About) -> str:
    """The whole page; the same cells and words give the same bytes."""
    found = summary(cells)
    whole, _ = complete(cells, "evaluator")
    tests = {track: compare(cells, track) for track in tracks(whole)}
    sections = [_track(whole, found, track, tests[track]) for track in tests]
    body = [
        element("header", {}, *_top(cells, whole, found, tests)),
        element("main", {}, _measures(), *sections, *_priors(found), _made(about)),
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
    dark = _colours(svg.DARK) + svg.stylesheet(svg.DARK)
    return (
        _colours(svg.LIGHT)
        + svg.stylesheet(svg.LIGHT)
        + f"@media screen and (prefers-color-scheme:dark){{{dark}}}\n"
        + _CSS.read_text(encoding="utf-8")
    )


def _colours(colours: Mapping[str, str]) -> str:
    return f":root{{{''.join(f'--{name}:{value};' for name, value in colours.items())}}}"


def _top(
    cells: pd.DataFrame, whole: pd.DataFrame, found: Summary, tests: Mapping[str, Significance]
) -> Iterator[str]:
    yield element("h1", {}, "Which score finds the realistic synthetic anomalies?")
    for track, test in tests.items():
        rows = found.table[found.table["data"] == track]
        first = headline(rows, track, whole, test)
        beside = beside_paper(found.table, track, str(test.reference))
        parts = [element("h2", {}, TITLES[track]), element("p", {}, written(first))]
        yield element("div", {"class": "headline"}, *parts, *_paragraphs(beside, "quiet"))
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
    return [element("p", {"class": style} if style else {}, written(text))] if text else []


def _measures() -> str:
    rows = [
        element("dt", {}, written(name)) + element("dd", {}, written(text))
        for name, text in _MEASURES.items()
    ]
    return element("section", {}, element("h2", {}, "What is measured"), element("dl", {}, *rows))


def _track(whole: pd.DataFrame, found: Summary, track: str, test: Significance) -> str:
    own = featured(whole, track)
    parts = [
        element("h2", {}, TITLES[track]),
        element("h3", {}, "Against the paper’s figures"),
        tables.main_table(found.table, track),
        _details("Ranks by each measure", tables.rank_table(found.table, track, "evaluator")),
        element("h3", {}, f"{written(own)} on every data set"),
        _both(auc_chart(whole, track), auc_chart(whole, track, narrow=True)),
        _details("The same in figures", tables.dataset_table(whole, track)),
        *_learning(whole, found, track, own),
        element("h3", {}, "Ranks on every data set"),
        *_paragraphs("By AUC_qlt, averaged over the seeds; 1 (yellow) is the best.", "quiet"),
        _both(heat_map(whole, track), heat_map(whole, track, narrow=True)),
        *_significance(test),
    ]
    return element("section", {"id": track}, *parts)


def _learning(whole: pd.DataFrame, found: Summary, track: str, own: str) -> Iterator[str]:
    methods = shown_methods(found.table, track, own)
    both = {side: curves(whole, track, side, methods) for side in SIDES}
    sets = both["gain"].datasets
    yield element("h3", {}, "What the candidates do for a classifier")
    band = "; bands are one standard error over the data sets" if len(sets) > 1 else ""
    text = f"{own}, the strongest others by their ranks, and a random order, averaged{band}."
    yield from _paragraphs(text, "quiet")
    panels = [mean_chart(both[side], side, track).inline() for side in SIDES]
    yield element("div", {"class": "panels"}, *panels)
    each = []
    for i, name in enumerate(sets):
        each.append(element("h4", {}, written(name)))
        small = [dataset_chart(both[side], i, side).inline() for side in SIDES]
        each.append(element("div", {"class": "panels"}, *small))
    yield _details("Curves of each data set", *each)


def _significance(test: Significance) -> Iterator[str]:
    yield element("h3", {}, "Could it be chance?")
    if test.friedman is not None:
        text = f"All evaluators together differ at p {p_value(test.friedman)} (Friedman’s test). "
        text += "Each data set counts once, with its mean over the seeds. "
        text += "Bars join evaluators that Nemenyi’s test does not tell apart at 0.05."
        yield from _paragraphs(text)
        yield _both(difference_chart(test), difference_chart(test, narrow=True))
        yield _details("The bars in words", *_paragraphs(f"{grouped(test.groups)}."))
    for note in test.notes:
        yield from _paragraphs(f"{note[0].upper()}{note[1:]}.", "missing")
    if test.against:
        yield tables.against_table(test)


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
        panels = (tables.sweep_table(found.sweep, track), prior_chart(found.sweep, track).inline())
        parts += [element("h3", {}, TITLES[track]), element("div", {"class": "beside"}, *panels)]
    yield element("section", {"id": "priors"}, *parts)


def _made(about: About) -> str:
    rows = []
    for name, value in about.items():
        if isinstance(value, str):
            inside = written(value)
        elif value:
            inside = element("ul", {}, *(element("li", {}, written(each)) for each in value))
        else:
            inside = "none"
        rows.append(element("dt", {}, written(name)) + element("dd", {}, inside))
    parts = [element("h2", {}, "How it was made")]
    return element("section", {"id": "made"}, *parts, *([element("dl", {}, *rows)] if rows else []))


def _both(wide: svg.Drawing, narrow: svg.Drawing) -> str:
    """A figure drawn twice, of which the page shows the one that fits."""
    return element("div", {"class": "figure"}, wide.inline("wide"), narrow.inline("narrow"))


def _details(title: str, *inside: str) -> str:
    return element("details", {}, element("summary", {}, written(title)), *inside)
