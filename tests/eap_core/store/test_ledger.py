"""The ledger is the fold of the log, however the rows come in."""

from __future__ import annotations

import threading
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eap_core.review import (
    DECIDED,
    Decision,
    count_states,
    fold,
    last_undoable,
    make_undo,
    recent_decisions,
)
from eap_core.store.decisions import Ledger, append, read_log
from eap_core.store.items import Item
from eap_core.store.store import Store, decisions

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["accept", "reject", "skip", "flag", "unflag", "undo", "look"]),
        st.integers(0, 3),
        st.sampled_from(["one", "two"]),
    ),
    max_size=25,
)


def row(item: Item, verdict: str, reviewer: str, seen: int = 0) -> Decision:
    return Decision(str(uuid4()), item.id, verdict, reviewer, seen=seen)  # type: ignore[arg-type]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_it_is_the_fold_of_the_log_after_any_history(
    store: Store, project: str, items: list[Item], steps: list[tuple[str, int, str]]
) -> None:
    ledger = Ledger(store, project)
    for verdict, which, reviewer in steps:
        if verdict == "look":
            ledger.now()
        elif verdict == "undo":
            known = read_log(store, project)
            append(store, project, make_undo(last_undoable(known, reviewer), reviewer, len(known)))
        else:
            append(store, project, [row(items[which], verdict, reviewer)])
    found, rows = ledger.now(), read_log(store, project)
    assert found.states == fold(rows)
    assert list(found.log) == rows
    assert found.seq == len(rows)
    decided = [state.verdict for state in fold(rows).values() if state.verdict in DECIDED]
    assert found.counts([item.id for item in items]) == (len(decided), decided.count("accept"))
    for reviewer in ("one", "two"):
        own = [r for r in count_states(rows) if r.reviewer == reviewer]
        assert recent_decisions(rows, reviewer, 5) == own[-5:]


def test_a_batch_is_one_step_of_what_is_recent(
    store: Store, project: str, items: list[Item]
) -> None:
    first = row(items[0], "accept", "one")
    batch = [row(item, "reject", "one")._replace(batch="b") for item in items[1:4]]
    append(store, project, [first, *batch])
    found = recent_decisions(read_log(store, project), "one", 20)
    assert [r.uuid for r in found] == [first.uuid, batch[-1].uuid]


def test_visitors_who_share_it_see_every_row_once(
    store: Store, project: str, items: list[Item]
) -> None:
    ledger = Ledger(store, project)

    def decide(item: Item) -> None:
        for _ in range(8):
            append(store, project, [row(item, "accept", item.name)])
            assert ledger.now().states[item.id].verdict == "accept"

    threads = [threading.Thread(target=decide, args=(item,)) for item in items[:4]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(ledger.now().log) == read_log(store, project)
    assert len(ledger.now().log) == 32


def test_what_was_given_out_does_not_change(store: Store, project: str, items: list[Item]) -> None:
    ledger = Ledger(store, project)
    before = ledger.now()
    append(store, project, [row(items[0], "accept", "one")])
    assert ledger.now().seq == 1
    assert (before.seq, dict(before.states), before.last_saved) == (0, {}, None)


def test_a_log_that_was_put_back_to_an_earlier_state_is_read_anew(
    store: Store, project: str, items: list[Item]
) -> None:
    """As after emptying the bin and restoring a backup: the same numbers, other rows."""
    ledger = Ledger(store, project)
    append(store, project, [row(item, "accept", "one") for item in items[:5]])
    assert ledger.now().seq == 5
    with store.writing() as connection:
        connection.execute(decisions.delete().where(decisions.c.seq > 2))
    later = row(items[7], "reject", "two")
    append(store, project, [later])
    found = ledger.now()
    assert found.states == fold(read_log(store, project))
    assert [one.uuid for one in found.log][-1] == later.uuid
    with store.writing() as connection:
        connection.execute(decisions.delete())
    assert ledger.now().seq == 0
    assert not ledger.now().states
