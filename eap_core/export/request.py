"""What a bundle shall be: its form, its rule, and what goes where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from eap_core.errors import SettingsError, shown
from eap_core.store.projects import Project

Format = Literal["csv", "parquet", "anomalib", "mvtec", "imagefolder"]
Only = Literal["all", "accepted"]
FORMATS: Mapping[Format, str] = MappingProxyType(
    {
        "csv": "Spreadsheet (CSV)",
        "parquet": "Parquet",
        "anomalib": "anomalib folder",
        "mvtec": "MVTec tree",
        "imagefolder": "Hugging Face image folder",
    }
)
TABLES: tuple[Format, ...] = ("csv", "parquet")


@dataclass(frozen=True)
class Request:
    """``top`` accepts that percentage of all candidates where no reviewer decided; ``items`` leaves
    all other candidates out."""

    format: Format = "csv"
    top: float | None = None
    only: Only = "all"
    synthetic_in_test: bool = False
    real_in_test: bool = False
    items: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SettingsError(
                f"{shown(self.format)} is no form of a bundle — choose from {', '.join(FORMATS)}"
            )
        if self.only not in get_args(Only):
            raise SettingsError(f"{shown(self.only)} is no choice of rows — use all or accepted")
        if self.top is not None and not 0 < self.top <= 100:
            raise SettingsError(f"the best {self.top:g} % cannot be taken — use above 0, up to 100")
        if self.top is not None:
            object.__setattr__(self, "top", float(self.top))  # 20 and 20.0 give the same bytes

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Request:
        items = record.get("items")
        return cls(**{**record, "items": None if items is None else tuple(items)})

    @property
    def has_images(self) -> bool:
        return self.format not in TABLES

    def check(self, project: Project) -> None:
        """Refuse images of a project that has none."""
        if self.has_images and project.kind != "images":
            raise SettingsError(
                f"the project {shown(project.name)} holds a table, and "
                f"{FORMATS[self.format]!r} is made of images — choose csv or parquet"
            )
