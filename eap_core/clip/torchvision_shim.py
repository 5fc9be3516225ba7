"""torchvision beside a torch that it was not built for.

Its compiled half then does not load, and its Python half, which is all that open_clip needs, stops
at operators that nobody has defined. They are declared here, without anything behind them.
"""

from __future__ import annotations

import sys
from typing import Any, Final

_STOPS_AT: Final = "operator torchvision::nms does not exist"
_DECLARED: Final = ("nms", "qnms")
_kept: list[Any] = []  # what is declared lasts as long as the object that declared it


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
    _kept.append(library)
