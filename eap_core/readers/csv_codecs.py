"""The encodings that a caller may state for a text file."""

from __future__ import annotations

import codecs

from eap_core.errors import SettingsError, shown

# Named one by one: Python knows further codecs that decode no text.
_ACCEPTED = frozenset(
    {
        *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
        *("utf-32", "utf-32-le", "utf-32-be", "mac-roman", "koi8-r", "koi8-u"),
        *("big5", "big5hkscs", "gb2312", "gbk", "gb18030", "shift_jis", "euc_jp", "euc_kr"),
        *(f"cp{page}" for page in (437, 850, 852, 866, 874, 932, 949, 950, *range(1250, 1259))),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),  # there is no twelfth
    }
)
# Longer marks first: UTF-32's starts with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def codec_name(stated: str) -> str:
    """Python's own name for an encoding, if it is one of the accepted ones."""
    try:
        name = codecs.lookup(stated).name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        name = ""
    if name not in _ACCEPTED:
        raise SettingsError(
            f"the encoding {shown(stated)} is not known — use a name such as utf-8, utf-16, "
            "cp1252 or shift_jis"
        )
    return name


def marked_encoding(data: bytes) -> str | None:
    """The family of encodings whose byte order mark the text starts with, if any."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)
