"""A small image project to try everything on: photographs of one machined part, drawn by formula.

Normals, a few real anomalies, a held-out test set, and candidates by four generators with known
habits: one draws defects as they really look, one hardly dares to change anything, one dreams up
the impossible, and one pastes rectangles.
"""

from tools.demo_images.album import DemoImage, demo_images
from tools.demo_images.tree import write_demo_images

__all__ = ["DemoImage", "demo_images", "write_demo_images"]
