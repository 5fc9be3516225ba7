"""From the name of a model to the model: its weights are found first, and read when needed."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from eap_core.clip import hub
from eap_core.clip.model import ClipModel
from eap_core.clip.network import Network, network_of
from eap_core.clip.recipe import Recipe, recipe_of
from eap_core.clip.wanted import NoWeightsError, Wanted
from eap_core.clip.words import tokenizer_of
from eap_core.errors import DataError, shown
from eap_core.progress import Progress, silent

_RECIPE: Final = "1"  # counted up whenever the same model comes to mean other numbers
_HELP: Final = "give another file of weights with --weights FILE"
_PIECE: Final = 2**24
Stamp = tuple[int, int, int]
_latest: dict[
    tuple[str, Path], ClipModel
] = {}  # at most one: it is large, and loading it takes long


@dataclass(frozen=True, eq=False)
class Located:
    """A model whose weights are here; ``key`` tells it from all others without loading it.

    ``given`` says whether a person named the file, who then wants to know what is wrong with it;
    ``stamp`` is that of the file whose contents the key tells.
    """

    recipe: Recipe
    path: Path
    given: bool
    key: str
    stamp: Stamp

    @property
    def in_words(self) -> str:
        """Which model, and whose weights."""
        parts = [f"the CLIP model {self.recipe.model}"]
        if self.recipe.pretrained:
            parts.append(f"trained as {self.recipe.pretrained}")
        if self.given:
            parts.append(f"weights {shown(self.path.name)}")
        return ", ".join(parts)

    def load(self) -> ClipModel:
        """The model itself, from memory if it was the latest."""
        place = self.key, self.path  # of equal weights some may have words beside them
        if place not in _latest:
            _latest.clear()
            _latest[place] = self._read()
        return _latest[place]

    def _read(self) -> ClipModel:
        try:
            network = network_of(self.recipe, self.path)
            self._check_scale(network)
        except NoWeightsError:
            raise
        except DataError as error:
            if self.given:
                raise
            # The hub's folder has links to the file itself: deleting one would not help.
            remedy = f"run {hub.again_command(self.recipe.published or '')}"
            raise NoWeightsError(f"{error}, or {remedy}") from error
        self._check_same()
        bias, scale = network.body.logit_bias, float(network.body.logit_scale.detach().exp())
        beside = self.path.parent if self.given else None
        return ClipModel(
            name=self.recipe.model,
            key=self.key,
            scale=scale,
            bias=0.0 if bias is None else float(bias.detach()),
            dimension=int(self.recipe.config["embed_dim"]),
            network=network.body,
            prepare=network.prepare,
            tokenizer=cache(partial(tokenizer_of, self.recipe, beside)),
            failure=DataError if self.given else NoWeightsError,
        )

    def _check_scale(self, network: Network) -> None:
        if not math.isfinite(float(network.body.logit_scale.detach().exp())):
            raise DataError(
                f"the weights {shown(self.path.name)} hold numbers that cannot be used — {_HELP}"
            )

    def _check_same(self) -> None:
        """Or what another file sees would be kept under the name of this one."""
        if _stamp(self.path) != self.stamp:
            raise DataError(
                f"the weights {shown(self.path.name)} changed while they were read — start again"
            )


def load(wanted: Wanted, progress: Progress = silent) -> ClipModel:
    """The model; a NoWeightsError where its weights cannot be had, else a plain EapError."""
    return located(wanted, progress).load()


def located(wanted: Wanted, progress: Progress = silent) -> Located:
    """Where the weights are, fetched if they must be; whether they are sound is not known yet."""
    recipe = recipe_of(wanted)
    path = wanted.weights or _published(recipe, progress)
    try:
        if path.exists() and not path.is_file():  # what never ends would be read for ever
            raise OSError(0, "it is a folder, or no file")
        stamp, contents = _stamp(path), _digest(path, progress)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        failure = DataError if wanted.weights else NoWeightsError
        raise failure(
            f"the weights {shown(str(path))} cannot be read ({reason}) — {_HELP}"
        ) from error
    key = hashlib.sha256("\n".join((_RECIPE, recipe.text, contents)).encode()).hexdigest()
    return Located(recipe, path, wanted.weights is not None, f"clip-{key}", stamp)


def _stamp(path: Path) -> Stamp:
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _digest(path: Path, progress: Progress) -> str:
    """In pieces: a large file takes long, and whoever cancels is heard meanwhile."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            progress(0.0, "looking at the model's weights")
            digest.update(piece)
    return digest.hexdigest()


def _published(recipe: Recipe, progress: Progress) -> Path:
    name = shown(recipe.model)
    if recipe.published is None:
        raise NoWeightsError(
            f"nobody has published weights of the model {name} — give a "
            "file of weights with --weights FILE"
        )
    progress(0.0, "looking for the model's weights")
    try:
        return hub.fetched(recipe.published, progress)
    except hub.UnreachableError as error:
        command, file = hub.weights_command(recipe.published)
        raise NoWeightsError(
            f"the weights of the model {name} are not here and cannot be fetched ({error}) — run "
            f"{command} where there is a connection, and give --weights {file}"
        ) from error
