"""How much the scores hang on the expected share of anomalies, and who changes sides with it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from eap_core.analysis import Plan
from eap_core.analysis.compare import LEAST, MOST, PriorSweep, PriorView, compare_sides, sweep_run
from eap_core.base.table import Floats, Ints
from eap_core.store.projects import Kind
from ui import charts, frame, priors, score_form, session, why
from ui.priors import sweep_words
from ui.scored_project import ScoredProject, current_project
from ui.text import shorten

_BARE = {"displayModeBar": False}
_SHARES = {"tenth": 0.1, "fifth": 0.2, "third": 1 / 3, "half": 0.5}
_PICTURES = 12


def page(found: ScoredProject) -> None:
    found.status()
    st.title("How much does the expected share of anomalies matter?", anchor=False)
    if found.table.empty:
        st.info("None of the scored candidates is in the project any more.")
        return
    now = float(found.table["prior"].iloc[0])
    own = Plan.from_record(dict(found.run.settings)).prior is not None
    st.markdown(
        "Where the data say little about a candidate, its score falls back on what is expected of "
        f"any: an anomaly with **{now:.1%}** in this run, "
        + ("as was set by hand." if own else "the share of anomalies in the training data.")
    )
    best = st.segmented_control(
        "Count as the best", list(_SHARES), default="third", key="priors.best", required=True,
        format_func=lambda name: f"best {name}",
    )  # fmt: skip
    ahead = sweep_run(found.table, _SHARES[best])
    st.markdown(sweep_words(ahead.sweep))
    explore(found, ahead)


@st.fragment
def explore(found: ScoredProject, ahead: PriorSweep) -> None:
    """The slider and all that follows it; nothing is computed but sums."""
    now = ahead.sweep.default
    start = min(max(round(200 * now) / 2, 100 * LEAST), 100 * MOST)
    percent = st.slider(
        "Expected share of anomalies",
        100 * LEAST,
        100 * MOST,
        start,
        0.5,
        format="%.1f %%",
        key=f"priors.rate.{found.run.id}",
        persist_state="session",
    )
    rate = now if percent == start else percent / 100  # the slider's steps may miss the run's own
    outlook = ahead.under(rate)
    metrics(ahead, outlook)
    if st.button(
        "Use this share for a new run",
        icon=":material/speed:",
        disabled=rate == now or score_form.scoring_job(found.store, found.project.id) is not None,
        help="Scores again with the other settings of this run; the present run is kept.",
    ):
        plan = Plan.from_record(dict(found.run.settings))
        score_form.launch_scoring(found.store, found.project.id, replace(plan, prior=rate))
    anywhere = rate == now
    marked = np.flatnonzero(ahead.moving if anywhere else outlook.enters | outlook.leaves)
    marked = marked[np.argsort(-np.abs(_change(ahead, outlook, marked)), kind="stable")]
    marked = compare_sides(marked, ahead.best)
    figures(ahead, rate, marked)
    changing(found, ahead, outlook, marked, anywhere)


def _change(ahead: PriorSweep, outlook: PriorView, rows: Ints) -> Floats:
    """How far each moves; at the run's own share, under any other."""
    if outlook.rate == ahead.sweep.default:
        return np.asarray(np.ptp(ahead.places[:, rows], axis=0))
    return np.asarray(outlook.then[rows] - outlook.now[rows])


def metrics(ahead: PriorSweep, outlook: PriorView) -> None:
    stay = ahead.sweep.top - int(outlook.leaves.sum())
    with st.container(horizontal=True):
        st.metric("Best that stay", f"{stay:,} of {ahead.sweep.top:,}", border=True, width=180)
        st.metric(
            "Same order",
            f"{outlook.kendall:.2f}",
            border=True,
            width=150,
            help="Kendall's τ with this run: 1 is the same order, 0 no relation, −1 the reverse.",
        )
    lowered = int((ahead.table["p_y"] < outlook.rate).sum())
    if lowered:
        st.caption(
            f"{lowered:,} look less anomalous than {outlook.rate:.1%}: what the data say puts them "
            "below those too far from the data."
        )


