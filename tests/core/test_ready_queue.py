"""Items that wait for room in their queue."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fanwise.core.ready_queue import QueueLimit, ReadyQueue

MOST = {"a": 1, "b": 3}


def limit_of(item: str) -> QueueLimit | None:
    """`a7`: of the queue `a`; `-7`: of none."""
    return QueueLimit(item[0], MOST[item[0]]) if item[0] in MOST else None


def rank_of(item: str) -> float:
    return float(item[1:])


def queue() -> ReadyQueue[str]:
    return ReadyQueue(limit_of, rank_of, drop=lambda item: False)


def taken(ready: ReadyQueue[str]) -> list[str]:
    return [item for item, _ in ready.take()]


def test_the_lowest_rank_goes_first_whenever_it_was_added() -> None:
    ready = queue()
    ready.add(["a5", "a3"])
    assert taken(ready) == ["a3"]
    ready.add(["a1"])
    assert taken(ready) == []
    for expected in ("a1", "a5"):
        ready.left(limit_of("a"))
        assert taken(ready) == [expected]


def test_of_equal_rank_the_first_goes_first() -> None:
    ready = ReadyQueue[str](lambda item: None, lambda item: 0.0, lambda item: False)
    ready.add(["x", "c", "a"])
    assert taken(ready) == ["x", "c", "a"]


def test_a_full_queue_holds_up_no_other() -> None:
    ready = queue()
    ready.add(["a1", "a2", "b1", "b2", "b3", "b4", "-1", "-2"])
    assert taken(ready) == ["a1", "b1", "b2", "b3", "-1", "-2"]


def test_what_is_dropped_takes_no_room() -> None:
    needless = {"a1", "a2"}
    ready = ReadyQueue[str](limit_of, rank_of, drop=needless.__contains__)
    ready.add(["a1", "a2", "a3", "a4"])
    assert taken(ready) == ["a3"]


@given(
    st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("ab-"), st.integers(0, 9)), min_size=1, max_size=5),
            st.sampled_from("ab-"),
        ),
        max_size=40,
    )
)
def test_no_queue_is_ever_fuller_than_its_limit_nor_empty_while_one_waits(
    events: list[list[tuple[str, int]] | str],
) -> None:
    """A list of items is added; a letter: one of that queue ends."""
    ready, inside, waiting = queue(), Counter[str](), Counter[str]()
    for event in events:
        if isinstance(event, list):
            items = [f"{name}{rank}" for name, rank in event]
            ready.add(items)
            waiting.update(item[0] for item in items)
        elif inside[event]:
            inside[event] -= 1
            ready.left(limit_of(event))
        for item in taken(ready):
            inside[item[0]] += 1
            waiting[item[0]] -= 1
        for name, most in MOST.items():
            assert inside[name] <= most
            assert inside[name] == most or not waiting[name]
        assert not waiting["-"]
