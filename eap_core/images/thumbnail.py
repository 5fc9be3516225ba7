"""Small pictures for the gallery, encoded anew: nothing of the file they come from is left."""

from __future__ import annotations

import io

from PIL import Image

_QUALITY = 82
_EFFORT = 2  # 0–6; more costs three times the time for a tenth of the bytes


def thumbnail(rgb: Image.Image, side: int = 256) -> bytes:
    """WebP with the longer side at most ``side`` pixels and the shorter at least one."""
    share = min(1.0, side / max(rgb.size))
    size = (max(1, round(rgb.width * share)), max(1, round(rgb.height * share)))
    if size != rgb.size:
        rgb = rgb.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    stream = io.BytesIO()
    rgb.save(stream, "WEBP", quality=_QUALITY, method=_EFFORT)
    return stream.getvalue()
