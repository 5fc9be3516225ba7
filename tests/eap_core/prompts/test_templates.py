"""Templates: the paper's own, those people bring, and names that look like code."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import DataError, SettingsError, escape_controls
from eap_core.prompts import (
    MOST_BYTES,
    MOST_PAIRS,
    SHIPPED,
    Template,
    check_object_name,
    check_templates,
    read_templates,
    templates_csv,
)

HEAD = "normal,anomalous\n"


def read(text: str) -> tuple[Template, ...]:
    return read_templates(text.encode(), "own.csv")


def test_the_papers_pairs_are_shipped_as_they_are_written() -> None:
    assert len(SHIPPED) == 27
    assert SHIPPED[0] == ("{}", "damaged {}")
    assert SHIPPED[18] == ("a photo of a {}", "a photo of someting")  # the paper's spelling
    assert SHIPPED[26].filled("bottle") == (
        "a photo of a bottle for anomaly detection",
        "a photo of someting for anomaly detection",
    )


@pytest.mark.parametrize(
    "name",
    [
        "{}",
        "{0}",
        "{name}",
        "%s",
        "a \"b\" 'c'",
        "Flasche für Öl",
        "瓶",
        "{{}}",
        "\\1",
        "🧴",
        "a{}b",
    ],
)
def test_a_name_is_data_whatever_it_looks_like(name: str) -> None:
    assert check_object_name(f"  {name}\n") == name
    assert Template("a {} for {0}", "broken {}, 100 %").filled(name) == (
        f"a {name} for {{0}}",
        f"broken {name}, 100 %",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "no name"), (" \t\n", "no name"), ("x" * 81, "81 characters"), ("a\x00b", "invisible")],
)
def test_names_that_are_none(name: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        check_object_name(name)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + '{},"cracked {}, badly"\n\n"a ""good"" {}",{} {0}\n',
        "\ufeff" + HEAD.replace("\n", "\r\n") + '{},"cracked {}, badly"\r\n"a ""good"" {}",{} {0}',
        'Anomalous;Normal\n"cracked {}, badly";{}\n{} {0};a "good" {}\n',
        'normal\tanomalous\n{}\tcracked {}, badly\na "good" {}\t{} {0}\n',
    ],
)
def test_files_as_spreadsheets_write_them(text: str) -> None:
    assert read(text) == (("{}", "cracked {}, badly"), ('a "good" {}', "{} {0}"))


def test_each_bad_line_is_named() -> None:
    with pytest.raises(DataError) as error:
        read(
            HEAD
            + "good {},bad {}\n"  # 2
            + ",bad {}\n"
            + "{} and {},bad {}\n"
            + "good,bad\n"
            + "good {},bad {}\n"  # 6
            + "a,b,c\n"
            + "{},{}\n"
            + f"{{}},{'x' * 201}\n"
        )
    assert str(error.value) == (
        "pairs in 'own.csv' cannot be used: line 3 has no normal text; line 4 has {} more than "
        "once in normal: '{} and {}'; line 5 has no {} where the object's name goes: 'good'; line "
        "6 is the same as line 2; line 7 has 3 cells instead of 2 (a text with a comma needs "
        "quotes); and 2 more — mend or remove them"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "'own.csv' is empty, or its first line is"),
        (b"\n{},bad {}\n", "'own.csv' is empty, or its first line is"),
        (b"normal,anomalous\n", "no pair in 'own.csv'"),
        (b"normal,anomalous\n{},bad {}<end_of_text> x\n", "line 2 has <end_of_text> in anomalous"),
        (b"good,bad\n{},bad {}\n", "first line of 'own.csv' is 'good,bad'"),
        ("normal,anomalous\n{},kaputt {} für\n".encode("latin-1"), "not in UTF-8"),
        (b'normal,anomalous\n"{}"x,bad {}\n', "no CSV that can be read"),
        (b"normal,anomalous\n{},bad\x00 {}\n", "line 2 has invisible signs in anomalous"),
        (b"x" * (MOST_BYTES + 1), "bytes"),
        (
            HEAD.encode() + b"".join(b"{},bad %d {}\n" % i for i in range(MOST_PAIRS + 1)),
            "501 pairs",
        ),
    ],
)
def test_files_that_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_templates(data, "own.csv")


def test_rows_of_a_table_on_screen_are_named_as_rows() -> None:
    with pytest.raises(DataError, match="of the table cannot be used: row 2 has no anomalous"):
        check_templates([("{}", "bad {}"), ("{}", " ")])


# Signs of models (all have a "<") and a second place for the name are refused by tests above.
words = st.text(max_size=20).filter(
    lambda text: escape_controls(text) == text and "{}" not in text and "<" not in text
)


@given(st.lists(st.tuples(words, words, st.booleans()), min_size=1, max_size=5))
def test_what_is_downloaded_reads_the_same(rows: list[tuple[str, str, bool]]) -> None:
    pairs = {
        (f"n{i} {a} {{}}" if lead else f"{a}{{}}{i}n", f"{b}{{}}{i}a"): None
        for i, (a, b, lead) in enumerate(rows)
    }
    templates = check_templates(list(pairs))
    text = templates_csv(templates)
    assert read(text) == templates
    cells = [cell for row in csv.reader(text.splitlines()[1:]) for cell in row]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_the_file_lies_in_the_package() -> None:
    import eap_core.prompts

    assert (Path(eap_core.prompts.__file__).parent / "templates.csv").is_file()
