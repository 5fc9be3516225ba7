"""What open_clip knows of a model by its name: its shape, how pictures are prepared for it, and
where its weights are published."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any

from eap_core.clip.torchvision_shim import import_torchvision
from eap_core.clip.wanted import Wanted
from eap_core.errors import SettingsError, listed, shown

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


def recipe_of(wanted: Wanted) -> Recipe:
    """A SettingsError where open_clip knows no such model, or no such training of it."""
    import_torchvision()
    import open_clip

    known = open_clip.list_models()
    if wanted.model not in known:
        raise SettingsError(
            f"there is no model {shown(wanted.model)} — {_near(wanted.model, known)}, with --model"
        )
    tags = open_clip.list_pretrained_tags_by_model(wanted.model)
    tag = wanted.pretrained or (tags[0] if tags else None)
    if wanted.pretrained is not None and not open_clip.is_pretrained_cfg(wanted.model, tag):
        raise SettingsError(
            f"there is no training {shown(wanted.pretrained)} of the model {shown(wanted.model)} "
            f"— {_near(wanted.pretrained, tags)}, with --model MODEL:TRAINING"
        )
    found = _recipe(wanted.model, tag)
    if wanted.weights and not wanted.pretrained:
        others = [name for name in tags if _recipe(wanted.model, name).text != found.text]
        if others:
            raise SettingsError(
                f"of the model {shown(wanted.model)} there are trainings that see images otherwise "
                f"— say which the weights are of, with --model {wanted.model}:TRAINING, for "
                f"example {listed([tags[0], *others])}"
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
    return f"choose for example {listed([folded[one] for one in close] or known[:_NEAR])}"
