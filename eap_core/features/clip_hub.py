"""Which models open_clip knows by name, and their published weights: kept here, or on the hub.

Nothing is asked of the network while the file is here. Before anything is fetched, one short
question finds out whether the hub answers, for its own client tries again for minutes.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from eap_core.base.errors import (
    DataError,
    SettingsError,
    escape_controls,
    list_names,
    quote,
    require,
)
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


# torchvision beside a torch that it was not built for.
#
# Its compiled half then does not load, and its Python half, which is all that open_clip needs,
# stops at operators that nobody has defined. They are declared here, without anything behind
# them.

_STOPS_AT: Final = "operator torchvision::nms does not exist"
_DECLARED: Final = ("nms", "qnms")
_kept_declarations: list[Any] = []  # what is declared lasts as long as the object that declared it


def import_torchvision() -> None:
    """Import torchvision; a pair that fits is left alone, and any other failure is not hidden."""
    try:
        import torchvision
    except RuntimeError as error:
        if _STOPS_AT not in str(error):
            raise
        _declare()
        import torchvision  # noqa: F401


def _declare() -> None:
    from torch.library import Library

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # halves of the first try
    library: Any = Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in _DECLARED:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept_declarations.append(library)


# Which model is wanted, before anything of it is loaded.

PAPERS = "ViT-B-16-SigLIP"


class NoWeightsError(DataError):
    """The weights are neither kept here nor to be had; nothing is wrong with what was asked."""


@dataclass(frozen=True)
class ModelSpec:
    """A model by open_clip's name for it and for what it was trained on.

    ``pretrained`` None is what open_clip lists first; ``weights`` is a file to use instead of the
    published weights, which must fit the same model.
    """

    model: str = PAPERS
    pretrained: str | None = None
    weights: Path | None = None

    @classmethod
    def named(cls, name: str, weights: Path | None = None) -> ModelSpec:
        """From ``model`` or ``model:pretrained``, as open_clip itself writes it."""
        model, _, pretrained = name.partition(":")
        return cls(model, pretrained or None, weights)


# What open_clip knows of a model by its name: its shape, how pictures are prepared for it, and
# where its weights are published.

_NEAR = 5


@dataclass(frozen=True)
class Recipe:
    """``config`` is open_clip's description of the model; ``preparation`` overrides its defaults.

    ``published`` is ``owner/repository/file`` on the hub, the file being open_clip's usual one if
    it is empty; None where nobody has published weights.
    """

    model: str
    pretrained: str | None
    config: dict[str, Any]
    preparation: dict[str, Any]
    quick_gelu: bool
    published: str | None

    @property
    def text(self) -> str:
        """Equal for two models if they make the same of the same picture, given equal weights."""
        parts = [self.model, self.config, self.preparation, self.quick_gelu]
        return json.dumps(parts, sort_keys=True)


def recipe_of(wanted: ModelSpec) -> Recipe:
    """A SettingsError where open_clip knows no such model, or no such training of it."""
    require("open_clip", "clip")
    import_torchvision()
    import open_clip

    known = open_clip.list_models()
    if wanted.model not in known:
        raise SettingsError(
            f"there is no model {quote(wanted.model)}",
            advice=_near(wanted.model, known),
            code="model-unknown",
        )
    tags = open_clip.list_pretrained_tags_by_model(wanted.model)
    tag = wanted.pretrained or (tags[0] if tags else None)
    if wanted.pretrained is not None and not open_clip.is_pretrained_cfg(wanted.model, tag):
        raise SettingsError(
            f"there is no training {quote(wanted.pretrained)} of the model {quote(wanted.model)}",
            advice=_near(wanted.pretrained, tags),
            code="training-unknown",
        )
    found = _recipe(wanted.model, tag)
    if wanted.weights and not wanted.pretrained:
        others = [name for name in tags if _recipe(wanted.model, name).text != found.text]
        if others:
            examples = list_names([tags[0], *others])
            raise SettingsError(
                f"of the model {quote(wanted.model)} there are trainings that see images otherwise",
                advice=f"say which the weights are of, for example {examples}",
                code="training-open",
                facts={"model": wanted.model, "examples": examples},
            )
    return found


def _recipe(model: str, tag: str | None) -> Recipe:
    import open_clip
    from open_clip.transform import PreprocessCfg, merge_preprocess_dict

    config = open_clip.get_model_config(model)
    # Weights from a file are prepared for as the published ones are: open_clip itself would take
    # its defaults then, which are wrong for SigLIP.
    trained = open_clip.get_pretrained_cfg(model, tag) if tag else {}
    return Recipe(
        model=model,
        pretrained=tag,
        config=config,
        preparation=merge_preprocess_dict(
            PreprocessCfg(size=config["vision_cfg"].get("image_size", 224)), trained
        ),
        quick_gelu=bool(trained.get("quick_gelu") or config.get("quick_gelu")),
        published=trained.get("hf_hub") or None,
    )


def _near(name: str, known: list[str]) -> str:
    if not known:
        return "none is published"
    folded = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), folded, _NEAR, 0.5)
    return f"choose for example {list_names([folded[one] for one in close] or known[:_NEAR])}"
