"""How far a run over many images is, in words a person can follow."""

from __future__ import annotations

from dataclasses import dataclass

from eap_core.progress import Progress

_LOOKING = 0.98  # of the time; the rest is arithmetic


@dataclass
class Tally:
    """Counts images as they are done and tells the progress function."""

    progress: Progress
    total: int
    done: int = 0

    def begin(self) -> None:
        if self.total:
            self._tell(f"looking at image 1 of {self.total:,}")

    def one_more(self) -> None:
        self.done += 1
        self.total = max(self.total, self.done)
        self._tell(f"looking at image {min(self.done + 1, self.total):,} of {self.total:,}")

    def meanwhile(self, step: str) -> None:
        """Work between two images."""
        self._tell(step)

    def _tell(self, step: str) -> None:
        self.progress(_LOOKING * self.done / self.total if self.total else _LOOKING, step)
