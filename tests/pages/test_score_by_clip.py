"""Choosing CLIP features on the score page, with and without a way to have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from eap_core.base.errors import EapError
from eap_core.features.clip_hub import weights_command, words_command
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.store import projects, runs
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture
from tests.pages.conftest import until, visit
from ui.text import clip_command, error_words, find_fetching


@pytest.fixture
def parts(store: Store, tmp_path: Path) -> Project:
    members = {f"train/good/{i}.png": picture(i) for i in range(9)}
    members |= {f"candidates/{i}.png": picture(50 + i) for i in range(3)}
    project = projects.create(store, "parts; rm *", "images")
    take(store, project.id, [InputFile.at(archive(tmp_path / "parts.zip", members))], None)
    return project


def by_clip(project: Project) -> AppTest:
    app = visit("pages/score.py", project.id)
    app.multiselect[0].set_value([])
    next(c for c in app.segmented_control if c.label == "Thoroughness").set_value(0)
    next(c for c in app.segmented_control if c.label == "Image features").set_value("clip")
    return app.run()


def field(app: AppTest, start: str) -> list[str | None]:
    return [each.value for each in app.text_input if each.label.startswith(start)]


def test_the_model_and_the_way_round_are_shown(
    parts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EAP_ROOTS", raising=False)
    app = by_clip(parts)
    assert not app.exception
    assert field(app, "CLIP model") == ["ViT-B-16-SigLIP"]
    assert not field(app, "Model file")
    (offered,) = [each.value for each in app.code]
    assert offered == clip_command(
        "run", "parts; rm *", "--subsets", "0", "--model", "ViT-B-16-SigLIP", "--weights", "FILE"
    )  # fmt: skip
    words = " ".join(each.value for each in app.caption).replace("\\", "")
    assert "image features by ViT-B-16-SigLIP" in words


def test_a_file_is_taken_only_from_an_opened_folder(
    store: Store, parts: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    monkeypatch.setenv("EAP_ROOTS", str(tmp_path / "open"))
    app = by_clip(parts)
    file = next(each for each in app.text_input if each.label.startswith("Model file"))
    file.set_value("/etc/passwd").run()
    assert "is not below a folder opened for import" in app.error[0].value
    assert "The model file cannot be used" in app.error[1].value
    assert not [b for b in app.button if b.label == "Score the candidates"]
    assert runs.runs_of(store, parts.id) == []


def test_without_a_connection_the_run_says_what_it_used(
    store: Store, parts: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EAP_ROOTS", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = by_clip(parts)
    next(each for each in app.toggle if "8 bits" in each.label).set_value(True).run()
    next(b for b in app.button if b.label == "Score the candidates").click().run()
    until(app, lambda a: any(b.label == "Score again" for b in a.button), 180)
    assert not app.exception
    (warned,) = [each.value for each in app.warning if "instead of CLIP" in each.value]
    assert warned.replace("\\", "").endswith("cannot be fetched (HF_HUB_OFFLINE is set).")
    fetching, scoring = [block.value for block in app.code]
    assert fetching.startswith("hf download timm/ViT-B-16-SigLIP ")
    assert "run 'parts; rm *' --subsets 0 " in scoring
    assert scoring.endswith("--int8 --model ViT-B-16-SigLIP --weights FILE")
    assert "CLIP was asked for and could not be had" in " ".join(m.value for m in app.markdown)
    (run,) = runs.runs_of(store, parts.id)
    assert (run.status, run.settings["features"]) == ("finished", "full")
    assert run.settings["int8"] is True  # what was asked for, should it be scored again


_LOST = EapError(
    "no",
    advice="run hf download a/b c where there is a connection, and give the weights F",
    code="weights-lost",
    facts={"command": "hf download a/b c", "file": "F"},
)


@pytest.mark.parametrize(
    ("core", "page"),
    [
        (_LOST, "no — !"),
        (EapError("no", advice="give a file of weights", code="weights-wanted"),
         "no — give a file of weights as the model file"),
        (EapError("no model", advice="choose 'a'", code="model-unknown"),
         "no model — choose 'a', as the CLIP model"),
        (EapError("no job", advice="look again", code="stale"), "no job — reload the page"),
        (EapError("no normals", advice="add some first"), "no normals — add some first"),
    ],
)  # fmt: skip
def test_a_page_speaks_of_its_fields(core: EapError, page: str) -> None:
    assert error_words(core, "!") == page
    assert error_words(_LOST) == "no"


@pytest.mark.parametrize(
    "words",
    [
        "hf download a/b; rm -rf ~ #",
        "hf download a/b $(id)",
        "hf download a/b c | sh",
        "hf download --local-dir ../../x a/b",
        'hf download a/b --include "*.json" && id',
    ],
)
def test_a_command_that_nobody_here_wrote_is_not_shown(words: str) -> None:
    """Runs come with backups, too."""
    error = EapError("no", code="weights-lost", facts={"command": words, "file": "f"})
    assert find_fetching(error) is None


def test_the_commands_of_the_core_are_shown() -> None:
    for said in (weights_command("timm/ViT-B-16-SigLIP/")[0], weights_command("a/b/c.bin")[0],
                 words_command("a/b")):  # fmt: skip
        for code in ("weights-lost", "words-lost"):
            assert find_fetching(EapError("no", code=code, facts={"command": said})) == said
    assert find_fetching(EapError("no", facts={"command": "hf download a/b"})) is None
    assert find_fetching(None) is None
