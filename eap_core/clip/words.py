"""How a model cuts sentences into words: by a list inside open_clip, or by files of the hub."""

from __future__ import annotations

from typing import Any

from eap_core.clip import hub
from eap_core.clip.recipe import Recipe
from eap_core.clip.wanted import NoWeightsError
from eap_core.errors import shown

_BUNDLED = "ViT-B-32"  # the best known of the models whose words come with open_clip
_FIRST_FILE = "tokenizer_config.json"


def tokenizer_of(recipe: Recipe) -> Any:
    """What open_clip makes tokens with; a NoWeightsError where it lacks what that needs."""
    import open_clip

    source = recipe.config["text_cfg"].get("hf_tokenizer_name")
    remedy = f"run hf download {source} where there is a connection"
    try:
        if source:
            import transformers  # type: ignore[import-not-found]  # noqa: F401

            if hub.kept(source, _FIRST_FILE) is None:
                hub.ask()
        return open_clip.get_tokenizer(recipe.model)
    except ImportError as error:
        what = "the package transformers is not installed"
        raise _missing(recipe, what, "run pip install transformers") from error
    except hub.UnreachableError as error:
        raise _missing(recipe, str(error), remedy) from error
    except Exception as error:
        raise _missing(recipe, hub.first_line(error), remedy) from error


def _missing(recipe: Recipe, reason: str, remedy: str) -> NoWeightsError:
    return NoWeightsError(
        f"the model {shown(recipe.model)} cannot read sentences here: {reason} — {remedy}, or "
        f"choose a model whose words come with the program, such as --model {_BUNDLED}"
    )
