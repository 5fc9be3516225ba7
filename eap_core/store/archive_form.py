"""The form of a backup: a ZIP of ``project.json``, ``rows/*.jsonl``, files by hash, a manifest.

``manifest.json`` is written last and holds size and SHA-256 of every other member. Jobs are left
out: they are about processes of one machine, not about the project.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text
from sqlalchemy.types import TypeEngine

from eap_core.errors import DataError, shown
from eap_core.store.schema import Instant, Json, decisions, items, runs, scores, uploads
from eap_core.store.texts import checked_text

FORMAT = "eap-curator backup"
PROJECT = "project.json"
MANIFEST = "manifest.json"
# in the order in which they must be restored
ROWS: Mapping[str, Table] = MappingProxyType(
    {f"rows/{table.name}.jsonl": table for table in (uploads, items, runs, scores, decisions)}
)
MEMBER = re.compile(
    r"project\.json|manifest\.json|rows/(uploads|items|runs|scores|decisions)\.jsonl"
    r"|(originals|thumbnails)/[0-9a-f]{64}"
)
LONGEST_LINE = 64 * 2**20
MOST_MEMBERS = 5_000_000
MOST_BYTES = 2**40
MOST_IN_ENTRY = 512  # bytes of the manifest for each member
MOST_IN_PROJECT = 16 * 2**20
MOST_IN_THUMBNAIL = 4 * 2**20
# Files are not packed, and rows hold random ids, so that an honest backup stays far below this.
MOST_RATIO, RATIO_FROM = 200, 64 * 2**20
_MOST_VALUES = 2_000_000  # in a row; each costs many times the byte or two it may be written in

_TYPES: Mapping[type[TypeEngine[Any]], type | tuple[type, ...]] = MappingProxyType(
    {Text: str, BigInteger: int, Instant: str, LargeBinary: str, Json: (dict, list)}
)


def to_line(row: Mapping[Any, Any]) -> bytes:
    """A row as one line of JSON."""
    return json.dumps({k: _plain(v) for k, v in row.items()}, allow_nan=False).encode() + b"\n"


def from_line(table: Table, line: bytes) -> dict[str, Any]:
    """A row from a line that anybody may have written."""
    if sum(map(line.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise DataError("the backup is damaged: a row holds more values than any project's")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or row.keys() != {column.name for column in table.c}:
        raise DataError(f"the backup is damaged: {shown(line.decode(errors='replace'))} is no row")
    return {column.name: _value(column, row[column.name]) for column in table.c}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _value(column: Column[Any], value: Any) -> Any:
    if value is None and column.nullable:
        return None
    kind = type(column.type)
    try:
        if isinstance(value, bool) or not isinstance(value, _TYPES[kind]):
            raise TypeError
        return _FROM_JSON[kind](value)
    except (TypeError, ValueError, OverflowError):  # a DataError of the text is one, too
        raise DataError(
            f"the backup is damaged: {column.table.name}.{column.name} is {shown(value)}"
        ) from None


def _same(value: Any) -> Any:
    return value


def _moment(value: str) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError
    return found.astimezone(UTC)  # an OverflowError where UTC has no such year


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _text(value: str) -> str:
    return checked_text(value, "a text of the backup", most=LONGEST_LINE)


def _number(value: int) -> int:
    if not 0 <= value < 2**63:
        raise ValueError
    return value


_FROM_JSON: Mapping[type[TypeEngine[Any]], Callable[[Any], Any]] = MappingProxyType(
    {Text: _text, BigInteger: _number, Instant: _moment, LargeBinary: _bytes, Json: _same}
)