def figures(ahead: PriorSweep, rate: float, marked: Ints) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shown = st.segmented_control(
            "Lines show", ("Percentile", "Score"), default="Percentile", key="priors.lines",
            required=True,
        )  # fmt: skip
        st.plotly_chart(
            priors.draw_curves(ahead, rate, [int(i) for i in marked], shown == "Percentile"),
            config=_BARE,
            alt=f"{shown} of the candidates for shares from 1 to 49 %; {len(marked)} change sides",
            key="priors.curves",
        )
        st.caption(line_words(ahead, rate, len(marked)))
    with right:
        st.markdown("How much stays, whatever is expected")
        st.plotly_chart(
            priors.draw_stability(ahead, rate),
            config=_BARE,
            alt="Share of the best and of the order that stays; at least "
            f"{ahead.sweep.overlap.min():.0%} of the best",
            key="priors.stability",
        )


def line_words(ahead: PriorSweep, rate: float, marked: int) -> str:
    """What the lines are: those of candidates, those in bold, and the upright ones."""
    now, most = ahead.sweep.default, priors.MOST_MARKED
    said = []
    if len(ahead.table) > priors.MOST_LINES:
        said.append(f"A sample of {priors.MOST_LINES} of {len(ahead.table):,} candidates.")
    if marked:
        which = f"{most} of the {marked:,} candidates" if marked > most else "the candidates"
        said.append(f"In bold: {which} that change sides.")
    slider = f", the solid one the slider's, {rate:.1%}" if rate != now else ""
    return " ".join([*said, f"The dotted upright line is this run's share, {now:.1%}{slider}."])


def changing(
    found: ScoredProject, ahead: PriorSweep, outlook: PriorView, marked: Ints, anywhere: bool
) -> None:
    st.subheader("Who changes sides", anchor=False)
    if not len(marked):
        where = "anywhere between 1 % and 49 %" if anywhere else f"at {outlook.rate:.1%}"
        st.success(f"No candidate enters or leaves the best {where}.", icon=":material/check:")
        return
    st.markdown(
        f"{len(marked):,} candidates enter or leave the best under some other share. Move the "
        "slider to see where."
        if anywhere
        else f"At {outlook.rate:.1%}, {int(outlook.enters.sum()):,} enter the best and "
        f"{int(outlook.leaves.sum()):,} leave them."
    )
    rows = found.table.iloc[marked]
    if found.project.kind == "images":
        with st.container(horizontal=True, gap="small"):
            for i in marked[:_PICTURES]:
                item = found.items[found.table["item"].iloc[i]]
                why.show_picture(found.store, _side(ahead, int(i)), item, width=150)
    listing(ahead, outlook, marked, rows, found.project.kind)
    if st.button(f"Review these {len(marked):,}", icon=":material/rate_review:"):
        session.choose(rows["item"].tolist())
        st.switch_page("pages/review.py")


def _side(ahead: PriorSweep, row: int) -> str:
    return "▼ leaves" if ahead.best[row] else "▲ enters"


def listing(
    ahead: PriorSweep, outlook: PriorView, marked: Ints, rows: pd.DataFrame, kind: Kind
) -> None:
    st.dataframe(
        pd.DataFrame(
            {
                "id": shorten(rows["id"].tolist(), kind),
                "side": [_side(ahead, int(i)) for i in marked],
                "at": [100 * ahead.first_change(int(i), outlook.rate) for i in marked],
                "now": outlook.now[marked],
                "then": outlook.then[marked],
                "category": [charts.WORDS[name] for name in rows["category"]],
            }
        ),
        hide_index=True,
        height="auto" if len(marked) < 8 else 320,
        column_config={
            "id": st.column_config.TextColumn("Candidate", width=115),
            "side": st.column_config.TextColumn("The best", width=85),
            "at": st.column_config.NumberColumn("From about", format="%.0f %%", width=85),
            "now": st.column_config.NumberColumn("Percentile now", format="%.0f"),
            "then": st.column_config.NumberColumn("At the slider", format="%.0f"),
            "category": "Category",
        },
        alt="Candidates that enter or leave the best under another expected share",
    )


session.current()
with frame.show_errors():
    about = current_project()
    if about is not None:
        page(about)
