"""How much of images, archives and folders is taken; each is checked before the work is done."""

from __future__ import annotations

MAX_PIXELS = 64_000_000  # 256 MB once decoded; Pillow itself only warns from 89 million
MAX_IMAGE_BYTES = 256 * 1024**2
MAX_SCANS = 100  # a progressive JPEG has about ten; each one passes over the whole image
MAX_SCANNED = 1_500_000_000  # pixels in all passes together
MAX_STRIPS = 100_000  # of a TIFF; each costs time however little it holds

MAX_MEMBERS = 100_000
MAX_TOTAL_BYTES = 20 * 1024**3
MAX_DIRECTORY_BYTES = 32 * 1024**2  # the list of members of a ZIP, which is read in one piece
RATIO_COUNTS_FROM = 10 * 1024**2  # an image of one colour compresses well, and is small
MAX_DEPTH = 20
MAX_NAME = 1_000
MAX_TABLE_BYTES = 64 * 1024**2
