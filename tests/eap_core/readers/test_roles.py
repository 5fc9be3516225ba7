"""Which column is the label, which the id, and what travels along."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eap_core.base.errors import SettingsError
from eap_core.readers import read_table
from eap_core.readers.columns import LABEL_NAMES
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write


@pytest.mark.parametrize("name", [*LABEL_NAMES, " Label ", "Y", "IS_ANOMALY"])
def test_a_label_is_found_by_its_name(write: Write, name: str) -> None:
    table = read_table(write(f"a,{name}\n1,0\n2,1\n3,1.0\n"))
    assert table.columns == ("a",)
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 1]
    assert "labels are taken from" in table.notes[0]


@pytest.mark.parametrize("words", [("true", "FALSE"), ("Yes", "no"), ("1,0", "0,0"), ("01", "+0")])
def test_ways_to_write_a_label(write: Write, words: tuple[str, str]) -> None:
    table = read_table(write(f"a;label\n1;{words[0]}\n2;{words[1]}\n"))
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0]


@pytest.mark.parametrize("word", ["2", "anomaly", "", "-1", "0.5", "nan", "１", "1_1"])
def test_other_labels_are_refused_with_their_lines(refusal: Refuse, word: str) -> None:
    message = refusal(f"a,label\n1,0\n2,{word}\n3,1\n")
    assert f"line 3 ('{word}')" in message
    assert "0 for normal and 1 for anomaly" in message


def test_many_bad_labels_are_counted(refusal: Refuse) -> None:
    rows = "".join(f"{i},x\n" for i in range(9))
    assert "line 6 ('x') and 4 more" in refusal(f"a,label\n{rows}")


def test_a_named_label(write: Write, refusal: Refuse) -> None:
    text = "a,bad,y\n1,0,5\n2,1,6\n"
    table = read_table(write(text), Reading(label="bad"))
    assert table.columns == ("a", "y")
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1]
    assert "no column 'worse'" in refusal(text, label="worse")


def test_among_several_names_the_values_decide(write: Write, refusal: Refuse) -> None:
    table = read_table(write("y,label\n0.5,0\n0.7,1\n"))
    assert table.columns == ("y",)
    assert "more than one possible label" in refusal("a,y,label\n1,0,0\n2,1,1\n")


def test_an_excluded_column_is_no_label(write: Write) -> None:
    table = read_table(write("a,y\n1,0.5\n2,0.7\n"), Reading(exclude=("y",)))
    assert table.labels is None
    assert table.extras == {"y": ("0.5", "0.7")}


@pytest.mark.parametrize(
    "name", ["id", "ID", "uuid", "name", "key", "Index", "sample", "sample_id"]
)
def test_ids_are_found_by_their_name_and_kept_verbatim(write: Write, name: str) -> None:
    table = read_table(write(f"a,{name}\n1,007\n2, 07\n3,7\n"))
    assert table.ids == ("007", " 07", "7")
    assert table.columns == ("a",)
    assert any(name in remark for remark in table.notes + table.warnings)


def test_made_ids(write: Write) -> None:
    assert read_table(write("a,b\n1,2\n3,4\n", "run 7.csv")).ids == ("run 7:1", "run 7:2")


def test_repeated_ids_are_refused(refusal: Refuse) -> None:
    message = refusal("id,a\nx,1\ny,2\nx,3\ny,4\n")
    assert "'x' (line 2 and line 4), 'y' (line 3 and line 5)" in message


def test_missing_ids_are_refused(refusal: Refuse) -> None:
    assert "missing id — line 3, column 'id'" in refusal("id,a\nx,1\n ,2\n")


def test_a_second_id_is_no_feature(write: Write) -> None:
    table = read_table(write("index,id,a\n0,x,1\n1,y,2\n"))
    assert table.ids == ("x", "y")
    assert table.columns == ("a",)
    assert "'index' looks like an id beside 'id'" in table.warnings[0]
    named = read_table(write("index,id,a\n0,x,1\n1,y,2\n"), Reading(id_column="id"))
    assert named.columns == ("index", "a")


def test_many_different_texts_are_ids(write: Write) -> None:
    def parts(count: int) -> str:
        return "part,a\n" + "".join(f"p{i},{i}\n" for i in range(count))

    table = read_table(write(parts(20)))
    assert table.ids[:2] == ("p0", "p1")
    assert "20 different texts" in table.warnings[0]
    assert "part" in read_table(write(parts(19))).extras
    assert "part" in read_table(write(parts(20) + "p0,1\n")).extras


def test_roles_are_given_once(refusal: Refuse) -> None:
    for roles in (
        {"label": "b", "exclude": ("b",)},
        {"label": "b", "id_column": "b"},
        {"metadata": ("a", "b"), "categorical": ("b",)},
        {"features": ("b",), "exclude": ("b",)},
    ):
        with pytest.raises(SettingsError, match="'b' was asked to be more than one of"):
            Reading(**roles)
    assert "no column 'c'" in refusal("a,b\n1,0\n2,1\n", id_column="c")


def test_metadata_is_known_by_its_name_and_never_scored(write: Write) -> None:
    table = read_table(write("a,Source-ID,prompt,mask\n1,17,x,0\n2,0018,y,1\n"))
    assert table.columns == ("a",)
    assert table.extras["Source-ID"] == ("17", "0018")
    assert table.texts == ()
    assert "'Source-ID', 'prompt', 'mask' is metadata by its name" in table.notes[0]


def test_metadata_may_be_chosen(write: Write) -> None:
    path = write("a,batch,when\n1,17,\n2,18,x\n")
    table = read_table(path, Reading(metadata=("batch", "when", "not here")))
    assert table.columns == ("a",)
    assert table.extras == {"batch": ("17", "18"), "when": ("", "x")}


def test_a_feature_is_one_whatever_it_is_called(write: Write) -> None:
    path = write("x,y,source,index,method\n1,2,3,4,red\n5,6,7,8,blue\n")
    table = read_table(path, Reading(features=("y", "source", "index", "method")))
    assert table.columns == ("x", "y", "source", "index")
    assert table.labels is None
    assert table.texts == ("method",)


def test_categories_may_be_stated(write: Write) -> None:
    path = write("a,code,generator\n1,007,x\n2,7,y\n")
    table = read_table(path, Reading(categorical=("code", "generator")))
    assert table.columns == ("a",)
    assert table.categorical == ("code", "generator")
    assert table.extras == {"code": ("007", "7"), "generator": ("x", "y")}
    assert len(read_table(write("k\nx\ny\n"), Reading(categorical=("k",))).columns) == 0


def test_no_column_left_to_score(refusal: Refuse) -> None:
    message = refusal("a,b,label\n1,2,0\n3,4,1\n", exclude=("a", "b"))
    assert "has no column left to score" in message
    assert "leave at least one column as a feature" in message


def test_columns_keep_their_order(write: Write) -> None:
    table = read_table(write('d,c,note,b,a\n1,true,x,"1,234.5",4\n5,no,y,6,7\n'))
    assert table.columns == ("d", "c", "b", "a")
    assert table.values.tolist() == [[1, 1, 1234.5, 4], [5, 0, 6, 7]]


def test_what_is_handed_over_cannot_be_changed(write: Write) -> None:
    table = read_table(write("a,label\n1,0\n2,1\n"))
    assert table.labels is not None
    assert table.values.flags.c_contiguous
    assert not table.values.flags.writeable
    assert not table.labels.flags.writeable


def test_the_import_is_light() -> None:
    code = "import sys, eap_core.readers; print(sorted({'pandas', 'pyarrow'} & {*sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
