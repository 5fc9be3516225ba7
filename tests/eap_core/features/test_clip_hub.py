"""Published weights, with a hub that answers, one that does not, and none at all."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eap_core.base.progress import Cancelled
from eap_core.features.clip_hub import _Meter, fetch_weights
from tests.eap_core.features.hub_server import hub

_REPOSITORY = Path(__file__).parents[3]
_MODEL, _FILE = "timm/ViT-B-16-SigLIP", "open_clip_model.safetensors"
_CONTENTS = b"no weights, but bytes" * 1000
_LOAD = """
import json, time
from eap_core.cli.output import error_words
from eap_core.features.clip_hub import ModelSpec, NoWeightsError
from eap_core.features.clip_model import locate_weights
started, told, found = time.monotonic(), [], {}
try:
    place = locate_weights(ModelSpec(), lambda _, step: told.append(step))
    found["path"] = str(place.path)
    place.load()
except NoWeightsError as error:
    found["said"] = error_words(error)
print(json.dumps({"seconds": time.monotonic() - started, "told": told, **found}))
"""


def asked_for(home: Path, **variables: str) -> dict[str, Any]:
    """What happens to one who asks for the paper's model, in a process with a home of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _LOAD],
        capture_output=True,
        text=True,
        cwd=_REPOSITORY,
        env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", **variables},
        check=True,
    )
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    assert "\n" not in found["said"]
    assert "--weights " in found["said"]
    return found


def test_weights_are_fetched_once_with_progress_and_then_need_no_connection(
    tmp_path: Path,
) -> None:
    with hub(_MODEL, {_FILE: _CONTENTS}) as place:
        first = asked_for(tmp_path, HF_ENDPOINT=place, NO_PROXY="*")
    assert Path(first["path"]).name == _FILE
    assert Path(first["path"]).read_bytes() == _CONTENTS
    assert "fetching the model, once: 0 of 0 MB" in first["told"]
    # They are no weights: said as such, and what to do, but nobody named the file.
    assert "damaged" in first["said"]
    assert f"run hf download {_MODEL} {_FILE} --force-download" in first["said"]
    assert str(tmp_path) not in first["said"]  # a run's record is shared
    again = asked_for(tmp_path, HF_HUB_OFFLINE="1")
    assert again["path"] == first["path"]


def test_without_a_connection_it_is_said_at_once(tmp_path: Path) -> None:
    found = asked_for(tmp_path, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in found["said"]
    assert found["said"].endswith(f"give --weights ViT-B-16-SigLIP/{_FILE}")


def test_a_hub_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    """Its own client would try for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        place = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        found = asked_for(tmp_path, HF_ENDPOINT=place, NO_PROXY="*")
    assert f"{place} does not answer" in found["said"]
    assert found["seconds"] < 60  # about ten, most of which open_clip needs


def test_a_hub_without_the_file_is_no_riddle(tmp_path: Path) -> None:
    with hub(_MODEL, {_FILE: _CONTENTS}) as place:
        found = asked_for(tmp_path, HF_ENDPOINT=f"{place}/elsewhere", NO_PROXY="*")
    assert "cannot be fetched (" in found["said"]


def test_safetensors_are_fetched_rather_than_any_other(tmp_path: Path) -> None:
    files = {"open_clip_pytorch_model.bin": b"pickled", _FILE: _CONTENTS}
    with hub(_MODEL, files) as place:
        found = asked_for(tmp_path, HF_ENDPOINT=place, NO_PROXY="*")
    assert Path(found["path"]).name == _FILE


def test_where_there_are_none_the_other_is_fetched(tmp_path: Path) -> None:
    with hub(_MODEL, {"open_clip_pytorch_model.bin": b"pickled"}) as place:
        found = asked_for(tmp_path, HF_ENDPOINT=place, NO_PROXY="*")
    assert Path(found["path"]).name == "open_clip_pytorch_model.bin"


def test_the_meter_is_one_that_the_hubs_client_can_use() -> None:
    """Its other way to fetch has two bars and ends with a redraw; a hub of the test's has not."""
    from huggingface_hub.utils._xet_progress_reporting import XetDownloadProgressReporter

    told: list[str] = []
    meter: Any = partial(_Meter, lambda _, step: told.append(step))
    with XetDownloadProgressReporter(
        reconstruction_desc="model", total=8_000_000, log_level=0, tqdm_class=meter
    ) as reporter:
        for written, sent in ((1_000_000, 3_000_000), (4_000_000, 5_000_000)):
            reporter.update_progress(
                SimpleNamespace(
                    total_bytes=8_000_000,
                    total_bytes_completed=written,
                    total_bytes_completion_rate=1.0,
                    total_transfer_bytes_completed=sent,
                    total_transfer_bytes_completion_rate=1.0,
                )
            )
    assert told == [
        "fetching the model, once: 1 of 8 MB",
        "fetching the model, once: 4 of 8 MB",
    ]


def test_whoever_stops_while_it_is_fetched_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: float, step: str) -> None:
        if "MB" in step:
            raise Cancelled

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "*")
    with hub("some/model", {_FILE: _CONTENTS}) as place:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", place)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            place + "/{repo_id}/resolve/{revision}/{filename}",
        )
        with pytest.raises(Cancelled):
            fetch_weights("some/model/", stop)
