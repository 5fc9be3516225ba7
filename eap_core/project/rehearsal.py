"""The rehearsal of a run: computed from its own data and plan, and kept beside its scores."""

from __future__ import annotations

from eap_core.analysis import Plan
from eap_core.analysis.trust import Rehearsal, rehearse
from eap_core.base.files import CheckedFile
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, silent
from eap_core.store import explain_disk_errors
from eap_core.store.cleanup import rehearsal_file
from eap_core.store.store import Store

_VERSION = 2  # of what is kept; what another version has kept counts as absent


def make_rehearsal(
    store: Store, run_id: str, problem: Problem, plan: Plan, progress: Progress = silent
) -> Rehearsal:
    """Rehearse with a run's problem and plan, and keep what is found."""
    found = rehearse(problem, plan.settings, plan.seed, progress=progress, prior=plan.belief)
    with explain_disk_errors():
        file = CheckedFile(rehearsal_file(store.home, run_id))
        file.keep_json({"version": _VERSION, "rehearsal": found.record})
    return found


def read_rehearsal(store: Store, run_id: str) -> Rehearsal | None:
    """The rehearsal of a run; None while there is none, or it is damaged or of another version."""
    kept = CheckedFile(rehearsal_file(store.home, run_id)).load_json()
    try:
        return Rehearsal.from_record(kept["rehearsal"]) if kept["version"] == _VERSION else None
    except (TypeError, KeyError, ValueError):
        return None
