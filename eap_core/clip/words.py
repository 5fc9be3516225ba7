"""How a model cuts sentences into words: by a list inside open_clip, or by files of the hub.

Such files may also lie beside a file of weights, so that both can be carried to a machine that has
no connection.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eap_core.clip import hub
from eap_core.clip.recipe import Recipe
from eap_core.clip.wanted import NoWeightsError
from eap_core.errors import shown

_BUNDLED = "ViT-B-32"  # the best known of the models whose words come with open_clip
_FIRST_FILE = "tokenizer_config.json"
_DIFFERENT = ("normal", "broken", "bottle")  # whoever reads at all tells them apart
_USUAL_LENGTH = 77  # open_clip's own, where a model says nothing


def tokenizer_of(recipe: Recipe, beside: Path | None = None) -> Any:
    """What open_clip makes tokens with; a NoWeightsError where it lacks what that needs.

    ``beside`` is the folder of the weights that a person has given.
    """
    import open_clip

    text = recipe.config["text_cfg"]
    source = text.get("hf_tokenizer_name")
    if not source:
        return open_clip.get_tokenizer(recipe.model)
    try:
        if beside is not None and (beside / _FIRST_FILE).is_file():
            return _read(text, str(beside))
        with hub.quiet():
            return _kept(text, source) or _fetched(text, source)
    except hub.UnreachableError as error:
        raise _missing(recipe, str(error), source) from error
    except Exception as error:  # whatever it is that such files lack
        raise _missing(recipe, hub.first_line(error), source) from error


def _kept(text: dict[str, Any], source: str) -> Any | None:
    """What was fetched before: the hub is asked nothing, whose client would try for minutes."""
    if hub.kept(source, _FIRST_FILE) is None:
        return None
    try:
        return _read(text, source, local_files_only=True)
    except Exception:  # in any way, where fetching was stopped halfway
        return None


def _fetched(text: dict[str, Any], source: str) -> Any:
    hub.ask()
    return _read(text, source)


def _read(text: dict[str, Any], place: str, **how: bool) -> Any:
    from open_clip.tokenizer import HFTokenizer

    found = HFTokenizer(
        place,
        context_length=text.get("context_length", _USUAL_LENGTH),
        tokenizer_mode=text.get("tokenizer_mode"),
        trust_remote_code=False,  # or its code would be offered to run
        **how,
        **text.get("tokenizer_kwargs", {}),
    )
    # Without the file of words, most kinds make one that knows none, and say nothing.
    if len({tuple(tokens) for tokens in found(list(_DIFFERENT)).tolist()}) < len(_DIFFERENT):
        raise hub.UnreachableError("the file with its words is missing")
    return found


def _missing(recipe: Recipe, reason: str, source: str) -> NoWeightsError:
    return NoWeightsError(
        f"the model {shown(recipe.model)} cannot read sentences here: {reason} — run "
        f"{hub.words_command(source)} where there is a connection, FOLDER being that of the file "
        f"for --weights, or choose a model whose words come with the program, such as --model "
        f"{_BUNDLED}"
    )
