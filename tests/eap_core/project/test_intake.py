from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.base.progress import Cancelled
from eap_core.project import InputFile
from eap_core.project.demos import NAMES, make_demo
from eap_core.project.health import check_health, recall_health
from eap_core.project.intake import image_item, take
from eap_core.project.problem import prepare_problem, state_of
from eap_core.project.results import run_frame
from eap_core.project.run import score_project
from eap_core.readers.files import Reading
from eap_core.store import projects
from eap_core.store.items import items_of, remove_upload, uploads_of
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture, table_text


def written(path: Path, text: str | bytes) -> InputFile:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return InputFile.at(path)


@pytest.fixture
def table(store: Store) -> str:
    return projects.create(store, "rows", "table").id


@pytest.fixture
def images(store: Store) -> str:
    return projects.create(store, "pictures", "images").id


def test_rows_keep_their_numbers_and_metadata(store: Store, table: str, tmp_path: Path) -> None:
    normals = written(tmp_path / "good.csv", table_text(30, 1))
    made = written(tmp_path / "made.csv", table_text(4, 2, 2.0, generator="gan", prompt="x;y"))
    take(store, table, [normals], "normal")
    taken = take(store, table, [made], "candidate")
    assert taken.counts == {"candidate": 4}
    ready = prepare_problem(store, table, Plan())
    raw = ready.problem.x_candidates * ready.problem.spread + ready.problem.centre
    expected = np.loadtxt(made.path, delimiter=",", skiprows=1, usecols=(1, 2, 3))
    np.testing.assert_allclose(raw, expected, rtol=1e-12)
    assert [item.metadata for item in ready.candidates] == [
        {"generator": "gan", "prompt": "x;y"}
    ] * 4
    assert ready.problem.ids == tuple(f"r2-{i}" for i in range(4))


def test_a_labelled_table_is_split_by_its_labels(store: Store, table: str, tmp_path: Path) -> None:
    text = table_text(12, 1, label=0) + "".join(
        line + "\n" for line in table_text(3, 2, 3.0, label=1).splitlines()[1:]
    )
    taken = take(store, table, [written(tmp_path / "train.csv", text)])
    assert taken.counts == {"normal": 12, "anomaly": 3}
    test = take(store, table, [written(tmp_path / "held.csv", text)], "test")
    assert test.counts == {"test_normal": 12, "test_anomaly": 3}


def test_rows_come_back_when_the_cache_is_lost_or_damaged(
    store: Store, table: str, tmp_path: Path
) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    take(store, table, [written(tmp_path / "made.csv", table_text(4, 2))], "candidate")
    before = prepare_problem(store, table, Plan()).problem.fingerprint
    cached = sorted((store.home / "cache" / "tables").iterdir())
    assert len(cached) == 2
    cached[0].unlink()
    cached[1].write_bytes(cached[1].read_bytes()[:-8] + b"\x00" * 8)
    assert prepare_problem(store, table, Plan()).problem.fingerprint == before


def test_an_altered_original_is_refused_not_scored(
    store: Store, table: str, tmp_path: Path
) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    take(store, table, [written(tmp_path / "made.csv", table_text(4, 2))], "candidate")
    for path in (store.home / "cache" / "tables").iterdir():
        path.unlink()
    original = store.blobs.path(uploads_of(store, table)[0].sha256 or "")
    original.write_bytes(original.read_bytes().replace(b"0.", b"1.", 1))
    with pytest.raises(DataError, match="altered on the disk"):
        prepare_problem(store, table, Plan())


def test_the_same_ids_in_two_files_are_told_apart(store: Store, table: str, tmp_path: Path) -> None:
    take(store, table, [written(tmp_path / "one.csv", table_text(3, 1))], "candidate")
    take(store, table, [written(tmp_path / "two.csv", table_text(2, 1))], "candidate")
    take(store, table, [written(tmp_path / "two.csv", table_text(1, 1))], "candidate")
    assert [item.name for item in items_of(store, table)] == [
        "r1-0", "r1-1", "r1-2", "two.csv: r1-0", "two.csv: r1-1", "two.csv (2): r1-0",
    ]  # fmt: skip


def test_of_several_tables_the_good_are_added_and_the_bad_named(
    store: Store, table: str, tmp_path: Path
) -> None:
    good = written(tmp_path / "good.csv", table_text(3, 1))
    bad = written(tmp_path / "bad.csv", "id,a,b,c\nx,1,2\n")
    taken = take(store, table, [bad, good], "candidate")
    assert taken.counts == {"candidate": 3}
    assert [name for name, _ in taken.skipped] == ["bad.csv"]


