"""The errors a caller can act on. Everything else is a bug and is left to surface."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

_SHOWN = 60
_JOINT = " — "
_NO_FACTS: Mapping[str, str] = MappingProxyType({})


class EapError(ValueError):
    """What is wrong, where, and what is accepted or what to do: one sentence made of fields.

    ``code`` names the mistake for whoever has other advice for it, a page or the command line, and
    ``facts`` are what such advice may name. The core's own advice speaks of neither's means.
    """

    after_where: ClassVar[str] = ": "

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        advice: str = "",
        code: str = "",
        facts: Mapping[str, str] = _NO_FACTS,
    ) -> None:
        # Only what is positional may be in args, for so an exception is made anew from a pickle;
        # the other fields come back as its attributes.
        super().__init__(what)
        self.what, self.where, self.advice, self.code = what, where, advice, code
        self.facts = dict(facts)

    def __str__(self) -> str:
        return f"{self.where}{self.after_where}{self.reason}" if self.where else self.reason

    @property
    def reason(self) -> str:
        """The sentence without where it is."""
        return _JOINT.join(filter(None, (self.what, self.advice)))

    def with_advice(self, advice: str) -> Self:
        """The same mistake with other words on what to do."""
        other = copy.copy(self)
        other.advice = advice
        return other

    @property
    def record(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {
            "what": self.what,
            "where": self.where,
            "advice": self.advice,
            "code": self.code,
            "facts": self.facts,
            **({"goes_on": True} if self.after_where == " " else {}),
        }


class DataError(EapError):
    """The given data cannot be used."""


class FileError(DataError):
    """A file cannot be used: ``where`` is its name, from which ``what`` goes on ("is empty")."""

    after_where = " "


class UnavailableError(DataError):
    """The disk or the database refused what was given; the same may be taken later."""


class SettingsError(EapError):
    """A setting is outside what the method allows."""


def choose_advice(error: EapError, advice: Mapping[str, str]) -> EapError:
    """The error with what ``advice`` has for its code, or as it is where that has nothing.

    Such words may name the error's facts and its own advice in braces.
    """
    words = advice.get(error.code)
    if words is None:
        return error
    try:
        return error.with_advice(words.format_map({**error.facts, "advice": error.advice}))
    except KeyError:  # a record from elsewhere may lack facts
        return error


def error_text(error: EapError) -> str:
    """The fields as text, for a place that holds text alone."""
    return json.dumps(error.record, ensure_ascii=False)


def error_from_text(text: str) -> EapError:
    """What error_text was given; any other text, as older stores have it, is what is wrong."""
    try:
        return error_from_record(json.loads(text))
    except ValueError:  # no JSON, or other JSON
        return EapError(text)


def error_from_record(record: object) -> EapError:
    """The error whose record this is; a ValueError where it is none."""
    if not isinstance(record, dict) or not isinstance(record.get("what"), str):
        raise ValueError("no record of an error")
    words = {name: str(record.get(name) or "") for name in ("where", "advice", "code")}
    facts = record.get("facts")
    named = {str(k): str(v) for k, v in facts.items()} if isinstance(facts, dict) else {}
    kind = FileError if record.get("goes_on") is True else EapError
    return kind(record["what"], **words, facts=named)


def quote(value: object) -> str:
    """A value as it may appear in a message: escaped, quoted and cut to 60 characters."""
    text = value if isinstance(value, str) else repr(value)
    safe = escape_controls(text[: _SHOWN + 1])  # cut first: a cell may hold megabytes
    return f"'{safe}'" if len(safe) <= _SHOWN else f"'{safe[:_SHOWN]}…'"


def escape_controls(text: str) -> str:
    """Without control characters, which could rewrite a terminal or fake a name."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


_INVISIBLE = "\u2060"  # between the signs that would turn an address into a link
_LINKS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)")
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$:&])")


def escape_markdown(text: str, *, break_links: bool = False) -> str:
    """Text for a place that understands Markdown, with every mark taken literally."""
    safe = escape_controls(text)
    return _MARKS.sub(r"\\\1", _LINKS.sub(_INVISIBLE, safe) if break_links else safe)


def list_names(names: list[str], most: int = 5) -> str:
    """Some names as they may appear in a message, with the number left out."""
    head = ", ".join(quote(name) for name in names[:most])
    return head if len(names) <= most else f"{head} and {len(names) - most:,} more"


def name_source(source: str) -> str:
    """A file's name as messages show it."""
    return quote(source)[1:-1]


Extra = Literal["app", "images", "clip", "study", "postgres"]


class MissingExtraError(EapError):
    """A package is not installed that this work needs and others do not."""


def require(package: str, extra: Extra) -> None:
    """Refuse, in one sentence, what a package that is not installed would be needed for."""
    if find_spec(package) is None:
        raise MissingExtraError(
            f"{package} is not installed, which this needs",
            advice=f'run pip install "eap-curator[{extra}]"',
        )
