"""The settings of a run in plain words, as widgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import streamlit as st

from eap_core.errors import DataError, SettingsError
from eap_core.evaluators import EVALUATORS
from eap_core.problem import ASSUMED_RATE
from eap_core.projects.plan import Plan
from eap_core.roles import Role
from eap_core.scoring import evaluator_names
from eap_core.store.projects import Project
from ui import methods
from ui.clip_form import clip_settings
from ui.settings_words import DETECTORS, FEATURES, THOROUGHNESS, thoroughness

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
            format_func=thoroughness,
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
                    self._wrong.append(str(error))
        return features, given.clip_model, given.weights, given.int8

    def _features(self) -> str:
        return st.segmented_control(
            "Image features",
            list(FEATURES),
            default=self._given.features if self._given.features in FEATURES else "full",
            format_func=FEATURES.__getitem__,
            key=f"{self._key}.features",
            persist_state="session",
            required=True,
            help="Full looks at the whole image and its most unusual places; fast at a smaller "
            "copy of the whole image only; CLIP at the whole image by a large model that has to be "
            "fetched first, as the method's paper does.",
        )

    def _methods(self) -> tuple[str, ...]:
        found = st.multiselect(
            "Further methods, to compare with",
            [name for name in EVALUATORS if name != "eap"],
            list(evaluator_names(self._given.evaluators)[1:]),
            format_func=methods.WORDS.__getitem__,
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
