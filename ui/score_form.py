"""Starting a run: one button, the settings behind a click, and how far the work is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

import streamlit as st

from eap_core.analysis import Plan
from eap_core.analysis.score import column_name, evaluator_names
from eap_core.base.errors import DataError, SettingsError
from eap_core.base.problem import ASSUMED_RATE
from eap_core.base.table import Role
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS
from eap_core.features import EMBEDDERS
from eap_core.images.sources import configured_roots
from eap_core.jobs import CompletionJob, ScoringJob, launch
from eap_core.project import results
from eap_core.project.problem import state_of
from eap_core.store import jobs as rows
from eap_core.store import projects, runs
from eap_core.store.jobs import Job
from eap_core.store.projects import Project
from eap_core.store.runs import Run
from eap_core.store.store import Store
from ui import cached, frame, jobs, text
from ui.clip_form import clip_settings, score_by_command
from ui.scored_project import ScoredProject
from ui.text import (
    DETECTORS,
    THOROUGHNESS,
    escape_markdown,
    explain_features,
    features_words,
    find_thoroughness,
    settings_words,
)

# The settings of a run in plain words, as widgets.

_MOST_SEED = 2**31 - 1


class SettingsForm:
    """The settings as widgets that start from those of a plan."""

    def __init__(self, project: Project, counts: Counter[Role], given: Plan, key: str) -> None:
        self._project, self._counts, self._given = project, counts, given
        self._key = f"score.{project.id}.{key}"
        self._wrong: list[str] = []  # said after all widgets are there, so that none is lost

    def plan(self) -> Plan:
        """What the widgets say; a SettingsError where that is not possible."""
        detector, k = self._detector(), self._neighbours()
        share, subsets = self._share(), self._subsets()
        features, clip_model, weights, int8 = self._images()
        seed = st.number_input(
            "Seed",
            0,
            _MOST_SEED,
            self._given.seed,
            key=f"{self._key}.seed",
            persist_state="session",
            help="The same seed gives the same scores; another one shows how much chance there is.",
        )
        others = self._methods()
        if self._wrong:
            raise SettingsError(" ".join(self._wrong))
        settings = replace(self._given.settings, detector=detector, k=k, subsets=subsets)
        known = self._counts["anomaly"] > 0
        return Plan(
            evaluators=("eap", *others),
            settings=settings,
            prior=share if known else self._given.prior,
            assumed_rate=self._given.assumed_rate if known else share,
            seed=seed,
            features=features,
            clip_model=clip_model,
            weights=weights,
            int8=int8,
            chosen=self._given.chosen,
            lines=self._lines(),
        )

    def _detector(self) -> str:
        now = self._given.settings.detector
        return st.selectbox(
            "How to judge what looks anomalous",
            list(dict.fromkeys((*DETECTORS, now))),
            list(dict.fromkeys((*DETECTORS, now))).index(now),
            format_func=lambda name: DETECTORS.get(name, name),
            key=f"{self._key}.detector",
            persist_state="session",
            help="It is corrected by your real anomalies and normals in any case.",
        )

    def _neighbours(self) -> int | None:
        now = self._given.settings.k
        fixed = self._choice(
            "How far the normal data reach",
            ("Automatic", "Set by hand"),
            now is not None,
            "reach",
        )
        if not fixed:
            return None
        k = st.number_input(
            "Each normal reaches as far as its n-th nearest normal; n is",
            value=now or 10,
            key=f"{self._key}.k",
            persist_state="session",
        )
        if not 1 <= k < self._counts["normal"]:
            self._wrong.append(
                f"{k:,} neighbours are not possible with {self._counts['normal']:,} normals — "
                f"give a number from 1 to {self._counts['normal'] - 1:,}."
            )
        return int(k)

    def _share(self) -> float | None:
        known = self._counts["anomaly"] > 0
        now = self._given.prior if known else self._given.assumed_rate
        own = self._choice(
            "Expected share of anomalies",
            ("From the data" if known else f"{100 * ASSUMED_RATE:g} %, assumed", "Set by hand"),
            now is not None,
            "share",
        )
        if not own:
            return None
        percent = st.number_input(
            "Expected share of anomalies, in percent",
            value=100 * (now or 0.1),
            step=1.0,
            format="%.1f",
            key=f"{self._key}.percent",
            persist_state="session",
            help="What you believe of a candidate about which the data say nothing.",
        )
        if not 0 < percent < 50:
            self._wrong.append(
                f"An expected share of {percent:g} % is not possible — it must lie above 0 % and "
                "below 50 %, or anomalies would not be rare."
            )
        return float(percent) / 100

    def _subsets(self) -> int:
        now = self._given.settings.subsets
        return st.segmented_control(
            "Thoroughness",
            sorted({*THOROUGHNESS, now}),
            default=now,
            format_func=find_thoroughness,
            key=f"{self._key}.subsets",
            persist_state="session",
            required=True,
            help="Quick looks at the data once, normal averages 25 looks, thorough (usual) 100.",
        )

    def _images(self) -> tuple[str, str, str | None, bool]:
        """How images become numbers: by which features, and which model if by CLIP."""
        features, given = self._given.features, self._given
        if self._project.kind == "images":
            features = self._features()
            if features == "clip":
                try:
                    return features, *clip_settings(given, self._key)
                except DataError as error:
                    self._wrong.append(text.error_words(error))
        return features, given.clip_model, given.weights, given.int8

    def _features(self) -> str:
        return st.segmented_control(
            "Image features",
            list(EMBEDDERS),
            default=self._given.features if self._given.features in EMBEDDERS else Plan.features,
            format_func=features_words,
            key=f"{self._key}.features",
            persist_state="session",
            required=True,
            help=explain_features(),
        )

    def _lines(self) -> Literal["data", "paper"]:
        drawn = self._choice(
            "Lines between categories",
            ("Fixed", "Drawn from your data"),
            self._given.lines == "data",
            "lines",
        )
        return "data" if drawn else "paper"

    def _methods(self) -> tuple[str, ...]:
        found = st.multiselect(
            "Further methods, to compare with",
            [name for name in EVALUATORS if name != "eap"],
            list(evaluator_names(self._given.evaluators)[1:]),
            format_func=lambda name: EVALUATORS[name].title,
            key=f"{self._key}.methods",
            persist_state="session",
            help="They are computed after EAP and do not change it. None is fine, too.",
        )
        return tuple(found)

    def _choice(self, label: str, options: tuple[str, str], second: bool, key: str) -> bool:
        picked = st.segmented_control(
            label,
            options,
            default=options[second],
            key=f"{self._key}.{key}",
            persist_state="session",
            required=True,
        )
        return picked == options[1]


USUAL = Plan(evaluators=(*PAPER_EVALUATORS, "reach"))
_KINDS = (ScoringJob, CompletionJob)


def choose_score(found: ScoredProject) -> None:
    """Which of the run's scores ranks the candidates; all screens and exports follow it."""
    columns = set(found.table)
    there = [name for name in EVALUATORS if column_name(name) in columns]
    if len(there) == 1:
        return
    picked = st.selectbox(
        "Ranked by",
        there,
        there.index(found.chosen),
        format_func=lambda name: EVALUATORS[name].title,
        key=f"score.{found.run.id}.{found.chosen}",  # another button may choose, too
        help="Places, categories, the map, the review's order and exports follow this score. "
        "Decisions stay as they are.",
        width=340,
    )
    st.caption(f"High means: {EVALUATORS[picked].summary}.")
    if picked != found.chosen:
        results.choose_score(found.store, found.run.id, picked)
        st.rerun()


