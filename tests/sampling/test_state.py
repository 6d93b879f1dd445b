"""What is known while samples are made: no model, no clock, any order of events."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.core.outcome import Outcome, Status
from fanwise.errors import ModelRefused, UsageError
from fanwise.models.port import Message, Reply, Request
from fanwise.sampling import Escalate, Majority, Strategy, Turn, Verdict
from fanwise.sampling.state.sampling_state import SampleItem, SamplingState
from fanwise.testing import ScriptedModel

TURN = Turn(Request((Message("user", "x"),)), ScriptedModel([]))


def state(wide: int, deep: int, strategy: Strategy | None = None, **more: Any) -> SamplingState:
    more.setdefault("winner", "first")
    return SamplingState(
        TURN, strategy or Strategy(), loop_budget=deep, concurrency_budget=wide, **more
    )


def done(value: Any) -> Outcome[Any]:
    return Outcome(0, "done", value)


def failed(error: BaseException, status: Status = "failed") -> Outcome[Any]:
    return Outcome(0, status, None, error)


def draft(text: str) -> Outcome[Any]:
    reply = Reply(text, "m").to_json()
    return done({"model": "m", "seed": 1, "messages": [], "reply": reply})


def check(passed: bool) -> Outcome[Any]:
    verdict = {"passed": passed, "requirement": "r"}
    return done({"verdicts": [verdict], "same_as": None})


def play(sampling: SamplingState, valid: set[tuple[int, int]], order: Random) -> SamplingState:
    """To the end, with the items that are in flight ending in a random order."""
    flying = sampling.begin()
    while flying and not sampling.over:
        item = flying.pop(order.randrange(len(flying)))
        place = (item.slot.chain, item.slot.iteration)
        outcome = draft(str(place)) if item.kind == "draft" else check(place in valid)
        flying += sampling.take(item, outcome)
    return sampling


@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1),
    st.lists(st.integers(), min_size=2, max_size=4),
)
def test_the_chosen_sample_is_the_same_in_whatever_order_items_end(
    valid: set[tuple[int, int]], orders: list[int]
) -> None:
    chosen = {play(state(4, 4), valid, Random(order)).chosen().text for order in orders}
    assert chosen == {str(min(valid, key=lambda place: (place[1], place[0])))}


@pytest.mark.parametrize("winner", ["fastest", "first"])
def test_a_vote_is_over_when_the_rest_cannot_change_it(winner: str) -> None:
    voting = state(5, 2, Majority(), winner=winner)
    items, over = voting.begin(), []
    for text, item in zip(["yes", "no", "yes", "yes"], items, strict=False):
        (checking,) = voting.take(item, draft(text))
        voting.take(checking, check(True))
        over.append(voting.over)
    assert over == [False, False, False, winner == "fastest"]
    assert voting.chosen().text == "yes"


def test_a_draft_whose_check_fails_keeps_the_verdicts_that_it_had() -> None:
    sampling = state(1, 1)
    (item,) = sampling.begin()
    (checking,) = sampling.take(item, draft("hello"))
    sampling.checking[item.slot.id] = [Verdict(True, requirement="first")]
    assert sampling.take(checking, failed(OSError("no space"))) == []
    assert sampling.over
    assert (sampling.chosen().text, sampling.chosen().passed) == ("hello", 1)
    assert not sampling.chosen().checked
    assert [str(error) for error in sampling.errors] == ["no space"]


def test_what_ends_beside_the_winner_is_kept_and_begins_nothing() -> None:
    sampling = state(2, 2, winner="fastest")
    first, second = sampling.begin()
    (checking,) = sampling.take(first, draft("good"))
    assert sampling.take(checking, check(passed=True)) == []
    assert sampling.over
    sampling.take_late(second, draft("late"))
    assert [each.text for each in sampling.samples.values()] == ["good", "late"]
    assert sampling.chosen().text == "good"


def test_what_was_raised_while_it_was_cancelled_is_an_error_of_its_chain() -> None:
    sampling = state(2, 1)
    _, second = sampling.begin()
    sampling.take_late(second, failed(OSError("at the end"), "cancelled"))
    assert [str(error) for error in sampling.errors] == ["at the end"]


def test_the_same_text_is_not_judged_twice() -> None:
    sampling = state(1, 2)
    (item,) = sampling.begin()
    (checking,) = sampling.take(item, draft("same"))
    (item,) = sampling.take(checking, check(passed=False))
    sampling.take(item, draft("same"))
    twin = sampling.twin(sampling.samples[item.slot.id])
    assert twin is not None and twin.id == 1


def test_a_strategy_may_rescue_a_chain_whose_model_failed() -> None:
    strong = ScriptedModel([], name="scripted:strong")
    sampling = state(1, 2, Escalate(strong))
    (item,) = sampling.begin()
    (again,) = sampling.take(item, failed(ModelRefused("no", model="scripted:model")))
    turn = sampling.next_turn(again.slot)
    assert turn is not None and turn.model is strong
    assert len(sampling.errors) == 1


def test_a_rescue_counts_for_one_draft_also_when_that_is_read_from_a_journal() -> None:
    """Then nobody asks for its turn."""
    strong = ScriptedModel([], name="scripted:strong")
    sampling = state(1, 3, Escalate(strong))
    (item,) = sampling.begin()
    (item,) = sampling.take(item, failed(ModelRefused("no")))
    (checking,) = sampling.take(item, draft("bad"))
    (item,) = sampling.take(checking, check(passed=False))
    assert sampling.next_turn(item.slot) is None, "it repairs its history"


def test_a_mistake_of_the_caller_ends_everything() -> None:
    sampling = state(2, 2)
    (item, _) = sampling.begin()
    with pytest.raises(UsageError):
        sampling.take(item, failed(UsageError("no such cap")))


def test_a_deadline_is_an_error_unless_a_sample_has_won() -> None:
    sampling = state(1, 1)
    (item,) = sampling.begin()
    (checking,) = sampling.take(item, draft("good"))
    sampling.fail(TimeoutError())
    assert len(sampling.errors) == 1
    sampling.take(checking, check(passed=True))
    sampling.fail(TimeoutError())
    assert len(sampling.errors) == 1


def test_the_keys_of_items_are_unique() -> None:
    item = state(1, 1).begin()[0]
    assert item.key == "0.0 draft"
    assert SampleItem("check", item.slot).key == "0.0 check"
