"""Bundles from the command line."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from eap_core.base.errors import EapError
from eap_core.cli import app
from eap_core.export.bundle import list_bundles
from eap_core.export.files import BundleMember
from eap_core.export.request import ExportRequest
from eap_core.jobs import work_on
from eap_core.store import jobs, projects
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.export.conftest import decide


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ("export", *words))


def refused(*words: str) -> str:
    """The sentence with which the command is refused."""
    error = run(*words).exception
    assert isinstance(error, EapError), error
    return str(error)


def test_a_table_is_written_with_its_papers_beside_it(store: Store, rows: Project) -> None:
    decide(store, rows.id, {"007": "accept"})
    done = run("fraud", "--out", "set.csv", "--only", "accepted", "--top", "10")
    assert done.exit_code == 0, done.output
    assert "2 of 12 candidates accepted (1 by rule), 0 rejected, 10 undecided" in done.stderr
    assert done.stdout.strip() == "set.csv"
    assert len(pd.read_csv("set.csv")) == 2
    manifest = json.loads(Path("set.csv.manifest.json").read_text())
    digest = hashlib.sha256(Path("set.csv").read_bytes()).hexdigest()
    assert manifest["files"]["set.csv"]["sha256"] == digest
    card = Path("set.csv.README.md").read_bytes()
    assert manifest["files"]["set.csv.README.md"]["sha256"] == hashlib.sha256(card).hexdigest()
    assert set(manifest["files"]) == {"set.csv", "set.csv.README.md"}
    for said in ("`set.csv`:", "`set.csv.manifest.json`", 'pd.read_csv("set.csv", '):
        assert said in card.decode()
    assert "candidates.csv" not in card.decode()


def test_two_tables_have_papers_of_their_own(rows: Project) -> None:
    assert run(rows.name, "--out", "b.csv").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    done = run(rows.name, "--format", "parquet", "--out", "b.parquet")
    assert done.exit_code == 0, done.output
    assert {name: Path(name).read_bytes() for name in before} == before
    for table in ("b.csv", "b.parquet"):
        manifest = json.loads(Path(f"{table}.manifest.json").read_text())
        digest = hashlib.sha256(Path(table).read_bytes()).hexdigest()
        assert manifest["files"][table]["sha256"] == digest


@pytest.mark.parametrize("there", ["b.csv", "b.csv.README.md", "b.csv.manifest.json"])
def test_no_file_is_replaced_unless_asked(rows: Project, there: str) -> None:
    Path(there).write_text("mine")
    said = refused(rows.name, "--out", "b.csv")
    assert said == f"'{there}' is there already — choose another name, or --overwrite"
    assert [path.name for path in Path().glob("b.*")] == [there]
    assert Path(there).read_text() == "mine"
    assert run(rows.name, "--out", "b.csv", "--overwrite").exit_code == 0
    assert Path(there).read_text() != "mine"


@pytest.mark.parametrize("name", ["a`b c.csv", "*x*.csv", "ünï🙂.csv", os.fsdecode(b"\xff.csv")])
def test_a_table_may_have_any_name(rows: Project, name: str) -> None:
    done = run(rows.name, "--out", name)
    assert done.exit_code == 0, done.output
    manifest = json.loads(Path(f"{name}.manifest.json").read_text())
    digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    assert digest in [each["sha256"] for each in manifest["files"].values()]


@pytest.mark.parametrize("stops_at", [0, 1, 2])
def test_a_manifest_is_only_there_with_the_table_it_tells_of(
    rows: Project, monkeypatch: pytest.MonkeyPatch, stops_at: int
) -> None:
    """As if the process were killed before the first, second or third file gets its name."""
    assert run(rows.name, "--out", "b.csv").exit_code == 0
    renamed: list[str] = []
    replace = Path.replace

    def stopping(path: Path, target: Path) -> Path:
        if len(renamed) == stops_at:
            raise KeyboardInterrupt
        renamed.append(Path(target).name)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stopping)
    run(rows.name, "--out", "b.csv", "--top", "50", "--overwrite")
    assert renamed == ["b.csv", "b.csv.README.md", "b.csv.manifest.json"][:stops_at]
    assert not Path("b.csv.manifest.json").exists()
    assert not list(Path().glob(".partial*"))


def test_a_table_that_cannot_be_made_leaves_the_old_one_with_its_papers(
    rows: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(rows.name, "--out", "b.csv").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path().glob("b.*")}

    def full(_: BundleMember) -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(BundleMember, "parts", full)
    assert "full" in refused(rows.name, "--out", "b.csv", "--top", "50", "--overwrite")
    assert {path.name: path.read_bytes() for path in Path().glob("b.*")} == before


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("form", ["csv", "parquet", "anomalib", "mvtec", "imagefolder"])
def test_a_zip_and_a_folder_hold_the_same(form: str) -> None:
    for out in ("set.zip", "set"):
        words = ("Bottle *line* 3", "--format", form, "--top", "50", "--out", out)
        assert run(*words).exit_code == 0
    with ZipFile("set.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    files = {str(p.relative_to("set")): p.read_bytes() for p in Path("set").rglob("*.*")}
    for each in (packed, files):
        each["manifest.json"] = each["manifest.json"].partition(b'"format"')[2]
    assert packed == files


def test_the_page_s_job_makes_the_same_bytes(store: Store, images: Project) -> None:
    request = ExportRequest("anomalib", 30, "accepted", synthetic_in_test=True)
    job = jobs.create(store, "export", request.record, images.id)
    work_on(store, job.id)
    ended = jobs.by_id(store, job.id)
    assert ended.status == "finished", ended.error
    (made,) = list_bundles(store, images.id)
    assert ended.result == {"name": made.name, "sha256": made.sha256}
    words = ("--format", "anomalib", "--top", "30", "--only", "accepted", "--synthetic-in-test")
    assert run(images.name, *words, "--out", "cli.zip").exit_code == 0
    with ZipFile("cli.zip") as ours, ZipFile(made.path) as theirs:
        assert ours.namelist() == theirs.namelist()
        for name in ours.namelist():
            one, other = ours.read(name), theirs.read(name)
            if name == "manifest.json":
                one, other = (
                    json.dumps({**json.loads(each), "created": ""}).encode()
                    for each in (one, other)
                )
            assert one == other
        assert [about(each) for each in ours.infolist()] == [about(e) for e in theirs.infolist()]


def about(info: ZipInfo) -> tuple[object, ...]:
    """What a member's entry says beside its content."""
    return info.filename, info.date_time, info.compress_type, info.external_attr, info.flag_bits