def scoring_job(store: Store, project: str) -> Job | None:
    """The job that computes scores of this project, if there is one."""
    job = jobs.latest_job(store, project, *_KINDS)
    return job if jobs.active_job(job) else None


def show_start(store: Store, project: Project, run: Run | None) -> None:
    """The button that scores, and what it will do."""
    jobs.show_outcome(jobs.latest_job(store, project.id, *_KINDS))
    counts = Counter(
        item.role for item in cached.items(project.id, state_of(store, project.id)).values()
    )
    if not counts["normal"] or not counts["candidate"]:
        missing = "normals" if not counts["normal"] else "candidates"
        st.info(f"The project has no {missing} yet: add some first.", icon=":material/info:")
        st.page_link("pages/data.py", label="Go to the data", icon=":material/arrow_back:")
        return
    given = USUAL if run is None else Plan.from_record(dict(run.settings))
    form = SettingsForm(project, counts, given, run.id if run else "first")
    words = "Score the candidates" if run is None else "Score again"
    with frame.show_errors():  # an impossible setting leaves the form as it is
        with st.expander("Settings", icon=":material/tune:"):
            plan = form.plan()
            if plan.features == "clip" and not configured_roots():
                score_by_command(project.name, plan, "With a model file that you have, run")
        st.caption(f"{counts['candidate']:,} candidates, {escape_markdown(settings_words(plan))}.")
        if st.button(words, type="primary", icon=":material/speed:", key="score.start"):
            launch_scoring(store, project.id, plan)


