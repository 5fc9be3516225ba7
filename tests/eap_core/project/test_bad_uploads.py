"""Every bad file of the collection, uploaded into a project as the page does it.

The file is refused in one sentence, or the health report says what to do; what was in the project
stays, and the next good upload works.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from eap_core.base.errors import DataError
from eap_core.jobs import UploadJob
from eap_core.project import IntakeReport, Target
from eap_core.project.health import check_health
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.store import Store
from tests.bad_files import bad_file, cases
from tests.eap_core.project.conftest import picture

TARGETS: dict[str, Target] = {"normal": "normal", "labelled": "train"}
EITHER = {"csv_two_rows.csv", "csv_thousands.csv", "img_animated.gif"}


def upload(store: Store, project: str, path: Path, target: Target) -> IntakeReport:
    saved = ((store.blobs.put(path.read_bytes()), path.name),)
    return UploadJob(saved, target=target).take(store, project)


def prepared_project(store: Store, kind: str, target: Target) -> str:
    """A project that lacks only what is to be uploaded."""
    if kind == "images":
        made = projects.create(store, "images", "images").id
        saved = tuple((store.blobs.put(picture(900 + i)), f"good-{i}.png") for i in range(7))
        UploadJob(saved, target="normal").take(store, made)
        return made
    made = projects.create(store, "table", "table").id
    if target == "candidate":
        upload(store, made, bad_file("ok_normal.csv"), "normal")
    else:
        upload(store, made, bad_file("ok_candidates.csv"), "candidate")
    return made


@pytest.mark.parametrize("case", cases())
def test_a_bad_upload_is_said_and_harms_nothing(case: dict[str, str], store: Store) -> None:
    name = case["file"]
    kind = "images" if case["role"] == "images" else "table"
    target = TARGETS.get(case["role"], "candidate")
    project = prepared_project(store, kind, target)
    before = [(item.id, item.name, item.sha256) for item in items_of(store, project)]
    try:
        taken, error = upload(store, project, bad_file(name), target), ""
    except DataError as refused:
        taken, error = IntakeReport(), str(refused)
    kept = [(item.id, item.name, item.sha256) for item in items_of(store, project)]
    assert kept[: len(before)] == before
    if error:
        assert case["expected"] == "reject" or name in EITHER, error
        assert len(kept) == len(before)
        assert "\n" not in error
        assert "Traceback" not in error
        assert name in error
    else:
        findings = check_health(store, project)
        said = [*taken.warnings, *(f"{n} {r}" for n, r in taken.skipped)]
        said += [finding.sentence for finding in findings if finding.severity != "note"]
        stopped = any(finding.severity == "stop" for finding in findings)
        if case["expected"] == "reject":
            assert stopped or taken.skipped, (taken, findings)
        elif case["expected"] == "warn":
            assert said
        else:
            assert taken.counts
    assert not list(Path("/tmp").glob("eap_pwned*"))
    good = {"images": "zip_case_names.zip", "table": "ok_candidates.csv"}[kind]
    assert upload(store, project, bad_file(good), "test_anomaly").counts
