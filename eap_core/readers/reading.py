"""How a file is to be read, where the caller knows better than the file says."""

from __future__ import annotations

import string
from dataclasses import dataclass, fields
from typing import Literal, get_args

from eap_core.errors import SettingsError, listed, shown
from eap_core.missing import Missing
from eap_core.readers.csv_codecs import codec_name

Decimal = Literal[".", ","]
# What may separate columns: no letter, digit, quote, or sign of a number.
_SEPARATORS = frozenset(string.punctuation + "\t ") - frozenset("\"'.+-_")
_TEXT_ONLY = ("encoding", "delimiter", "decimal", "header")


@dataclass(frozen=True)
class Reading:
    """The caller's choices; what is None or empty is found in the file itself.

    ``label`` and ``id_column`` name those columns; ``array`` the table among several in an NPZ
    file; ``exclude`` and ``metadata`` columns that, where they exist, are no features and travel
    along as text; ``categorical`` columns whose values are names, also where they look like
    numbers; ``features`` columns that are features whatever they are called. ``missing`` says
    what becomes of rows with gaps. The rest describes text files alone.
    """

    label: str | None = None
    id_column: str | None = None
    array: str | None = None
    exclude: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    missing: Missing = "refuse"
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Decimal | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        _check_roles(self)
        _check_choice("missing", self.missing, get_args(Missing))
        _check_choice("decimal", self.decimal, (None, *get_args(Decimal)))
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter not in _SEPARATORS
        ):
            raise SettingsError(
                f"a delimiter of {shown(self.delimiter)} is not possible — use one character such "
                "as ',', ';', '|' or a tab"
            )
        if self.delimiter is not None and self.delimiter == self.decimal:
            raise SettingsError(
                f"{shown(self.delimiter)} cannot separate the columns and be the decimal mark as "
                "well — state one of the two"
            )
        if self.encoding is not None:
            codec_name(self.encoding)

    def without_meaning(self, kind: str) -> list[str]:
        """The choices that say nothing about a file with this ending."""
        given = [f.name for f in fields(self) if getattr(self, f.name) not in (None, ())]
        arrays, typed = kind in (".npz", ".npy"), kind in (".npz", ".npy", ".parquet")
        unused = (*(_TEXT_ONLY if typed else ()), *(() if arrays else ("array",)))
        return [name for name in given if name in unused]


def _check_roles(reading: Reading) -> None:
    one = [name for name in (reading.label, reading.id_column) if name is not None]
    many = (reading.exclude, reading.metadata, reading.categorical, reading.features)
    roles = [*one, *(name for names in many for name in dict.fromkeys(names))]
    twice = sorted({name for name in roles if roles.count(name) > 1})
    if twice:
        raise SettingsError(
            f"{listed(twice)} was asked to be more than one of label, id, excluded, metadata, "
            "categorical and feature — name it once"
        )


def _check_choice(what: str, value: str | None, accepted: tuple[str | None, ...]) -> None:
    if value not in accepted:
        words = " or ".join(f"'{word}'" for word in accepted if word is not None)
        raise SettingsError(f"{what} is {shown(value)} — it must be {words}")