def launch_scoring(store: Store, project: str, plan: Plan) -> None:
    """Start a run, unless one is under way, and show how far it is."""
    if scoring_job(store, project) is None:
        launch(store, ScoringJob(plan), project)
    st.switch_page("pages/score.py")


def launch_missing(store: Store, run: Run, names: tuple[str, ...], key: str) -> None:
    """The offer to compute evaluators that a run does not have."""
    listed = text.list_methods(names)
    words = f"Compute {len(names)} further method{'s' if len(names) > 1 else ''}"
    if st.button(words, icon=":material/playlist_add:", help=escape_markdown(listed), key=key):
        if scoring_job(store, run.project) is None:
            launch(store, CompletionJob(run.id, names), run.project)
        st.rerun()


def show_scoring(
    store: Store, project: Project, job: Job, columns: tuple[str, ...] | None = None
) -> None:
    """The bar, and which methods are there already; a page that shows the methods themselves gives
    its ``columns`` to be drawn anew with each further one."""
    jobs.show_progress(store, job.id)
    _so_far(store, project.id, job.id, project.current_run, columns)


@st.fragment(run_every=1.5)
def _so_far(
    store: Store, project: str, job_id: str, shown: str | None, columns: tuple[str, ...] | None
) -> None:
    """EAP is shown as soon as it is there: then the whole page is drawn anew."""
    with frame.show_errors():
        _methods_so_far(store, project, job_id, shown, columns)


def _methods_so_far(
    store: Store, project: str, job_id: str, shown: str | None, columns: tuple[str, ...] | None
) -> None:
    current = projects.by_id(store, project).current_run
    grown = columns is not None and current and runs.score_names(store, current) != columns
    if current != shown or grown:
        st.rerun(scope="app")
    job = rows.by_id(store, job_id)
    run = runs.by_id(store, current) if current else None
    if run is None or (job.kind == ScoringJob.kind and run.job != job.id):
        st.caption("EAP is computed first and shown as soon as it is there; the rest follows.")
        return
    completes = job.kind == CompletionJob.kind
    asked = CompletionJob.from_record(job.arguments).evaluators if completes else ()
    found = text.find_methods(store, run, asked)
    done = [name for name in found.wanted if name in found.there]
    coming = text.list_methods(found.missing)
    st.caption(
        f"EAP is there. {len(done)} of {len(found.wanted)} further methods are computed"
        + (f"; still to come: {coming}." if coming else ".")
        + " You can leave this page or close it: the work goes on."
    )
