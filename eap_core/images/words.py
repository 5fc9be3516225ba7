"""The words people use for folders of images, in any case and with any of space, dash and dot."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Literal

from eap_core.roles import Role

Word = Literal["train", "test", "mask"] | Role

_WORDS: dict[Word, str] = {
    "train": "train training val valid validation",
    "test": "test testing",
    "mask": "mask masks ground_truth groundtruth ground_truths gt annotations_mask",
    "normal": "normal normals good ok nominal healthy defect_free no_defect normal_train",
    "anomaly": "anomaly anomalies anomalous abnormal bad defect defects defective ng nok not_ok "
    "faulty real_anomalies",
    "candidate": "candidate candidates synthetic synthetics synth generated generations fake fakes",
    "test_normal": "test_normal test_normals normal_test test_good good_test",
    "test_anomaly": "test_anomaly test_anomalies anomaly_test abnormal_test test_abnormal "
    "test_bad bad_test test_defect",
}
_MEANING = MappingProxyType(
    {name: word for word, names in _WORDS.items() for name in names.split()}
)


def meaning(folder: str) -> Word | None:
    """What a folder's name says of the images in it, if anything."""
    return _MEANING.get(re.sub(r"[\s\-.]+", "_", folder.strip().casefold()))


def as_role(word: Word | None) -> Role | None:
    """The role among the words."""
    return None if word == "train" or word == "test" or word == "mask" else word
