"""What every journal does: the one on disk and the one in memory pass the same tests."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import msgspec
import pytest

from fanwise.errors import JournalNotWritable, RunExists, RunIsLive, RunNotFound
from fanwise.journal.owner import current_owner
from fanwise.journal.port import (
    AttemptWrite,
    Batch,
    CallTotals,
    EventRecord,
    FanOutEndWrite,
    FanOutRecord,
    InputRecord,
    InputsCleared,
    ItemEndWrite,
    ItemRecord,
    ItemStartWrite,
    Journal,
    Owner,
    RunEndWrite,
    RunSpec,
    Sum,
    fan_out_id,
)
from tests.journal.conftest import FAR_AWAY, a_run, write

F = fan_out_id(1, 0)


def a_fan_out(fan_out: int = F, **changes: object) -> FanOutRecord:
    record = FanOutRecord(id=fan_out, run_id="r", path="p", cap=3, halt="never", opened_at=1.0)
    return msgspec.structs.replace(record, **changes)


def ended(key: str, index: int = 0, **changes: object) -> ItemEndWrite:
    return msgspec.structs.replace(ItemEndWrite(F, key, index, "done", 2.0), **changes)


def an_attempt(key: str, **changes: object) -> AttemptWrite:
    return msgspec.structs.replace(AttemptWrite(F, key, None, 0.1, 0.2, 0.3), **changes)


def dead_owner() -> Owner:
    return msgspec.structs.replace(current_owner(), started="another time")


# Runs


def test_a_created_run_is_read_back_with_a_number(journal: Journal) -> None:
    run = a_run(owner=current_owner())
    created = journal.create_run(run)
    assert created.number == 1
    assert created == msgspec.structs.replace(run, number=1)
    assert journal.run("r") == created


def test_an_id_can_be_taken_once_and_the_journal_goes_on(journal: Journal) -> None:
    journal.create_run(a_run())
    with pytest.raises(RunExists):
        journal.create_run(a_run())
    assert journal.create_run(a_run("s")).number == 2


def test_runs_come_newest_first(journal: Journal) -> None:
    for run_id in "abc":
        journal.create_run(a_run(run_id))
    assert [run.id for run in journal.runs()] == ["c", "b", "a"]


def test_an_unknown_run_is_not_found_and_a_similar_id_is_suggested(journal: Journal) -> None:
    journal.create_run(a_run("nightly-2024"))
    for ask in (journal.run, journal.request_cancel, lambda run: journal.request_caps(run, {})):
        with pytest.raises(RunNotFound, match="nightly-2024"):
            ask("nightly-2025")
    with pytest.raises(RunNotFound):
        journal.claim_run("nightly-2025", current_owner())


def test_a_run_that_ended_has_no_owner_and_can_be_claimed(journal: Journal) -> None:
    journal.create_run(a_run(owner=current_owner()))
    write(journal, RunEndWrite("r", "failed", 9.0, '{"type": "E"}'))
    run = journal.run("r")
    assert (run.status, run.ended_at, run.owner) == ("failed", 9.0, None)
    assert run.error == '{"type": "E"}'
    claimed = journal.claim_run("r", current_owner())
    assert (claimed.status, claimed.ended_at, claimed.error) == ("running", None, None)
    assert claimed.owner == current_owner()
    assert journal.run("r") == claimed


def test_a_run_of_a_living_process_cannot_be_claimed_even_by_force(journal: Journal) -> None:
    journal.create_run(a_run(owner=current_owner()))
    for force in (False, True):
        with pytest.raises(RunIsLive, match=f"process {current_owner().pid}"):
            journal.claim_run("r", current_owner(), force=force)


def test_a_run_of_a_dead_process_can_be_claimed(journal: Journal) -> None:
    journal.create_run(a_run(owner=dead_owner()))
    assert journal.claim_run("r", current_owner()).owner == current_owner()


def test_a_run_of_another_host_can_be_claimed_only_by_force(journal: Journal) -> None:
    if journal.location.startswith("postgresql"):
        pytest.skip("a server sees owners on all hosts: tests/journal/test_postgres_owners.py")
    journal.create_run(a_run(owner=FAR_AWAY))
    with pytest.raises(RunIsLive, match="cannot be checked from here"):
        journal.claim_run("r", current_owner())
    assert journal.claim_run("r", current_owner(), force=True).owner == current_owner()


def test_a_claim_may_say_what_the_run_is_about_from_now_on(journal: Journal) -> None:
    journal.create_run(a_run(owner=dead_owner()))
    claimed = journal.claim_run("r", current_owner(), spec=RunSpec('{"new":1}', "d2"))
    assert (claimed.spec, claimed.digest) == ('{"new":1}', "d2")
    assert journal.run("r") == claimed


# Fan-outs


def test_fan_outs_come_in_the_order_of_opening_and_only_those_of_the_run(journal: Journal) -> None:
    others = a_fan_out(fan_out_id(2, 0), run_id="s")
    late, early = a_fan_out(F + 5, opened_at=1.0), a_fan_out(F + 1, opened_at=1.0)
    write(journal, late, others, early)
    assert journal.fan_outs("r") == [late, early]


def test_a_fan_out_that_is_opened_again_runs_again_and_keeps_its_first_time(
    journal: Journal,
) -> None:
    write(journal, a_fan_out(), FanOutEndWrite(F, "halted", 5.0, "{}"))
    assert journal.fan_outs("r") == [a_fan_out(status="halted", ended_at=5.0, stats="{}")]
    write(journal, a_fan_out(cap=9, opened_at=7.0))
    assert journal.fan_outs("r") == [a_fan_out(cap=9, opened_at=1.0)]


# Items


def test_an_item_that_started_and_ended_has_all_that_was_said_of_it(journal: Journal) -> None:
    end = ItemEndWrite(F, "k", 7, "failed", 2.0, 0.1, 0.2, 0.3, "[1]", '{"type": "E"}')
    write(journal, ItemStartWrite(F, "k", 7, 1.0), end)
    assert list(journal.items(F)) == [
        ItemRecord(F, "k", 7, "failed", 1, "[1]", '{"type": "E"}', 1.0, 2.0, 0.1, 0.2, 0.3)
    ]


def test_an_item_that_never_started_can_end(journal: Journal) -> None:
    write(journal, ended("k", status="skipped"))
    (item,) = journal.items(F)
    assert (item.status, item.starts, item.started_at) == ("skipped", 0, None)


def test_starts_are_counted_since_the_last_end_and_forget_the_outcome_before(
    journal: Journal,
) -> None:
    start = ItemStartWrite(F, "k", 0, 1.0)
    write(journal, start, ended("k", value="1", error="{}", queued_s=4.0), start)
    assert list(journal.items(F)) == [ItemRecord(F, "k", 0, "started", starts=1, started_at=1.0)]
    write(journal, start)
    assert list(journal.items(F)) == [ItemRecord(F, "k", 0, "started", starts=2, started_at=1.0)]


def test_items_statuses_and_attempts_can_be_asked_for_by_key(journal: Journal) -> None:
    for index, key in enumerate("cab"):
        write(journal, ItemStartWrite(F, key, index, 1.0), AttemptWrite(F, key, "x", 0, 0, 0))
    write(journal, ended("a", index=1))
    assert list(journal.statuses(F).items()) == [("c", "started"), ("a", "done"), ("b", "started")]
    assert [item.key for item in journal.items(F, ["b", "c", "no"])] == ["c", "b"]
    assert [attempt.key for attempt in journal.attempts(F, ["a"])] == ["a"]
    assert list(journal.items(F, [])) == []


def test_all_that_is_known_of_an_attempt_is_read_back(journal: Journal) -> None:
    known = an_attempt(
        "a", call="m", error="{}", requests=1.0, tokens=30.0, usd=0.5, input_tokens=20,
        output_tokens=10, cached_tokens=5, first_token_s=0.25, lag_s=0.05, in_flight=8,
        worker="node-1/17",
    )  # fmt: skip
    write(journal, ItemStartWrite(F, "a", 0, 1.0), known, an_attempt("a"))
    told, untold = (msgspec.structs.asdict(attempt) for attempt in journal.attempts(F))
    assert told == {"number": 1, **msgspec.structs.asdict(known)}
    assert untold == {"number": 2, **msgspec.structs.asdict(an_attempt("a"))}


def test_calls_are_summed_over_a_run_and_what_is_unknown_is_counted(journal: Journal) -> None:
    other, alien = fan_out_id(1, 2), fan_out_id(2, 1)
    for fan_out, run_id in ((F, "r"), (other, "r"), (alien, "s")):
        write(journal, FanOutRecord(fan_out, run_id, f"#{fan_out}", 1, "never", 1.0))
        write(journal, ItemStartWrite(fan_out, "a", 0, 1.0))
    known: dict[str, object] = {"call": "m", "requests": 1.0, "tokens": 30.0, "usd": 0.5}
    split: dict[str, object] = {"input_tokens": 20, "output_tokens": 10, "cached_tokens": 5}
    write(
        journal,
        an_attempt("a", **known, **split, first_token_s=0.3, lag_s=0.05, in_flight=8),
        an_attempt("a", **known, fan_out=other, first_token_s=0.1, lag_s=0.15, in_flight=3),
        an_attempt("a", call="m", error="{}", fan_out=other, first_token_s=0.2),
        # Late by less than matters, so it is not one of those that were slowed.
        an_attempt("a", **(known | {"usd": None}), lag_s=0.004, in_flight=99),
        an_attempt("a", tokens=1000.0, first_token_s=9.0),
        an_attempt(
            "a", **known, **split, fan_out=alien, first_token_s=9.0, lag_s=0.1, in_flight=99
        ),
    )
    assert journal.call_totals("r") == CallTotals(
        attempts=4, failed=1, tokens=Sum(90, 1), input_tokens=Sum(20, 3),
        output_tokens=Sum(10, 3), cached_tokens=Sum(5, 3), usd=Sum(1.0, 2),
        first_token_p50=0.2, first_token_p95=0.3, slowed=2, lag_s=0.1, in_flight=8,
    )  # fmt: skip
    assert (Sum(1.0, 2).total, Sum(1.0, 0).total) == (None, 1.0)


def test_a_run_without_calls_has_totals_of_nothing(journal: Journal) -> None:
    write(journal, FanOutRecord(F, "r", "#0", 1, "never", 1.0), an_attempt("a"))
    assert journal.call_totals("r") == journal.call_totals("no such run") == CallTotals()


def test_items_come_in_item_order_whatever_their_keys(journal: Journal) -> None:
    write(journal, *(ItemStartWrite(F, f"k{9 - i}", i, 1.0) for i in (10, 2, 0, 100, 1)))
    assert [item.index for item in journal.items(F)] == [0, 1, 2, 10, 100]


def test_items_of_other_fan_outs_are_not_mixed_in(journal: Journal) -> None:
    write(journal, ItemStartWrite(F, "k", 0, 1.0), ItemStartWrite(F + 1, "k", 0, 1.0))
    assert [item.fan_out for item in journal.items(F)] == [F]


# Attempts, events, inputs


def test_attempts_are_numbered_for_each_item_over_all_batches(journal: Journal) -> None:
    write(journal, an_attempt("a", ran_s=1.0), an_attempt("b"), an_attempt("a", call="judge"))
    write(journal, an_attempt("a", error="{}", requests=1, tokens=2, usd=3.0))
    attempts = list(journal.attempts(F))
    assert [(a.key, a.number) for a in attempts] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert attempts[0].ran_s == 1.0
    assert attempts[1].call == "judge"
    third = attempts[2]
    assert (third.error, third.requests, third.tokens, third.usd) == ("{}", 1, 2, 3.0)


def test_attempts_come_in_item_order(journal: Journal) -> None:
    write(journal, ItemStartWrite(F, "z", 0, 1.0), ItemStartWrite(F, "a", 1, 1.0))
    write(journal, an_attempt("a"), an_attempt("z"))
    assert [attempt.key for attempt in journal.attempts(F)] == ["z", "a"]


def test_events_come_in_the_order_of_submission(journal: Journal) -> None:
    events = [EventRecord("r", at, "halt", "{}") for at in (3.0, 1.0, 2.0)]
    write(journal, EventRecord("s", 0.0, "halt", "{}"), *events)
    assert list(journal.events("r")) == events


def test_inputs_are_bytes_and_can_be_read_from_the_middle(journal: Journal) -> None:
    inputs = [InputRecord("r", i, bytes([0, 255, i])) for i in range(5)]
    write(journal, *inputs, InputRecord("s", 0, b""))
    assert list(journal.inputs("r")) == inputs
    assert [journal.input_count(run) for run in ("r", "s", "t")] == [5, 1, 0]
    assert list(journal.inputs("r", start=3)) == inputs[3:]


def test_cleared_inputs_are_gone_and_those_after_them_stay(journal: Journal) -> None:
    write(journal, InputRecord("r", 0, b"a"), InputRecord("r", 1, b"b"), InputRecord("s", 0, b"c"))
    write(journal, InputRecord("r", 2, b"d"), InputsCleared("r"), InputRecord("r", 0, b"x"))
    assert list(journal.inputs("r")) == [InputRecord("r", 0, b"x")]
    assert list(journal.inputs("s")) == [InputRecord("s", 0, b"c")]


# The rules of submit


def test_what_was_acknowledged_can_be_read(journal: Journal) -> None:
    seen: list[int] = []
    told = threading.Event()

    def then(error: BaseException | None) -> None:
        assert error is None
        seen.append(len(list(journal.items(F))))
        told.set()

    journal.submit(ItemStartWrite(F, "k", 0, 1.0), then)
    assert told.wait(60)
    assert seen == [1]


def test_each_write_is_acknowledged_exactly_once_in_order(journal: Journal) -> None:
    told: list[int] = []
    for i in range(2000):
        journal.submit(ItemStartWrite(F, str(i), i, 1.0), lambda _, i=i: told.append(i))  # type: ignore[misc]
    journal.close()
    assert told == list(range(2000))


def test_a_batch_has_the_effect_of_its_writes_and_one_answer(journal: Journal) -> None:
    write(journal, ItemStartWrite(F, "ends", 0, 1.0))
    told: list[BaseException | None] = []
    end = (F, "ends", 0, "done", 2.0, 0.1, 0.2, 0.3, "[1]", None)
    batch = Batch([(F, "starts", 1, 1.5)], [end], [an_attempt("ends"), an_attempt("ends")])  # type: ignore[list-item]
    journal.submit(batch, told.append)
    write(journal, ItemStartWrite(F, "later", 2, 3.0))
    first, second, _ = journal.items(F)
    assert told == [None]
    assert first == ItemRecord(F, "ends", 0, "done", 1, "[1]", None, 1.0, 2.0, 0.1, 0.2, 0.3)
    assert (second.key, second.status, second.started_at) == ("starts", "started", 1.5)
    assert [attempt.number for attempt in journal.attempts(F)] == [1, 2]


def test_writes_from_many_threads_all_arrive(journal: Journal) -> None:
    def submit(thread: int) -> None:
        for i in range(300):
            journal.submit(ItemStartWrite(F, f"{thread}/{i}", i, 1.0))

    threads = [threading.Thread(target=submit, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    write(journal, ItemStartWrite(F, "last", 0, 1.0))
    assert len(list(journal.items(F))) == 1201


def test_a_callback_that_raises_is_logged_and_hurts_nobody_else(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    def then(error: BaseException | None) -> None:
        raise ZeroDivisionError("mine")

    journal.submit(ItemStartWrite(F, "k", 0, 1.0), then)
    write(journal, ended("k"))
    assert "mine" in caplog.text
    assert [item.status for item in journal.items(F)] == ["done"]


def test_a_closed_journal_refuses_and_says_so(journal: Journal) -> None:
    journal.close()
    journal.close()
    with pytest.raises(JournalNotWritable, match="closed"):
        write(journal, ItemStartWrite(F, "k", 0, 1.0))
    with pytest.raises(JournalNotWritable, match="closed"):
        journal.create_run(a_run())


# Cancel requests


def test_a_cancel_request_reaches_whoever_watches_once(journal: Journal) -> None:
    journal.create_run(a_run())
    journal.create_run(a_run("s"))
    calls: list[str] = []
    called = threading.Event()
    journal.watch_cancel("s", lambda: calls.append("s"))

    def on_cancel() -> None:
        calls.append("r")
        called.set()

    journal.watch_cancel("r", on_cancel)
    for n in range(2):  # by the second one it has certainly looked, and seen no request
        write(journal, ItemStartWrite(F, "k", n, 1.0))
    journal.request_cancel("r")
    assert called.wait(60)
    journal.request_cancel("r")
    assert journal.run("r").cancel_requested
    journal.close()
    assert calls == ["r"]


def test_a_watch_that_begins_after_the_request_is_told_too(journal: Journal) -> None:
    journal.create_run(a_run())
    journal.request_cancel("r")
    called = threading.Event()
    journal.watch_cancel("r", called.set)
    assert called.wait(60)


def test_a_watch_that_was_ended_is_not_called(journal: Journal) -> None:
    journal.create_run(a_run())
    called, other = threading.Event(), threading.Event()
    end = journal.watch_cancel("r", called.set)
    end()
    end()
    journal.watch_cancel("r", other.set)
    journal.request_cancel("r")
    assert other.wait(60)
    assert not called.is_set()


def test_a_callback_of_a_watch_that_raises_is_logged(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    def on_cancel() -> None:
        raise ZeroDivisionError("mine")

    journal.create_run(a_run())
    called = threading.Event()
    journal.watch_cancel("r", on_cancel)
    journal.watch_cancel("r", called.set)
    journal.request_cancel("r")
    assert called.wait(60)
    assert "mine" in caplog.text
    write(journal, ItemStartWrite(F, "k", 0, 1.0))


def test_claiming_a_run_forgets_a_cancel_request(journal: Journal) -> None:
    journal.create_run(a_run(owner=dead_owner()))
    journal.request_cancel("r")
    assert not journal.claim_run("r", current_owner()).cancel_requested
    assert not journal.run("r").cancel_requested


# Limits that are asked for


def test_limits_that_are_asked_for_reach_whoever_watches_all_together(journal: Journal) -> None:
    journal.create_run(a_run())
    journal.create_run(a_run("s"))
    told: SimpleQueue[dict[str, int]] = SimpleQueue()
    journal.watch_caps("s", lambda caps: told.put({"wrong run": 1}))
    end = journal.watch_caps("r", told.put)
    journal.request_caps("r", {"openai": 20})
    assert told.get(timeout=60) == {"openai": 20}
    journal.request_caps("r", {"gpu": 2})
    assert told.get(timeout=60) == {"openai": 20, "gpu": 2}
    journal.request_caps("r", {"openai": 4})
    assert told.get(timeout=60) == {"openai": 4, "gpu": 2}
    assert journal.run("r").caps_asked == {"openai": 4, "gpu": 2}
    end()
    later: SimpleQueue[dict[str, int]] = SimpleQueue()
    journal.watch_caps("r", later.put)
    assert later.get(timeout=60) == {"openai": 4, "gpu": 2}, "what was asked before it watched"
    journal.close()
    assert told.empty()


def test_claiming_a_run_forgets_the_limits_that_were_asked_for(journal: Journal) -> None:
    journal.create_run(a_run(owner=dead_owner()))
    journal.request_caps("r", {"openai": 20})
    assert journal.claim_run("r", current_owner()).caps_asked is None
    assert journal.run("r").caps_asked is None


def test_items_are_counted_by_status_for_each_fan_out(journal: Journal) -> None:
    write(journal, ItemStartWrite(1, "a", 0, 1.0), ItemStartWrite(1, "b", 1, 1.0))
    write(journal, ItemEndWrite(1, "a", 0, "done", 2.0, value="1"), ItemStartWrite(2, "a", 0, 1.0))
    assert journal.counts(1) == {"done": 1, "started": 1}
    assert journal.counts(3) == {}