def test_a_bad_file_leaves_the_project_as_it_was(store: Store, table: str, tmp_path: Path) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(3, 1))], "normal")
    for text in ("", "id,a\nx,1\ny,hello\nz,2\n"):
        with pytest.raises(DataError, match=r"bad\.csv"):
            take(store, table, [written(tmp_path / "bad.csv", text)], "normal")
    with pytest.raises(DataError, match="no table"):
        take(store, table, [written(tmp_path / "x.png", picture(1))], "normal")
    assert len(items_of(store, table)) == 3
    assert len(uploads_of(store, table)) == 1
    take(store, table, [written(tmp_path / "next.csv", table_text(2, 3))], "normal")
    assert len(items_of(store, table)) == 5


def test_choices_of_reading_are_kept_with_the_upload(
    store: Store, table: str, tmp_path: Path
) -> None:
    reading = Reading(missing="median", exclude=("c",))
    text = table_text(30, 1).replace(table_text(30, 1).splitlines()[3].split(",")[1], "")
    take(store, table, [written(tmp_path / "good.csv", text)], "normal", reading)
    take(store, table, [written(tmp_path / "c.csv", table_text(3, 2))], "candidate", reading)
    for path in (store.home / "cache" / "tables").iterdir():
        path.unlink()
    problem = prepare_problem(store, table, Plan()).problem
    assert problem.columns == ("a", "b")
    assert any("median" in note for note in (*problem.notes, *problem.warnings))


def test_a_tree_of_images_finds_its_roles_masks_and_metadata(
    store: Store, images: str, tmp_path: Path
) -> None:
    members = {f"normal/{i}.png": picture(i) for i in range(4)}
    members |= {"anomaly/crack/a.png": picture(9), "masks/crack/a.png": picture(10)}
    members |= {"generated/gan/c.png": picture(11), "generated/gan/bad.png": b"no image"}
    members |= {"readme.txt": b"hello"}
    taken = take(store, images, [InputFile.at(archive(tmp_path / "all.zip", members))])
    assert taken.counts == {"normal": 4, "anomaly": 1, "candidate": 1}
    assert {name for name, _ in taken.skipped} == {"generated/gan/bad.png", "readme.txt"}
    by_role = {item.role: item for item in items_of(store, images)}
    assert by_role["anomaly"].metadata["defect_type"] == "crack"
    assert by_role["candidate"].metadata["generator"] == "gan"
    assert store.blobs.read(by_role["anomaly"].mask or "") == picture(10)
    assert store.blobs.read(by_role["candidate"].sha256 or "") == picture(11)
    assert store.blobs.thumbnail_path(by_role["candidate"].sha256 or "").is_file()
    assert image_item(by_role["candidate"]).facts.width == 48


def test_the_same_images_again_add_nothing_and_others_of_the_name_get_a_number(
    store: Store, images: str, tmp_path: Path
) -> None:
    one = archive(tmp_path / "one.zip", {"x.png": picture(1), "y.png": picture(2)})
    take(store, images, [InputFile.at(one)], "normal")
    assert take(store, images, [InputFile.at(one)], "normal").counts == {}
    other = archive(tmp_path / "other.zip", {"x.png": picture(3), "y.png": picture(2)})
    assert take(store, images, [InputFile.at(other)], "normal").counts == {"normal": 1}
    assert [i.name for i in items_of(store, images)] == ["x.png", "y.png", "x (2).png"]


def test_images_without_a_role_are_refused_with_the_way_out(
    store: Store, images: str, tmp_path: Path
) -> None:
    flat = archive(tmp_path / "flat.zip", {"x.png": picture(1)})
    with pytest.raises(DataError, match="nothing says what it is"):
        take(store, images, [InputFile.at(flat)])
    assert not items_of(store, images)


def test_given_features_are_used_for_the_images_they_name(
    store: Store, images: str, tmp_path: Path
) -> None:
    members = {f"normal/{i}.png": picture(i) for i in range(9)} | {"generated/c.png": picture(20)}
    take(store, images, [InputFile.at(archive(tmp_path / "all.zip", members))])
    rng = np.random.default_rng(0)
    names = [*(f"normal/{i}.png" for i in range(9)), "c"]
    values = rng.normal(size=(10, 2))
    rows = "".join(f"{n},{a},{b}\n" for n, (a, b) in zip(names, values, strict=True))
    take(store, images, [written(tmp_path / "features.csv", "id,f1,f2\n" + rows)])
    problem = prepare_problem(store, images, Plan(features="clip")).problem  # which is not asked
    raw = problem.x_candidates * problem.spread + problem.centre
    np.testing.assert_allclose(raw, values[[9]])
    assert any("features are those that were given in a table" in said for said in problem.notes)
    take(store, images, [written(tmp_path / "new.png", picture(30))], "candidate")
    with pytest.raises(DataError, match=r"no features for 1 of 11 images: 'new\.png'"):
        prepare_problem(store, images, Plan())


