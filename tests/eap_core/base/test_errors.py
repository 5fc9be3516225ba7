"""An error is one sentence made of fields, which survive wherever it goes."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from eap_core.base.errors import (
    DataError,
    EapError,
    FileError,
    SettingsError,
    UnavailableError,
    choose_advice,
    error_from_record,
    error_from_text,
    error_text,
)
from eap_core.features.clip_hub import NoWeightsError

KINDS = (EapError, DataError, FileError, UnavailableError, SettingsError, NoWeightsError)


def full(kind: type[EapError] = EapError) -> EapError:
    return kind(
        "it is torn", where="a.csv", advice="mend it", code="torn", facts={"by": "{scissors}"}
    )


def fail(kind: type[EapError]) -> None:
    raise full(kind)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (EapError("it is torn"), "it is torn"),
        (EapError("it is torn", advice="mend it"), "it is torn — mend it"),
        (EapError("it is torn", where="a.csv"), "a.csv: it is torn"),
        (full(), "a.csv: it is torn — mend it"),
        (FileError("is torn", where="a.png", advice="mend it"), "a.png is torn — mend it"),
        (EapError("torn — line 3", advice="mend it"), "torn — line 3 — mend it"),
    ],
)
def test_the_sentence_leaves_out_what_is_empty(error: EapError, sentence: str) -> None:
    assert str(error) == sentence
    assert isinstance(error, ValueError)


def test_the_reason_does_not_say_where() -> None:
    assert full().reason == "it is torn — mend it"


@pytest.mark.parametrize("kind", KINDS)
def test_all_fields_survive_a_pickle_and_a_copy(kind: type[EapError]) -> None:
    for other in (pickle.loads(pickle.dumps(full(kind))), copy.copy(full(kind))):
        assert type(other) is kind
        assert other.record == full(kind).record
        assert str(other) == str(full(kind))


def test_all_fields_cross_to_another_process() -> None:
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(NoWeightsError) as caught,
    ):
        pool.submit(fail, NoWeightsError).result()
    assert caught.value.record == full().record


def test_other_advice_is_another_error_of_the_same_kind() -> None:
    error = full(DataError)
    other = error.with_advice("throw it away")
    assert str(other) == "a.csv: it is torn — throw it away"
    assert (type(other), other.code, error.advice) == (DataError, "torn", "mend it")


@pytest.mark.parametrize(
    ("advice", "chosen"),
    [
        ({}, "mend it"),
        ({"other": "no"}, "mend it"),
        ({"torn": "burn it"}, "burn it"),
        ({"torn": "{advice} with --glue, not {by}"}, "mend it with --glue, not {scissors}"),
        ({"torn": "use {glue}"}, "mend it"),  # a fact that the error does not have
    ],
)
def test_advice_is_chosen_by_the_code(advice: dict[str, str], chosen: str) -> None:
    assert choose_advice(full(), advice).advice == chosen


def test_an_error_without_a_code_keeps_its_advice() -> None:
    assert choose_advice(EapError("no", advice="yes"), {"torn": "burn it"}).advice == "yes"


@pytest.mark.parametrize("kind", KINDS)
def test_the_fields_and_the_sentence_survive_as_text(kind: type[EapError]) -> None:
    again = error_from_text(error_text(full(kind)))
    assert again.record == full(kind).record
    assert str(again) == str(full(kind))


@pytest.mark.parametrize("text", ["the disk is full — free some", "", "3", '["a"]', '{"what": 3}'])
def test_any_other_text_is_what_is_wrong(text: str) -> None:
    """As older stores have it, or a damaged one."""
    assert str(error_from_text(text)) == text


def test_a_record_from_elsewhere_is_words_alone() -> None:
    odd = error_from_record({"what": "no", "facts": {"a": 1}, "code": None, "more": 2})
    assert odd.record == {
        "what": "no",
        "where": "",
        "advice": "",
        "code": "",
        "facts": {"a": "1"},
    }
    with pytest.raises(ValueError, match="no record"):
        error_from_record(None)
