"""What a run is asked to do, as it is recorded with the run."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from eap_core.clip import Wanted
from eap_core.posterior import Prior
from eap_core.settings import AUTHORS, Settings

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pyod",
    "pillow",
    "torch",
    "open_clip_torch",
    "transformers",
    "onnxruntime",
)


@dataclass(frozen=True)
class Plan:
    """Evaluators beside EAP, the settings of the evidence, and how images become numbers.

    ``clip_model``, ``weights``, a file to read instead of the published ones, and ``int8``, to look
    in 8 bits, are for the features "clip" only.
    """

    evaluators: tuple[str, ...] = ("eap",)
    settings: Settings = AUTHORS
    prior: float | None = None
    assumed_rate: float | None = None
    seed: int = 0
    features: str = "full"
    clip_model: str = Wanted().model
    weights: str | None = None
    int8: bool = False

    @property
    def belief(self) -> Prior | None:
        return None if self.prior is None else Prior.of_rate(self.prior)

    @property
    def wanted(self) -> Wanted:
        return Wanted.named(self.clip_model, Path(self.weights) if self.weights else None)

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Plan:
        """The plan in the record of a run, which may say more, or less if it is old."""
        given = {field.name: record[field.name] for field in fields(cls) if field.name in record}
        settings = Settings(**record["settings"])
        return cls(**{**given, "settings": settings, "evaluators": tuple(record["evaluators"])})


def fitted_to(settings: Settings, normals: int) -> tuple[Settings, tuple[str, ...]]:
    """The settings, with fewer neighbours where there are too few normals, and that said."""
    least = max(1, normals - 2)
    if settings.k_min <= least:
        return settings, ()
    note = (
        f"{normals} normals are fewer than the {settings.fewest_normals} that are usual: balls "
        f"span at least {least} neighbours instead of {settings.k_min}"
    )
    return replace(settings, k_min=least), (note,)


def versions() -> dict[str, str]:
    """What computed the scores, for the record."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