def test_features_of_no_image_are_refused(store: Store, images: str, tmp_path: Path) -> None:
    take(store, images, [written(tmp_path / "x.png", picture(1))], "normal")
    with pytest.raises(DataError, match="no id is the name of an image"):
        take(store, images, [written(tmp_path / "f.csv", "id,f1\nzzz,1\nyyy,2\n")])


def test_the_health_report_is_remembered_until_the_items_change(
    store: Store, images: str, tmp_path: Path
) -> None:
    members = {f"normal/{i}.png": picture(i) for i in range(4)}
    members |= {"generated/gan/c.png": picture(2), "generated/gan/bad.png": b"no image"}
    take(store, images, [InputFile.at(archive(tmp_path / "all.zip", members))])
    assert recall_health(store, images) is None
    found = {finding.code: finding for finding in check_health(store, images)}
    assert found["candidate-is-normal"].where == ("generated/gan/c.png = normal/2.png",)
    assert found["unusable-files"].where[0].startswith("generated/gan/bad.png ")
    assert {f.code for f in recall_health(store, images) or ()} == set(found)
    take(store, images, [written(tmp_path / "new.png", picture(30))], "candidate")
    assert recall_health(store, images) is None


def test_removed_uploads_no_longer_count(store: Store, table: str, tmp_path: Path) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    take(store, table, [written(tmp_path / "one.csv", table_text(3, 2))], "candidate")
    take(store, table, [written(tmp_path / "two.csv", table_text(2, 3))], "candidate")
    remove_upload(store, table, uploads_of(store, table)[1].id)
    assert len(prepare_problem(store, table, Plan()).candidates) == 2


def test_a_table_that_cannot_be_scored_is_a_finding(
    store: Store, table: str, tmp_path: Path
) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    other = table_text(3, 2).replace("id,a,b,c", "id,a,b,z")
    take(store, table, [written(tmp_path / "made.csv", other)], "candidate")
    stops = [finding for finding in check_health(store, table) if finding.severity == "stop"]
    assert [finding.code for finding in stops] == ["cannot-be-scored"]
    assert "lacks the column 'c'" in stops[0].what


def test_too_many_anomalies_are_thinned_and_said(store: Store, table: str, tmp_path: Path) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(12, 1))], "normal")
    take(store, table, [written(tmp_path / "bad.csv", table_text(20, 2, 2.0))], "anomaly")
    take(store, table, [written(tmp_path / "made.csv", table_text(3, 3))], "candidate")
    ready = prepare_problem(store, table, replace(Plan(), seed=3))
    assert ready.problem.m == 3
    assert "3 of 20 real anomalies are used" in ready.notes[0]


def test_the_same_table_again_adds_nothing(store: Store, table: str, tmp_path: Path) -> None:
    made = written(tmp_path / "made.csv", table_text(5, 2))
    take(store, table, [made], "candidate")
    again = take(store, table, [made], "candidate")
    assert again.counts == {}
    assert "not added twice" in again.notes[0]
    assert take(store, table, [made], "normal").counts == {"normal": 5}
    assert len(items_of(store, table)) == 10


def test_a_numbered_image_is_known_again(store: Store, images: str, tmp_path: Path) -> None:
    for seed in (1, 2, 2, 2):
        given = InputFile.at(archive(tmp_path / f"{seed}.zip", {"x.png": picture(seed)}))
        take(store, images, [given], "normal")
    assert [item.name for item in items_of(store, images)] == ["x.png", "x (2).png"]


def test_a_cache_that_cannot_be_written_refuses_nothing(
    store: Store, table: str, tmp_path: Path
) -> None:
    (store.home / "cache").write_text("in the way of a folder")
    take(store, table, [written(tmp_path / "made.csv", table_text(5, 2))], "candidate")
    assert len(items_of(store, table)) == 5


