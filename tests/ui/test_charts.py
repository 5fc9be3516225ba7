from __future__ import annotations

import pandas as pd
import pytest

from eap_core.scoring.posterior import CATEGORIES
from ui.charts import group_bars
from ui.text import duration_words, escape_markdown


@pytest.mark.parametrize("category", CATEGORIES)
def test_candidates_of_one_category_alone_are_drawn(category: str) -> None:
    frame = pd.DataFrame(
        {
            "id": ["a<b>", "b"],
            "generator": ["gan", "<i>x</i>"],
            "category": [category] * 2,
            "eap": [0.4, 0.2],
            "percentile": [75.0, 25.0],
        }
    )
    figure = group_bars(frame, "generator")
    drawn = [trace for trace in figure.data if len(trace.x)]
    assert [list(trace.y) for trace in drawn] == [[0.0, 1.0]]
    assert list(drawn[0].customdata) == ["a&lt;b&gt;", "b"]
    assert list(figure.layout.yaxis.ticktext) == ["gan", "&lt;i&gt;x&lt;/i&gt;"]


def test_marks_are_taken_literally() -> None:
    assert escape_markdown("a*b_[c](d) <e> $f$ :g:") == r"a\*b\_\[c\]\(d\) \<e\> \$f\$ \:g\:"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a few seconds"),
        (47, "about 50 seconds"),
        (200, "about 3 minutes"),
        (9000, "about 2.5 hours"),
    ],
)
def test_a_wait_is_said_as_a_person_would(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words
