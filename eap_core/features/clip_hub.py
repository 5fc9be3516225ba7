"""Published weights: from the folder where they are kept once fetched, or from the hub.

Nothing is asked of the network while the file is here. Before anything is fetched, one short
question finds out whether the hub answers, for its own client tries again for minutes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from eap_core.base.errors import escape_controls
from eap_core.base.progress import Cancelled, Progress

_ANSWERS_WITHIN: Final = 5.0  # seconds
_USUAL: Final = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_REASON: Final = 160  # characters of a foreign message
_MEGA: Final = 1e6


class UnreachableError(Exception):
    """Why a file can be had neither here nor there, in a few words."""


def weights_command(published: str) -> tuple[str, str]:
    """What fetches the weights by hand into a folder, with the words beside; and the file there."""
    repository, named = os.path.split(published)
    folder = repository.rpartition("/")[2]
    files = named or '--include "*.json" --include "*.safetensors"'
    name = named or _USUAL[0]
    return f"hf download {repository} {files} --local-dir {folder}", f"{folder}/{name}"


def again_command(published: str) -> str:
    """What fetches the file anew, whatever is kept."""
    repository, named = os.path.split(published)
    return f"hf download {repository} {named or _USUAL[0]} --force-download"


def words_command(repository: str) -> str:
    """What fetches a model's words by hand."""
    return f'hf download {repository} --include "*.json" --include "*.model" --local-dir FOLDER'


def fetch_weights(published: str, progress: Progress) -> Path:
    """The file, safetensors rather than any other."""
    repository, named = os.path.split(published)
    names = _names(named)
    for name in names:
        found = find_fetched(repository, name)
        if found is not None:
            return found
    with quieten_hub():
        ask()
        return _fetch(repository, names, progress)


def _names(named: str) -> tuple[str, ...]:
    if not named:
        return _USUAL
    safe = str(Path(named).with_suffix(".safetensors"))
    return (named,) if named == safe else (safe, named)


def find_fetched(repository: str, name: str) -> Path | None:
    """A file that was fetched before."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repository, name)
    return Path(found) if isinstance(found, str) else None


def ask() -> None:
    """Whether the hub answers at all, found out quickly."""
    from huggingface_hub import constants, get_session

    if constants.is_offline_mode():
        raise UnreachableError("HF_HUB_OFFLINE is set")
    try:
        get_session().head(constants.ENDPOINT, timeout=_ANSWERS_WITHIN)
    except Exception as error:  # no network, no name, no certificate, no time: all one here
        raise UnreachableError(f"{constants.ENDPOINT} does not answer") from error


def _fetch(repository: str, names: tuple[str, ...], progress: Progress) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    meter: Any = partial(_Meter, progress)
    for name in names:
        try:
            return Path(hf_hub_download(repository, name, tqdm_class=meter))
        except Cancelled:
            raise
        except LocalEntryNotFoundError as error:
            raise UnreachableError("the connection failed") from error
        except EntryNotFoundError:
            continue
        except Exception as error:  # refused, broken off, a full disk: its own words tell which
            raise UnreachableError(first_line(error)) from error
    raise UnreachableError("the hub has no such file")


def first_line(error: Exception) -> str:
    """Of a foreign message, as it may appear in ours."""
    line = escape_controls(str(error).strip().partition("\n")[0][:_REASON])
    return line or type(error).__name__


class _Meter:
    """What the hub's client takes for a progress bar; of how it should look nothing is kept.

    It may have two at once, for what comes over the line and for what is written: the latter is
    told, for only its end is known.
    """

    def __init__(
        self,
        progress: Progress,
        total: float | None = None,
        initial: float = 0.0,
        desc: str = "",
        **_: object,
    ) -> None:
        self.progress, self.total, self.n = progress, total, initial
        self.silent = desc == "Downloading bytes"

    def update(self, n: float = 1.0) -> None:
        self.n += n
        if self.silent:
            return
        size = f" of {self.total / _MEGA:,.0f}" if self.total else ""
        self.progress(0.0, f"fetching the model, once: {self.n / _MEGA:,.0f}{size} MB")

    def set_postfix_str(self, *_: object, **__: object) -> None: ...

    def refresh(self, *_: object, **__: object) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> _Meter:
        return self

    def __exit__(self, *_: object) -> None: ...


@contextmanager
def quieten_hub() -> Iterator[None]:
    """The hub's client reports each of its tries; the one sentence at the end says it all."""
    client = logging.getLogger("huggingface_hub")
    before = client.level
    client.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        client.setLevel(before)
