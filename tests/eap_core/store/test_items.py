"""An upload is added whole or not at all, and removed without being forgotten."""

from __future__ import annotations

import pytest

from eap_core.base.errors import DataError
from eap_core.base.progress import Cancelled
from eap_core.store import items as module
from eap_core.store import new_ids, projects
from eap_core.store.items import (
    Item,
    NewItem,
    NewUpload,
    add_upload,
    items_of,
    present_uploads,
    remove_upload,
    restore_upload,
    uploads_of,
)
from eap_core.store.store import Store

CSV = NewUpload("a.csv", "csv")


def test_an_upload_comes_back_as_it_was_given(store: Store, project: str) -> None:
    original, image, mask = (store.blobs.put(data) for data in (b"zip", b"image", b"mask"))
    said = {"prompt": "a \N{GREEK SMALL LETTER ALPHA} \0 scratch", "nested": [1, None, {"x": 0.1}]}
    upload = NewUpload("z.zip", "zip", "candidate", original, {"delimiter": ";"})
    item = NewItem(7, "candidate", "a/ß.png", image, mask, said, {"width": 640})
    added = add_upload(store, project, upload, [item])
    (found,) = items_of(store, project)
    assert (added.items, added.removed, added.sha256) == (1, 0, original)
    assert uploads_of(store, project) == [added]
    assert (found.upload, found.project, found.removed_at) == (added.id, project, None)
    assert vars(item).items() <= vars(found).items()


def test_items_are_in_the_order_they_came(store: Store, project: str) -> None:
    for number in range(3):
        new = [NewItem(2 - i, "normal", f"{number}-{i}") for i in range(3)]
        add_upload(store, project, CSV, new)
    add_upload(store, project, CSV, [NewItem(0, "anomaly", "x")])
    expected = [f"{number}-{i}" for number in range(3) for i in (2, 1, 0)]
    assert [item.name for item in items_of(store, project, "normal")] == expected
    assert [item.name for item in items_of(store, project)] == [*expected, "x"]


def test_the_same_name_in_another_role_or_project_is_another_item(
    store: Store, project: str
) -> None:
    other = projects.create(store, "other", "table").id
    for where in (project, other):
        new = [NewItem(0, "normal", "x"), NewItem(1, "candidate", "x")]
        add_upload(store, where, CSV, new)
        assert len(items_of(store, where)) == 2


def nothing_changed(store: Store, project: str, items: list[Item]) -> bool:
    return items_of(store, project) == items and len(uploads_of(store, project)) == 1


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ([NewItem(0, "normal", "new"), NewItem(1, "candidate", "c3")], "'c3' is there twice"),
        ([NewItem(0, "normal", "d"), NewItem(1, "normal", "d")], "'d' is there twice"),
        ([NewItem(0, "nothing", "d")], "'nothing' is no role"),  # type: ignore[arg-type]
        ([NewItem(0, "normal", "")], "name of an item is empty"),
        ([NewItem(0, "normal", "x\0")], r"'x\\x00' holds a character"),
        ([NewItem(0, "normal", "x", sha256="0" * 64)], "not in the store any more"),
        ([NewItem(0, "normal", "x", mask="0" * 64)], "not in the store any more"),
        ([NewItem(0, "normal", "x", sha256="../x")], "no SHA-256"),
        ([NewItem(0, "normal", "x", facts={"mean": float("nan")})], "cannot be stored"),
    ],
)
def test_a_bad_upload_changes_nothing(
    store: Store, project: str, items: list[Item], new: list[NewItem], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        add_upload(store, project, CSV, new)
    assert nothing_changed(store, project, items)
    add_upload(store, project, CSV, [NewItem(0, "normal", "good")])


def test_a_cancelled_upload_changes_nothing(
    store: Store, project: str, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 2)

    def stop(share: float, step: str) -> None:
        if share > 0.5:
            raise Cancelled(step)

    with pytest.raises(Cancelled):
        add_upload(store, project, CSV, [NewItem(i, "normal", f"x{i}") for i in range(9)], stop)
    assert nothing_changed(store, project, items)


def test_removed_items_can_be_brought_back(store: Store, project: str, items: list[Item]) -> None:
    upload = items[0].upload
    assert remove_upload(store, project, upload) == 12
    assert items_of(store, project) == []
    assert [item.id for item in items_of(store, project, removed=True)] == [i.id for i in items]
    (listed,) = uploads_of(store, project)
    assert (listed.items, listed.removed) == (12, 12)
    assert remove_upload(store, project, upload) == 0
    assert restore_upload(store, project, upload) == 12
    assert items_of(store, project) == items


def test_present_uploads_are_those_that_are_not_removed(store: Store, project: str) -> None:
    other = projects.create(store, "other", "table").id
    add_upload(store, other, CSV, [NewItem(0, "normal", "x")])
    made = [add_upload(store, project, CSV, [NewItem(0, "normal", f"{i}")]).id for i in range(3)]
    made.append(add_upload(store, project, CSV, []).id)
    assert present_uploads(store, project) == made
    remove_upload(store, project, made[1])
    assert present_uploads(store, project) == [made[0], *made[2:]]
    restore_upload(store, project, made[1])
    assert present_uploads(store, project) == made


def test_names_of_removed_items_are_free_until_they_come_back(
    store: Store, project: str, items: list[Item]
) -> None:
    remove_upload(store, project, items[0].upload)
    again = add_upload(store, project, CSV, [NewItem(0, "candidate", "c0")])
    with pytest.raises(DataError, match="'c0' is there twice"):
        restore_upload(store, project, items[0].upload)
    assert [item.upload for item in items_of(store, project)] == [again.id]


def test_an_unknown_upload_is_told(store: Store, project: str) -> None:
    other = projects.create(store, "other", "table").id
    foreign = add_upload(store, other, CSV, [NewItem(0, "normal", "x")])
    for act in (remove_upload, restore_upload):
        with pytest.raises(DataError, match="has no upload"):
            act(store, project, foreign.id)
    assert len(items_of(store, other)) == 1


def test_ids_are_different_uuids_in_order() -> None:
    ids = [*new_ids(1000), *new_ids(1000)]
    assert len(set(ids)) == 2000
    assert ids[:1000] == sorted(ids[:1000])
    assert {(len(i), i[14], i[19] in "89ab") for i in ids} == {(36, "7", True)}