def test_images_and_their_features_may_come_together(
    store: Store, images: str, tmp_path: Path
) -> None:
    zipped = InputFile.at(archive(tmp_path / "n.zip", {f"{i}.png": picture(i) for i in range(8)}))
    rows = "".join(f"{i}.png,{i},{i * i}\n" for i in range(8))
    features = written(tmp_path / "features.csv", "id,f1,f2\n" + rows)
    bad = written(tmp_path / "others.csv", "id,f1\nzzz,1\nyyy,2\n")
    taken = take(store, images, [features, bad, zipped], "normal")
    assert taken.counts == {"normal": 8}
    assert [name for name, _ in taken.skipped] == ["others.csv"]
    assert sum(upload.kind == "features" for upload in uploads_of(store, images)) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_order_of_files_decides_nothing(
    store: Store, table: str, tmp_path: Path, order: tuple[int, int]
) -> None:
    plain = written(tmp_path / "plain.csv", table_text(20, 1))
    cells = table_text(20, 2, colour="red").replace("red", "blue", 12).splitlines()
    cells[1] = cells[1].replace(cells[1].split(",")[1], "")
    coloured = written(tmp_path / "coloured.csv", "\n".join(cells) + "\n")
    choices = [(plain, Reading()), (coloured, Reading(missing="median"))]
    for given, reading in (choices[i] for i in order):
        take(store, table, [given], "normal", reading)
    take(store, table, [written(tmp_path / "c.csv", table_text(3, 3))], "candidate")
    problem = prepare_problem(store, table, Plan()).problem
    assert sorted(problem.columns) == ["a", "b", "c"]
    assert any("'colour' is text in some files" in warning for warning in problem.warnings)


def test_a_failure_that_may_pass_is_not_remembered(
    store: Store, table: str, tmp_path: Path
) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    take(store, table, [written(tmp_path / "made.csv", table_text(4, 2))], "candidate")
    originals, away = store.home / "files" / "originals", store.home / "away"
    for path in (store.home / "cache" / "tables").iterdir():
        path.unlink()
    originals.rename(away)
    assert "cannot-be-scored" in {finding.code for finding in check_health(store, table)}
    away.rename(originals)
    assert "cannot-be-scored" not in {finding.code for finding in check_health(store, table)}


def test_leaks_into_the_test_are_found_whatever_was_encoded(
    store: Store, table: str, tmp_path: Path
) -> None:
    text = table_text(40, 1, colour="red").replace("red", "blue", 20)
    take(store, table, [written(tmp_path / "good.csv", text)], "normal")
    take(store, table, [written(tmp_path / "c.csv", table_text(3, 3, colour="red"))], "candidate")
    leaked = "\n".join(text.splitlines()[:4]) + "\n"
    take(store, table, [written(tmp_path / "held.csv", leaked)], "test_normal")
    found = {finding.code: finding for finding in check_health(store, table)}
    assert len(found["train-in-test"].where) == 3


def test_removed_candidates_leave_the_table_of_scores(
    store: Store, table: str, tmp_path: Path
) -> None:
    take(store, table, [written(tmp_path / "good.csv", table_text(30, 1))], "normal")
    take(store, table, [written(tmp_path / "one.csv", table_text(3, 2))], "candidate")
    take(store, table, [written(tmp_path / "two.csv", table_text(2, 3))], "candidate")
    run = score_project(store, table, Plan())
    assert len(run_frame(store, run.id)) == 5
    before = state_of(store, table)
    remove_upload(store, table, uploads_of(store, table)[1].id)
    assert list(run_frame(store, run.id)["id"].sort_values()) == ["r3-0", "r3-1"]
    assert run.settings["state"] == before != state_of(store, table)


def test_an_interrupted_demo_is_completed(store: Store) -> None:
    def stop(_share: float, _step: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        make_demo(store, "table", stop)
    assert projects.find(store, NAMES["table"]).current_run is None
    made = make_demo(store, "table")
    assert made.current_run is not None
    assert len(items_of(store, made.id)) == 470


def test_interrupted_images_leave_no_files_behind(
    store: Store, images: str, tmp_path: Path
) -> None:
    take(store, images, [written(tmp_path / "kept.png", picture(100))], "normal")
    before = sorted(path.name for path in store.home.rglob("originals/*/*"))
    zipped = archive(tmp_path / "n.zip", {f"{i}.png": picture(i) for i in range(30)})

    def stop_half_way(share: float, _step: str) -> None:
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        take(store, images, [InputFile.at(zipped)], "normal", progress=stop_half_way)
    assert sorted(path.name for path in store.home.rglob("originals/*/*")) == before
    assert len(items_of(store, images)) == 1
