"""The collection of bad files, as far as one file alone decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eap_core.base.errors import DataError
from eap_core.readers import read_table
from tests.bad_files import FOLDERS, bad_file, bad_files

REFUSED = {
    "csv_empty_0bytes.csv": ["is empty (0 bytes)", "export it again"],
    "csv_header_only.csv": ["has a header but no rows"],
    "csv_whitespace_only.csv": ["contains no data"],
    "csv_ragged_rows.csv": ["line 3: expected 4 values, saw 3", "line 4: expected 4 values, saw 5"],
    "csv_unclosed_quote.csv": ["never closed", "line 2"],
    "csv_comment_trailer.csv": ["line 43", "expected 4 values, saw 1", "remove comments"],
    "enc_invalid_utf8_mid.csv": ["line 3, column 'name'", "save it as UTF-8"],
    "enc_nul_bytes.csv": ["NUL", "line 3"],
    "val_text_in_number.csv": ["'abc' is not a number", "line 3, column 'f1'"],
    "val_labels_odd.csv": ["line 4 ('2')", "line 5", "line 6", "line 8 ('-1')", "0 for normal"],
    "val_very_wide_40000cols.csv": ["40,000 columns; limit is 10,000"],
    "val_long_column_name.csv": ["70,000 characters; limit is 200"],
    "kind_png_named.csv": ["looks like a PNG image"],
    "kind_exe_named.png": ["'.png' is not accepted", "use .csv"],
    "kind_double_ext.png.html": ["'.html' is not accepted", "use .csv"],
    "pt_model.pt": ["'.pt' is not accepted", "use .csv"],
    "pq_footer_lies.parquet": ["damaged or incomplete Parquet"],
    "pq_nulls_types.parquet": ["'t' is of the type 'timestamp", "'a' has a missing value in row 2"],
    "pq_bomb_30M_rows.parquet": ["30,000,000 rows; limit is 5,000,000"],
    "pq_zero_rows.parquet": ["no rows"],
    "npz_pickle_payload.npz": ["'X' holds Python objects"],
    "npz_header_lies.npz": ["'X'", "(400000000, 1000)", "float64", "claims"],
    "npz_bomb_1GB.npz": ["200,000,128", "limit is 200:1"],
    "npz_3d.npz": ["'X' of shape (3, 4, 5) and type float64", "2-d array of real numbers"],
    "npz_0rows.npz": ["'X' of shape (0, 4) and type float64", "2-d array of real numbers"],
    "npz_complex.npz": ["'X' of shape (5, 3) and type complex128", "2-d array of real numbers"],
    "npz_float16_inf.npz": ["'X' of shape (6, 3) and type float16 holds 'inf'", "finite"],
    "npz_two_arrays.npz": ["'A' (5×3), 'B' (6×2)", "say which"],
    "img_gray.png": ["'.png' is not accepted"],
    "zip_empty.zip": ["'.zip' is not accepted"],
}
WARNED = {
    "csv_thousands.csv": "'1,234.5' is 1234.5",
    "enc_rtl_zero_width.csv": "'f\\u200b0', '\\u202egpj.exe'",
    "val_high_cardinality.csv": "'uuid' is treated as the id",
    "val_booleans.csv": "true = yes = 1 and false = no = 0",
    "val_long_cell.csv": "2,000,000 characters",
}
# Those that only a whole problem can refuse are read here like every other file.
ACCEPTED = [
    "ok_normal.csv",
    "ok_candidates.csv",
    "ok_labelled.csv",
    "csv_semicolon_decimal_comma.csv",
    "csv_cr_only.csv",
    "csv_one_column.csv",
    "csv_two_rows.csv",
    "enc_utf8_bom.csv",
    "enc_cp1252.csv",
    "val_constant_column.csv",
    "val_all_constant.csv",
    "val_many_duplicates.csv",
    "val_candidates_equal_normals.csv",
    "val_candidates_all_same.csv",
    "val_leading_zero_ids.csv",
    "val_labels_all_zero_m0.csv",
    "val_labels_all_one.csv",
    "val_labels_half.csv",
    "val_wide_2000cols.csv",
    "val_columns_reordered.csv",
    "val_columns_extra.csv",
    "val_columns_case_space.csv",
    "inj_csv_formula.csv",
    "inj_xss_values.csv",
    "inj_xss_columns.csv",
    "inj_sql_names.csv",
    "npz_ok.npz",
    "npz_uint8.npz",
]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_place_and_advice(name: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(bad_file(name))
    message = str(caught.value)
    assert message.startswith(name)
    assert "\n" not in message
    for part in REFUSED[name]:
        assert part in message


@pytest.mark.parametrize("name", WARNED)
def test_read_with_a_warning(name: str) -> None:
    table = read_table(bad_file(name))
    assert any(WARNED[name] in warning for warning in table.warnings)


@pytest.mark.parametrize("name", ACCEPTED)
def test_read_without_alarm(name: str) -> None:
    table = read_table(bad_file(name))
    assert len(table) == len(table.values) > 0
    assert table.warnings == ()


def test_every_table_of_the_collection_is_decided_here() -> None:
    present = [path for folder in FOLDERS if folder.is_dir() for path in folder.iterdir()]
    tables = {
        path.name
        for path in (*present, *(Path(case["file"]) for case in bad_files()))
        if path.suffix in (".csv", ".parquet", ".npz", ".npy", ".pt")
    }
    assert tables <= {*REFUSED, *WARNED, *ACCEPTED}


def test_decimal_commas_and_line_ends_change_no_number() -> None:
    expected = read_table(bad_file("ok_normal.csv")).values
    for name in ("csv_semicolon_decimal_comma.csv", "csv_cr_only.csv"):
        np.testing.assert_array_equal(read_table(bad_file(name)).values, expected)


def test_text_is_kept_as_it_was_written() -> None:
    assert read_table(bad_file("val_leading_zero_ids.csv")).ids == ("007", "07", "7")
    formulas = read_table(bad_file("inj_csv_formula.csv")).ids
    assert {"=1+1", "\t=1+1", "\r=1+1", "-5.5", "+49 170 000"} <= set(formulas)
    assert read_table(bad_file("enc_cp1252.csv")).columns == ("Größe", "f1")
    assert "名前" in read_table(bad_file("enc_utf8_bom.csv")).extras


def test_no_payload_ran() -> None:
    with pytest.raises(DataError):
        read_table(bad_file("npz_pickle_payload.npz"))
    assert not Path("/tmp/eap_pwned_by_pickle").exists()
