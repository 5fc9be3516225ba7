"""Bundles in the store's folder: complete, the same each time, whole or absent."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pandas as pd
import pytest

from eap_core.analysis import Plan
from eap_core.analysis.trust import describe
from eap_core.base.errors import DataError, SettingsError
from eap_core.base.files import restore_text
from eap_core.base.progress import Cancelled
from eap_core.export import FORMS, Format, request
from eap_core.export.bundle import Bundle, delete, gather_files, list_bundles, make_bundle
from eap_core.export.files import kind_folders, slug, write_folder
from eap_core.export.request import ExportRequest
from eap_core.project.rehearsal import make_rehearsal
from eap_core.review import REASONS
from eap_core.scoring.settings import PAPER
from eap_core.store import projects, runs
from eap_core.store.cleanup import empty_bin
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of, remove_upload
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.conftest import make_problem
from tests.eap_core.export.conftest import HOSTILE, decide, picture, scored

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def opened(made: Bundle) -> dict[str, bytes]:
    with ZipFile(made.path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def csv_of(made: Bundle) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(made.read_table()), dtype=str, keep_default_na=False)


def test_hostile_names_come_back_from_csv_with_their_decisions(store: Store, rows: Project) -> None:
    verdicts = {name: ("accept", "reject", "skip")[i % 3] for i, name in enumerate(HOSTILE)}
    decide(store, rows.id, verdicts, '=one\n"two"', reason="other", note="+1 \r\n note, 'x'")  # type: ignore[arg-type]
    frame = csv_of(make_bundle(store, rows.id, ExportRequest("csv")))
    words = {"accept": "accepted", "reject": "rejected", "skip": "undecided"}
    found = {
        restore_text(name): each for name, each in zip(frame["id"], frame["decision"], strict=True)
    }
    assert found == {name: words[verdict] for name, verdict in verdicts.items()}
    assert [restore_text(name) for name in frame["generator"]] == [
        restore_text(i) for i in frame["id"]
    ]
    assert set(frame["decision (given)"]) == {"given"}
    for number in range(len(frame)):
        row = frame.iloc[number]
        undecided = verdicts[restore_text(row["id"])] == "skip"
        assert restore_text(row["reviewer"]) == ("" if undecided else '=one\n"two"')
        assert restore_text(row["note"]) == ("" if undecided else "+1 \r\n note, 'x'")
        assert row["reason"] == ("" if undecided else REASONS["other"])
        assert bool(row["decided_at"]) != undecided
    assert all(cell[:1] not in "=+-@\t\r" or not cell for cell in (*frame["id"], *frame["note"]))


def test_parquet_holds_the_same_as_csv_and_raw_text(store: Store, rows: Project) -> None:
    decide(store, rows.id, {HOSTILE[0]: "accept"}, note="=1")
    made = make_bundle(store, rows.id, ExportRequest("parquet"))
    frame = pd.read_parquet(io.BytesIO(made.read_table()))
    csv = csv_of(make_bundle(store, rows.id, ExportRequest("csv")))
    assert list(frame.columns) == [restore_text(name) for name in csv.columns]
    assert list(frame["id"]) == [restore_text(name) for name in csv["id"]] == list(HOSTILE)
    assert frame["note"].iloc[0] == "=1"
    assert frame["synthetic"].dtype == bool
    assert frame["synthetic"].all()
    assert set(frame["split"]) == {"train"}
    assert [float(v) for v in csv["eap"]] == list(frame["eap"])


def test_a_row_has_what_a_score_rests_on(store: Store, rows: Project) -> None:
    frame = csv_of(make_bundle(store, rows.id, ExportRequest()))
    wanted = {"id", "file", "sha256", "decision", "decided_by", "reason", "note", "reviewer",
              "decided_at", "flagged", "eap", "percentile", "p_y", "weight", "observations",
              "prior", "category", "rarity", "run", "generator", "synthetic", "split"}  # fmt: skip
    assert wanted <= set(frame.columns)
    assert set(frame["run"]) == {projects.by_id(store, rows.id).current_run}
    assert [int(rank) for rank in frame["rank"]] == list(range(1, len(HOSTILE) + 1))


def test_only_accepted_rows_if_asked(store: Store, rows: Project) -> None:
    decide(store, rows.id, {"007": "accept", "NA": "reject"})
    made = make_bundle(store, rows.id, ExportRequest(only="accepted", top=10))
    frame = csv_of(made)
    assert [restore_text(name) for name in frame["id"]] == [HOSTILE[0], "007"]
    assert list(frame["decided_by"]) == ["rule", "reviewer"]
    assert made.counts["accepted"] == 2


def test_candidates_without_a_score_are_listed_last(store: Store, rows: Project) -> None:
    add_upload(store, rows.id, NewUpload("late.csv", "csv"), [NewItem(0, "candidate", "late")])
    decide(store, rows.id, {"late": "accept"})
    made = make_bundle(store, rows.id, ExportRequest(top=100))
    last = csv_of(made).iloc[-1]
    assert (last["id"], last["decision"], last["decided_by"]) == ("late", "accepted", "reviewer")
    assert (last["eap"], last["rank"], last["category"]) == ("", "", "")
    assert made.counts["unscored"] == 1
    assert made.manifest["run"]["data_changed_since"]


def test_papers_tell_how_far_the_score_can_be_trusted(store: Store, rows: Project) -> None:
    without = opened(make_bundle(store, rows.id, ExportRequest()))
    assert json.loads(without["manifest.json"])["run"]["rehearsal"] is None
    assert "can be trusted" not in without["README.md"].decode()
    run = projects.by_id(store, rows.id).current_run
    assert run is not None
    made = make_rehearsal(store, run, make_problem(anomalies=3), Plan(settings=PAPER))
    files = opened(make_bundle(store, rows.id, ExportRequest()))
    told = json.loads(files["manifest.json"])["run"]["rehearsal"]
    assert (told["m"], told["normals"], told["weak"]) == (3, 36, True)
    first = told["trials"][0]
    assert "real" not in first
    assert first["found"] == made.trial("eap").found
    assert first["above_normals"]["value"] == round(made.trial("eap").above_normals.value, 4)
    card = files["README.md"].decode()
    assert "## How far the score can be trusted here" in card
    assert describe(made, "eap") in card
    assert "With 3 real anomalies chance decides" in card


def test_the_manifest_tells_rule_settings_inputs_and_hashes(store: Store, rows: Project) -> None:
    decide(store, rows.id, {"007": "accept", HOSTILE[0]: "reject"}, "one")
    decide(store, rows.id, {"007": "reject"}, "two", seen=0)
    made = make_bundle(store, rows.id, ExportRequest(top=50), created=AT)
    files = opened(made)
    manifest = json.loads(files["manifest.json"])
    assert manifest["created"] == "2026-03-04T05:06:07+00:00"
    assert manifest["selection"]["rule"]["accept_best_percent"] == 50
    counts = manifest["selection"]["counts"]
    assert counts == dict(made.counts)
    assert (counts["overruled"], counts["accepted_by_rule"], counts["conflicts"]) == (1, 5, 1)
    (conflict,) = manifest["review"]["conflicts"]
    assert conflict["id"] == "007"
    assert conflict["later"] == {"reviewer": "two", "decision": "rejected"}
    (agreement,) = manifest["review"]["agreement"]
    assert (agreement["items"], agreement["share"]) == (1, 0)
    assert manifest["run"]["fingerprint"] == "f00d"
    assert manifest["run"]["settings"]["seed"] == 3
    assert manifest["inputs"]["uploads"][0]["sha256"] == hashlib.sha256(b"id\n").hexdigest()
    listed = manifest["files"]
    assert set(listed) == set(files) - {"manifest.json"}
    for name, each in listed.items():
        assert each == {"sha256": hashlib.sha256(files[name]).hexdigest(), "size": len(files[name])}
    assert "reviewers disagree on 1 candidate without" in files["README.md"].decode()


@pytest.mark.parametrize("form", FORMS)
def test_the_same_state_gives_the_same_bytes(store: Store, images: Project, form: Format) -> None:
    first = make_bundle(store, images.id, ExportRequest(form, 40), created=AT)
    data = first.path.read_bytes()
    again = make_bundle(store, images.id, ExportRequest(form, 40), created=AT)
    assert again.path == first.path
    assert again.path.read_bytes() == data
    assert again.sha256 == hashlib.sha256(data).hexdigest()
    assert again.size == len(data)
    later = opened(make_bundle(store, images.id, ExportRequest(form, 40)))
    before = opened(first)
    manifests = [json.loads(each.pop("manifest.json")) for each in (before, later)]
    assert before == later
    assert {**manifests[0], "created": ""} == {**manifests[1], "created": ""}


def test_the_zip_has_no_times_sorted_names_and_packs_only_text(
    store: Store, images: Project
) -> None:
    with ZipFile(make_bundle(store, images.id, ExportRequest("anomalib", 40)).path) as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == sorted(info.filename for info in infos)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    for info in infos:
        image = info.filename.endswith((".png", ".jpg"))
        assert info.compress_type == (ZIP_STORED if image else ZIP_DEFLATED)
        assert not info.flag_bits & 0x08  # sizes stand in front, as simple readers need them


def test_the_card_takes_names_literally(store: Store) -> None:
    made = projects.create(store, "<img src=x> [a](http://x) # `b` **c**", "table")
    add_upload(store, made.id, NewUpload("c", "csv"), [NewItem(0, "candidate", "x")])
    scored(store, made.id)
    decide(store, made.id, {"x": "accept"}, "*one*")
    decide(store, made.id, {"x": "accept"}, "two|three")
    text = opened(make_bundle(store, made.id, ExportRequest()))["README.md"].decode()
    assert r"# \<img src=x\> \[a\]\(http\://x\) \# \`b\` \*\*c\*\*: curated" in text
    assert r"\*one\* and two\|three both decided on 1 and agree on 100%" in text


def test_what_cannot_be_exported_is_said(store: Store, rows: Project, images: Project) -> None:
    with pytest.raises(SettingsError, match="holds a table, and 'MVTec tree' is made of images"):
        make_bundle(store, rows.id, ExportRequest("mvtec", 50))
    with pytest.raises(DataError, match=r"no candidate of 'Bottle .*' is accepted — accept some"):
        make_bundle(store, images.id, ExportRequest("anomalib"))
    empty = projects.create(store, "empty", "images")
    with pytest.raises(SettingsError, match="has no scores yet — score"):
        make_bundle(store, empty.id, ExportRequest())
    with pytest.raises(SettingsError, match="no form of a bundle — choose from csv, parquet"):
        ExportRequest("zip")


def test_a_lost_or_altered_original_is_said_and_leaves_nothing(
    store: Store, images: Project
) -> None:
    item = items_of(store, images.id, "normal")[3]
    assert item.sha256
    path = store.blobs.path(item.sha256)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(DataError, match="was altered on the disk"):
        make_bundle(store, images.id, ExportRequest("anomalib", 40))
    path.unlink()
    with pytest.raises(DataError, match="is missing — restore a backup"):
        make_bundle(store, images.id, ExportRequest("anomalib", 40))
    assert not list((store.home / "exports").rglob("*.*"))


def test_cancelling_leaves_nothing(store: Store, images: Project) -> None:
    told: list[float] = []

    def stop(share: float, _step: str) -> None:
        told.append(share)
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        make_bundle(store, images.id, ExportRequest("mvtec", 40), stop)
    assert told == sorted(told)
    assert not list((store.home / "exports").rglob("*.*"))


def test_bundles_are_listed_latest_first_and_deleted(store: Store, images: Project) -> None:
    first = make_bundle(store, images.id, ExportRequest("csv"), created=AT)
    second = make_bundle(store, images.id, ExportRequest("imagefolder", 40))
    found = list_bundles(store, images.id)
    assert [each.name for each in found] == [second.name, first.name]
    assert found[1].sha256 == first.sha256
    assert found[1].created == AT
    assert found[0].counts["accepted"] == 6
    assert list_bundles(store, projects.create(store, "other", "table").id) == []
    delete(store, images.id, first.name)
    assert [each.name for each in list_bundles(store, images.id)] == [second.name]
    assert len(list(first.path.parent.iterdir())) == 2
    with pytest.raises(DataError, match=r"no bundle .* any more"):
        delete(store, images.id, "../../store.sqlite3")


def test_bundles_go_with_their_project(store: Store, images: Project) -> None:
    made = make_bundle(store, images.id, ExportRequest("csv"))
    projects.to_bin(store, images.id)
    assert made.path.exists()
    empty_bin(store)
    assert not list((store.home / "exports").rglob("*.*"))


def test_a_later_run_is_the_one_exported(store: Store, rows: Project) -> None:
    latest = scored(store, rows.id, also=("lava",))
    frame = csv_of(make_bundle(store, rows.id, ExportRequest()))
    assert set(frame["run"]) == {latest}
    assert "lava" in frame
    assert "rarity" not in frame
    runs.make_current(store, runs.runs_of(store, rows.id)[1].id)
    assert "rarity" in csv_of(make_bundle(store, rows.id, ExportRequest()))


@pytest.mark.parametrize("look", ["items_of", "uploads_of"])
@pytest.mark.parametrize("form", ["csv", "imagefolder"])
def test_an_upload_that_is_removed_between_two_looks_is_left_out_and_said(
    store: Store, images: Project, monkeypatch: pytest.MonkeyPatch, look: str, form: Format
) -> None:
    late = NewItem(0, "candidate", "late.png", store.blobs.put(picture(99)))
    upload = add_upload(store, images.id, NewUpload("late.zip", "images"), [late])
    scored(store, images.id)
    there = getattr(request, look)

    def after_removing(opened: Store, project: str) -> object:
        remove_upload(opened, project, upload.id)
        return there(opened, project)

    monkeypatch.setattr(request, look, after_removing)
    made = make_bundle(store, images.id, ExportRequest(form, top=100))
    assert made.counts["candidates"] == 14
    assert "late" not in "".join(opened(made))
    assert made.manifest["run"]["data_changed_since"] is True
    assert [each["name"] for each in made.manifest["inputs"]["uploads"]] == ["all.zip"]


def test_a_cut_among_equal_scores_is_said(store: Store, rows: Project) -> None:
    made = make_bundle(store, rows.id, ExportRequest(top=50))
    assert made.manifest["selection"]["rule"]["equal_scores_at_the_cut"] is None
    assert "equal scores" not in opened(made)["README.md"].decode()
    scored(store, rows.id, given=[0.9] * 2 + [0.5] * 7 + [0.1] * 3)
    made = make_bundle(store, rows.id, ExportRequest(top=50))
    rule = made.manifest["selection"]["rule"]
    assert rule["equal_scores_at_the_cut"] == {"taken": 4, "of": 7, "by": "name"}
    assert "4 of these 7 were taken by the rule" in opened(made)["README.md"].decode()
    frame = csv_of(made)
    equal = frame[frame["eap"] == "0.5"]
    names = [restore_text(name) for name in equal["id"]]
    taken = [restore_text(name) for name in equal[equal["decision"] == "accepted"]["id"]]
    assert taken == sorted(names)[:4]


def test_picked_candidates_are_counted_as_they_were_found(store: Store, rows: Project) -> None:
    picked = [item.id for item in items_of(store, rows.id)][:3]
    made = make_bundle(store, rows.id, ExportRequest(items=(*picked, picked[0], "gone")))
    assert made.manifest["selection"]["picked"] == 3 == made.counts["candidates"]


def test_no_folder_has_a_name_that_windows_keeps_for_itself() -> None:
    kinds = ["CON", "nul", "com1", "COM¹", "lpt9", "Aux.", "prn", "common", "con 2"]
    folders = kind_folders(kinds)
    assert len(set(folders.values())) == len(kinds)
    kept = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}
    assert not kept & {*folders.values(), *(slug(kind, "images") for kind in kinds)}
    assert (folders["common"], folders["con 2"]) == ("common", "con_2")


def test_a_folder_is_on_the_disk_before_it_has_its_name(
    store: Store, images: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = gather_files(store, images.id, ExportRequest("imagefolder", top=50))
    target = tmp_path / "set"
    forced: set[tuple[int, int]] = set()
    fsync = os.fsync

    def noting(handle: int) -> None:
        fsync(handle)
        if not target.exists():
            facts = os.fstat(handle)
            forced.add((facts.st_ino, facts.st_size if stat.S_ISREG(facts.st_mode) else -1))

    monkeypatch.setattr(os, "fsync", noting)
    write_folder(found.members, target)
    written = [target, *target.rglob("*")]
    assert len(written) > len(found.members)
    for path in written:
        facts = path.stat()
        assert (facts.st_ino, facts.st_size if path.is_file() else -1) in forced
