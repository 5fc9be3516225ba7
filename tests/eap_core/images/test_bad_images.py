"""Every bad image and archive of the collection behaves as its manifest says."""

from __future__ import annotations

from pathlib import Path

import pytest

from eap_core.base.errors import DataError
from eap_core.images import ImageBatch, read_images
from eap_core.images.layout import layout_of
from eap_core.images.sources import gather
from tests.bad_files import bad_file, cases

GROUPS = ("img", "zip", "kind")
# Of a slip the manifest lets the good member load, if the bad one is refused by its name.
PARTLY_LOADED = {"zip_slip_dotdot.zip": 1, "zip_slip_absolute.zip": 1, "zip_slip_backslash.zip": 2}
LOADED = {
    "ok_images.zip": 8, "zip_mac_junk.zip": 1, "zip_case_names.zip": 5, "zip_xss_names.zip": 4,
    "img_mixed_sizes.zip": 3,
}  # fmt: skip
SAID = {
    "img_bomb_50000x50000.png": "is 50,000 × 50,000 pixels; limit",
    "img_bomb_warn_144MP_1bit.png": "is 12,000 × 12,000 pixels; limit",
    "zip_overlap.zip": "'b.png'",
    "zip_empty.zip": "holds no files",
    "zip_encrypted_flag.zip": "is password-protected: zip it again without",
    "zip_truncated.zip": "upload again",
    "zip_not_zip.zip": "is a RAR archive: make a ZIP",
    "img_animated.gif": "looks like a GIF image",
}


def outcome(name: str) -> ImageBatch | str:
    """What was read, or why nothing was."""
    try:
        found = gather(bad_file(name))
        done = read_images(found, layout_of(found), "candidate", lambda *_: None)
    except DataError as error:
        return str(error)
    return done if done.items else f"{done.skipped[0].name} {done.skipped[0].reason}"


@pytest.mark.parametrize("case", cases(*GROUPS, role="images"))
def test_each_bad_file_behaves_as_expected(case: dict[str, str]) -> None:
    name = case["file"]
    done = outcome(name)
    if name in PARTLY_LOADED:
        assert not isinstance(done, str)
        assert [item.name for item in done.items] == ["good.png"]
        assert len(done.skipped) == PARTLY_LOADED[name]
    elif case["expected"] == "accept":
        assert not isinstance(done, str), done
        assert len(done.items) == LOADED.get(name, 1)
        assert done.skipped == ()
    else:
        assert isinstance(done, str)
        assert done.startswith(name)
        assert SAID.get(name, "") in done
        assert "\n" not in done
    assert not list(Path("/tmp").glob("eap_pwned*"))
