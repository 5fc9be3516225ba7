"""Files that the readers' tests write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eap_core.base.errors import DataError
from eap_core.readers import read_table
from eap_core.readers.files import Reading

Write = Callable[..., Path]
Refuse = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text or bytes to a file and say where it is."""

    def written(content: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


@pytest.fixture
def refusal(write: Write) -> Refuse:
    """The one sentence with which a file of this content is refused."""

    def refused(content: str | bytes, name: str = "t.csv", **asked: object) -> str:
        path = write(content, name)
        with pytest.raises(DataError) as caught:
            read_table(path, Reading(**asked))  # type: ignore[arg-type]
        message = str(caught.value)
        assert "\n" not in message
        assert str(path.parent) not in message
        assert path.name in message
        return message

    return refused