def test_without_a_target_it_goes_to_the_store(store: Store, rows: Project) -> None:
    done = run("fraud", "--format", "parquet")
    (made,) = list_bundles(store, rows.id)
    assert done.stdout.strip() == str(made.path)
    assert made.path.is_relative_to(store.home / "exports")


def test_mistakes_are_said(store: Store, rows: Project, images: Project) -> None:
    assert "there is no project 'nobody'" in refused("nobody")
    projects.create(store, "new", "table")
    assert "has no scores yet — score its candidates first" in refused("new", "--out", "a.csv")
    assert "is made of images — choose csv" in refused(rows.name, "--format", "mvtec")
    assert "is accepted — accept some" in refused(images.name, "--format", "anomalib")
    assert "its folder does not exist" in refused(rows.name, "--out", "no/where.zip")
    assert "cannot hold the form anomalib" in refused("x", "--format", "anomalib", "--out", "a.csv")
    assert "above 0, up to 100" in refused(rows.name, "--top", "0")
    Path("there.zip").write_bytes(b"mine")
    said = refused(rows.name, "--out", "there.zip")
    assert said == "'there.zip' is there already — choose another name, or --overwrite"
    assert Path("there.zip").read_bytes() == b"mine"
    assert run(rows.name, "--out", "there.zip", "--overwrite").exit_code == 0
    Path("folder").mkdir()
    assert "is there already" in refused(rows.name, "--out", "folder", "--overwrite")
    assert not list(Path().glob("*.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_said(rows: Project) -> None:
    Path("locked").mkdir(mode=0o555)
    assert "read-only" in refused(rows.name, "--out", "locked/a.zip")
