"""Every run of a project: which one is shown, what it was asked, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from eap_core.analysis import Plan
from eap_core.analysis.compare import compare_runs
from eap_core.project.problem import state_of
from eap_core.store import runs
from eap_core.store.projects import Kind, Project
from eap_core.store.runs import Run
from eap_core.store.store import Store
from ui import cached, charts, frame, text
from ui.text import escape_markdown, settings_words, shorten

_SHOWN = 8
_MOVED = 8
_STATUS = {
    "finished": (":material/check_circle:", "finished"),
    "running": (":material/hourglass_top:", "under way"),
    "failed": (":material/error:", "failed"),
    "cancelled": (":material/cancel:", "cancelled"),
    "not finished": (":material/warning:", "not finished"),
}


def show_runs(store: Store, project: Project) -> None:
    """All runs, latest first, and the comparison that is asked for."""
    found = runs.runs_of(store, project.id)
    if not found:
        return
    st.subheader("Runs", anchor=False)
    st.caption("Every scoring is kept. Decisions belong to the candidates, whichever run is shown.")
    number = {run.id: len(found) - i for i, run in enumerate(found)}
    shown = found[:_SHOWN]
    if len(found) > _SHOWN and st.toggle(f"Show all {len(found):,} runs", key="runs.all"):
        shown = found
    for run in shown:
        _show_run(store, project, run, number[run.id])
    _compare_runs(store, project, found, number)


def _show_run(store: Store, project: Project, run: Run, number: int) -> None:
    icon, status = _STATUS[run.status]
    current = run.id == project.current_run
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        said = f"{icon} **Run {number}** · {frame.clock(run.created)} · {status}"
        lines = [said + (" · **shown everywhere now**" if current else "")]
        lines.append(escape_markdown(settings_words(Plan.from_record(dict(run.settings)))))
        if any(finding["code"] == "other-features" for finding in run.findings):
            lines.append("CLIP was asked for and could not be had: with the full image features")
        lines += _gaps(store, run)
        st.markdown("  \n".join(lines), width="stretch")
        if (
            run.status == "finished"
            and not current
            and st.button(f"Make run {number} current", key=f"runs.current.{run.id}")
        ):
            with frame.show_errors():
                runs.make_current(store, run.id)
                st.rerun()


def _gaps(store: Store, run: Run) -> list[str]:
    """What went wrong, and what is not there."""
    lines = [escape_markdown(run.error)] if run.error else []
    if run.status != "finished":
        return lines
    found = text.find_methods(store, run)
    for words, names in (("could not be computed", found.failed), ("not computed", found.missing)):
        if names:
            listed = text.list_methods(names)
            lines.append(f"{words}: {listed}")
    return lines


def _compare_runs(
    store: Store, project: Project, found: Sequence[Run], number: dict[str, int]
) -> None:
    others = {
        f"Run {number[run.id]} · {frame.clock(run.created)}": run
        for run in found
        if run.status == "finished" and run.id != project.current_run
    }
    if project.current_run is None or not others:
        return
    asked = st.selectbox(
        "Compare the current run with",
        list(others),
        None,
        placeholder="Choose another run",
        key="runs.compared",
    )
    if asked is not None:
        _differences(
            _table(store, project, project.current_run),
            _table(store, project, others[asked].id),
            project.kind,
        )


def _table(store: Store, project: Project, run: str) -> pd.DataFrame:
    return cached.scores_of(runs.by_id(store, run), state_of(store, project.id))


def _differences(now: pd.DataFrame, then: pd.DataFrame, kind: Kind) -> None:
    found = compare_runs(now, then)
    if found is None:
        st.info("The two runs have fewer than two candidates in common.", icon=":material/info:")
        return
    with st.container(horizontal=True):
        st.metric(
            "Same order",
            f"{found.kendall:.2f}",
            border=True,
            width=180,
            help="Kendall's τ: 1 is the same order, 0 no relation, −1 the reverse.",
        )
        st.metric("Best third shared", f"{found.shared} of {found.top}", border=True, width=200)
    if len(now) > len(found.table):
        st.caption(f"{len(now) - len(found.table):,} candidates are only in the current run.")
    st.plotly_chart(
        charts.draw_two_runs(found.table),
        config={"displayModeBar": False},
        alt="Each candidate's quality percentile in the other run and in the current one",
        key="runs.scatter",
    )
    _show_moved(found.table, kind)


def _show_moved(table: pd.DataFrame, kind: Kind) -> None:
    moved = table.assign(change=table["now"] - table["then"])
    moved = moved[moved["change"] != 0].sort_values("change", key=abs, ascending=False)
    if moved.empty:
        st.success("No candidate has moved.", icon=":material/check:")
        return
    st.markdown("**Moved most**")
    st.dataframe(
        moved.head(_MOVED)[["id", "change", "then", "now", "category"]].assign(
            id=shorten(moved.head(_MOVED)["id"].tolist(), kind),
            category=[charts.WORDS[name] for name in moved.head(_MOVED)["category"]],
        ),
        hide_index=True,
        column_config={
            "id": st.column_config.TextColumn("Candidate", width=130),
            "change": st.column_config.NumberColumn("Moved by", format="%+.0f", width=85),
            "then": st.column_config.NumberColumn("Other run", format="%.0f", width=85),
            "now": st.column_config.NumberColumn("Now", format="%.0f", width=60),
            "category": "Category",
        },
        alt="The candidates whose percentile differs most between the two runs",
    )
