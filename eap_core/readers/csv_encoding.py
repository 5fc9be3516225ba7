"""Bytes of any usual encoding to checked UTF-8."""

from __future__ import annotations

import codecs
import re

from eap_core.errors import DataError, shown
from eap_core.readers.csv_codecs import codec_name, marked_encoding
from eap_core.readers.csv_dialect import find_dialect
from eap_core.readers.csv_records import lines_of, records
from eap_core.readers.remarks import Remarks

_LETTERS = rb"A-Za-z\x8a\x8c\x8e\x9a\x9c\x9e\x9f\xc0-\xd6\xd8-\xf6\xf8-\xff"
_SIGNS = rb"\x80\x83\x86-\x89\x98\x99\xa2-\xa9\xac-\xaf\xb4\xb6\xb8"
# What no Windows-1252 text holds: undefined bytes, marks of UTF-16, a sign inside a word.
_IMPLAUSIBLE = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|\xff\xfe|\xfe\xff|(?<=[%b])[%b]+(?=[%b])"
    % (_LETTERS, _SIGNS, _LETTERS)
)
_UTF8_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)


def to_utf8(data: bytes, remarks: Remarks, stated: str | None = None) -> bytes:
    """The same text as UTF-8 without a byte order mark and without NUL."""
    if stated is not None:
        data = _from_stated(data, codec_name(stated), remarks)
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = _from_utf16(data, remarks)
    data = data.removeprefix(codecs.BOM_UTF8)
    if stated is None and not data.isascii():
        data = _from_utf8_or_cp1252(data, remarks)
    if b"\x00" in data:
        where = _whereabouts(data, data.index(b"\x00"), remarks.source)
        raise DataError(f"{remarks.source} holds a NUL byte — {where} — save it as UTF-8 text")
    return data


def _from_stated(data: bytes, codec: str, remarks: Remarks) -> bytes:
    marked = marked_encoding(data)
    if marked is not None and not codec.startswith(marked):
        raise DataError(
            f"{remarks.source} starts with the mark of {marked.upper()}, which is not the stated "
            f"{codec} — state {marked}, or leave the encoding open"
        )
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        if codec.startswith("utf-8"):
            raise _broken(data, error.start, remarks.source) from None
        line = data[: error.start].decode(codec, "replace").count("\n") + 1
        raise DataError(
            f"{remarks.source} is not written in the stated {codec}: {shown(str(error.reason))} — "
            f"line {line:,} — state another encoding, or leave it open"
        ) from None
    if not codec.startswith("utf") and not data.isascii() and _is_utf8(data):
        remarks.warn(f"read as {codec} as stated, but its bytes are also valid UTF-8 — check it")
    else:
        remarks.note(f"read as {codec}, as stated")
    return text.encode()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_utf16(data: bytes, remarks: Remarks) -> bytes:
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError as error:
        line = data[: error.start // 2 * 2].decode("utf-16", "replace").count("\n") + 1
        raise DataError(
            f"{remarks.source} is broken UTF-16 — line {line:,} — save it as UTF-8 text"
        ) from None
    remarks.note("read as UTF-16")
    return text.encode()


def _from_utf8_or_cp1252(data: bytes, remarks: Remarks) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if _UTF8_LETTER.search(data):  # it is UTF-8, but for this byte
            raise _broken(data, error.start, remarks.source) from None
        if implausible := _IMPLAUSIBLE.search(data):
            raise _broken(data, implausible.start(), remarks.source) from None
        remarks.note("read as Windows-1252, because it is not UTF-8")
        return data.decode("cp1252").encode()
    return data


def _broken(data: bytes, offset: int, source: str) -> DataError:
    where = _whereabouts(data, offset, source)
    value = repr(data[offset : offset + 4])[2:-1]
    return DataError(
        f"{source} holds bytes that are no text, {shown(value)} — {where} — save it as UTF-8 text"
    )


def _whereabouts(data: bytes, offset: int, source: str) -> str:
    """The line of a byte, and its column where the line alone tells it."""
    number, line, start = 0, "", 0
    for line in lines_of(data, "latin-1"):
        number += 1
        if start + len(line) > offset:
            break
        start += len(line)
    place = f"line {number:,}"
    delimiter, header = find_dialect(data, source, "latin-1")
    try:
        whole = next(records([line], delimiter, source)).values
        until = next(records([line[: offset - start + 1]], delimiter, source)).values
    except DataError:  # the byte is inside quotes
        return place
    if number == 1 or len(whole) != len(header) or not until:
        return place
    name = header[len(until) - 1].encode("latin-1").decode("utf-8", "replace")
    return f"{place}, column {shown(name)}"
