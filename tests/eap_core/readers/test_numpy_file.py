"""Tables in NPZ and NPY files: which array, what it may hold, and claims that are lies."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import numpy.typing as npt
import pytest

from eap_core.readers import binary, files, read_table
from eap_core.readers.files import Reading
from tests.eap_core.readers.conftest import Refuse, Write

X = np.arange(12.0).reshape(4, 3)


def _npz(**arrays: npt.ArrayLike) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _npy(array: npt.ArrayLike) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz_of(header: str, body: bytes = b"") -> bytes:
    """An archive of one array with a header of our own making."""
    text = header.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body)
    return buffer.getvalue()


def test_the_table_and_what_stands_beside_it(write: Write) -> None:
    content = _npz(
        X=X, y=[0, 1, 0, 1], ids=["007", "07", "7", "é"], columns=["a", "b", "c"], other=[1]
    )
    table = read_table(write(content, "t.npz"))
    assert table.columns == ("a", "b", "c")
    assert table.ids == ("007", "07", "7", "é")
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(table.values, X)
    assert "t.npz: array 'other' is not used" in table.notes


@pytest.mark.parametrize(
    "array",
    [X, X.astype("f2"), X.astype(">f4"), X.astype("u1"), X.astype("i8"), np.asfortranarray(X)],
)
def test_every_type_of_real_number(write: Write, array: npt.NDArray[np.generic]) -> None:
    for content, name in ((_npz(X=array), "t.npz"), (_npy(array), "t.npy")):
        table = read_table(write(content, name))
        np.testing.assert_array_equal(table.values, X)
        assert table.columns == ("f0", "f1", "f2")
        assert table.ids[0] == "t:1"


def test_booleans_are_stated(write: Write) -> None:
    table = read_table(write(_npz(X=X > 5), "t.npz"))
    assert "true = 1" in table.notes[0]


def test_which_array(write: Write, refusal: Refuse) -> None:
    assert len(read_table(write(_npz(only=X, y=[0, 1, 0, 1]), "t.npz"))) == 4
    two = _npz(A=X, B=X[:2])
    assert "'A' (4×3), 'B' (2×3) — say which" in refusal(two, "t.npz")
    assert len(read_table(write(two, "t.npz"), Reading(array="B"))) == 2
    assert "no array 'C'" in refusal(two, "t.npz", array="C")
    assert "say which" in refusal(_npz(a=[1], b=[2]), "t.npz")


def test_label_and_id_arrays_by_name(write: Write) -> None:
    content = _npz(X=X, bad=[True, False, True, False], part=[4, 3, 2, 1], y=X)
    table = read_table(write(content, "t.npz"), Reading(label="bad", id_column="part"))
    assert table.ids == ("4", "3", "2", "1")
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "array",
    [
        X[0],
        X[None],
        X[:0],
        X[:, :0],
        X + 1j,
        np.array([["a"]]),
        np.zeros((2, 2), "M8[s]"),
        np.float64(1),
    ],
)
def test_what_is_no_table_is_named(refusal: Refuse, array: npt.NDArray[np.generic]) -> None:
    message = refusal(_npz(X=array), "t.npz")
    assert f"array 'X' of shape {array.shape} and type {array.dtype}" in message
    assert "a 2-d array of real numbers" in message


def test_python_objects_are_never_loaded(refusal: Refuse) -> None:
    objects = np.array([[1, "a"]], dtype=object)
    assert "holds Python objects" in refusal(_npz(X=objects), "t.npz")
    assert "holds Python objects" in refusal(_npz(X=X, spare=objects), "t.npz")
    assert "holds Python objects" in refusal(_npy(objects), "t.npy")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_only_finite_numbers(refusal: Refuse, value: float) -> None:
    odd = X.copy()
    odd[2, 1] = value
    message = refusal(_npz(X=odd), "t.npz")
    assert f"holds '{value}' — row 3, column 'f1'" in message


def test_nan_is_missing(refusal: Refuse) -> None:
    odd = X.copy()
    odd[2, 1] = np.nan
    assert "missing value 'nan' — row 3, column 'f1'" in refusal(_npz(X=odd), "t.npz")


def test_a_number_too_large_for_float64(refusal: Refuse) -> None:
    huge = np.full((2, 2), np.finfo(np.longdouble).max)
    if np.isfinite(float(huge[0, 0])):
        pytest.skip("long double is double here")
    assert "holds 'inf'" in refusal(_npz(X=huge), "t.npz")


@pytest.mark.parametrize(
    "beside", [{"y": [0, 1]}, {"ids": [["a"] * 4]}, {"columns": ["a"]}, {"y": [1j] * 4}]
)
def test_what_does_not_fit_the_table(refusal: Refuse, beside: dict[str, npt.ArrayLike]) -> None:
    assert "does not fit the table" in refusal(_npz(X=X, **beside), "t.npz")


def test_labels_and_ids_follow_the_same_rules_as_elsewhere(refusal: Refuse) -> None:
    assert "row 2 ('2')" in refusal(_npz(X=X, y=[0, 2, 0, 1]), "t.npz")
    assert "'a' (row 1 and row 3)" in refusal(_npz(X=X, ids=list("abad")), "t.npz")
    assert "occurs more than once" in refusal(_npz(X=X, columns=list("aba")), "t.npz")
    assert "NUL" in refusal(_npz(X=X, ids=["a\x00b", "c", "d", "e"]), "t.npz")


@pytest.mark.parametrize(
    "shape", ["(400000000, 1000)", "(-1, 2)", "(2, 3)", "(0, 1)", "(99999999999999999999, 2)"]
)
def test_a_header_that_lies(refusal: Refuse, shape: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    assert "claims" in refusal(_npz_of(header, b"\x00" * 64), "t.npz")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "(" * 9_000,
        "[]",
        "{'descr': '<f8'}",
        "__import__('os')",
        "-" * 9_000 + "1",
        "{'a': 1}\n(",
    ],
)
def test_a_header_that_is_none(refusal: Refuse, header: str) -> None:
    assert "damaged or unknown header" in refusal(_npz_of(header), "t.npz")


def test_a_bomb_is_not_unpacked(refusal: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.zeros((4_500_000, 2)))
    monkeypatch.setattr(binary, "read_header", None)  # even looking inside would fail
    assert "limit is 200:1" in refusal(buffer.getvalue(), "t.npz")


def test_packed_numbers_may_look_like_a_name_of_excel(write: Write) -> None:
    table = np.frombuffer(b"0xl/theme0123456" * 3, dtype=np.float64).reshape(3, 2)
    assert len(read_table(write(_npz(X=table), "t.npz"))) == 3


def test_a_real_table_of_mostly_zeros_is_no_bomb(write: Write) -> None:
    sparse = np.zeros((2_000, 1_500))
    sparse[::50, ::100] = 1.0
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=sparse)
    assert sparse.nbytes > files.MAX_RATIO * len(buffer.getvalue())
    assert read_table(write(buffer.getvalue(), "t.npz")).values.sum() == sparse.sum()


def test_a_bomb_that_claims_to_be_large(refusal: Refuse) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.zeros((2_000_000, 1)))
    content = bytearray(buffer.getvalue())
    struct.pack_into("<L", content, content.index(b"PK\x01\x02") + 20, 15_000_000)
    assert "damaged or incomplete" in refusal(bytes(content), "t.npz")


def test_limits(refusal: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 3)
    assert "4 rows; limit is 3" in refusal(_npz(X=X), "t.npz")
    monkeypatch.setattr(binary, "MAX_MEMBERS", 1)
    assert "holds 2 files; limit is 1" in refusal(_npz(X=X, y=[1]), "t.npz")
    monkeypatch.setattr(binary, "MAX_DIRECTORY", 1)
    assert "too many files" in refusal(_npz(X=X), "t.npz")


def test_damage_is_one_sentence(refusal: Refuse) -> None:
    content = _npz(X=X)
    middle = len(content) // 2
    value = content.index(X.tobytes()) + 20
    flipped = content[:value] + bytes([content[value] ^ 1]) + content[value + 1 :]
    for broken in (content[:-1], content[:middle], flipped, b"PK\x03\x04"):
        assert "damaged or incomplete" in refusal(broken, "t.npz")
    encrypted = bytearray(content)
    encrypted[content.index(b"PK\x01\x02") + 8] |= 1
    assert "password-protected" in refusal(bytes(encrypted), "t.npz")


def test_other_members_are_left_out(write: Write) -> None:
    path = write(_npz(X=X), "t.npz")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readme.txt", "hello")
    assert "1 files that are no arrays" in read_table(path).notes[0]
