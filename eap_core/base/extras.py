"""Packages that only some of the work needs: who lacks one is told how to install it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from eap_core.base.errors import EapError

Extra = Literal["app", "images", "clip", "study", "postgres"]


class MissingExtraError(EapError):
    """A package is not installed that this work needs and others do not."""


def require(package: str, extra: Extra) -> None:
    """Refuse, in one sentence, what a package that is not installed would be needed for."""
    if find_spec(package) is None:
        raise MissingExtraError(
            f"{package} is not installed, which this needs",
            advice=f'run pip install "eap-curator[{extra}]"',
        )
