"""Where a run stands, counted from its events, and what the live line says of it."""

from __future__ import annotations

import asyncio

from fanwise import Caps, call, fan_out, open_run
from fanwise.cli.progress_line import progress_pieces
from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.core.stats import Stats
from fanwise.kernel import events
from fanwise.testing import virtual_time
from fanwise.view.progress import Progress


def started(at: float, index: int, *needs: str) -> events.ItemStarted:
    return events.ItemStarted(at=at, path="p", index=index, key=str(index), needs=needs)


def ended(at: float, outcome: Outcome[object]) -> events.ItemEnded:
    return events.ItemEnded(at=at, path="p", outcome=outcome)


def test_items_are_counted_in_flight_done_and_failed() -> None:
    progress = Progress()
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=None))
    for index in range(3):
        progress(started(0.0, index, "gpu"))
    progress(ended(1.0, Outcome(0, "done")))
    progress(ended(2.0, Outcome(1, "failed")))
    assert (progress.done, progress.failed, progress.in_flight) == (1, 1, 1)
    assert progress.cap == 4


def test_the_time_left_follows_the_rate_and_needs_the_total() -> None:
    progress = Progress()
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=None))
    assert progress.rate(1.0) is None
    progress(ended(1.0, Outcome(0, "done")))
    progress(ended(2.0, Outcome(1, "done")))
    assert progress.rate(2.0) == 1.0
    assert progress.seconds_left(2.0) is None
    progress.total = 12
    assert progress.seconds_left(2.0) == 10.0
    progress(events.Halted(at=2.0, path="p/0/#0", index=None, reason="enough"))
    assert progress.seconds_left(2.0) == 10.0, "a fan-out inside an item"
    progress(events.Halted(at=2.0, path="p", index=None, reason="Ctrl-C"))
    assert progress.seconds_left(2.0) is None, "only what is in flight goes on"


def test_what_the_journal_knew_is_done_and_says_nothing_about_the_rate() -> None:
    progress = Progress()
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=None))
    progress(ended(0.1, Outcome(0, "done", recorded=True)))
    assert (progress.done, progress.recorded, progress.rate(1.0)) == (1, 1, None)


def test_items_inside_items_are_not_counted() -> None:
    progress = Progress(total=2)
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=2))
    progress(started(0.0, 0))
    progress(events.FanOutStarted(at=0.0, path="p/0/#0", cap=9, total=3))
    progress(events.ItemStarted(at=0.0, path="p/0/#0", index=0, key="0", needs=("gpu",)))
    assert (progress.in_flight, progress.cap) == (1, 4)
    progress(events.ItemEnded(at=1.0, path="p/0/#0", outcome=Outcome(0, "done")))
    assert (progress.done, progress.in_flight, progress.total) == (0, 1, 2)
    progress(ended(2.0, Outcome(0, "done")))
    assert (progress.done, progress.in_flight) == (1, 0)


def test_the_cap_is_that_of_the_fan_outs_that_go_on() -> None:
    progress = Progress()
    stats = Stats()
    for path in ("first", "second"):
        progress(events.FanOutStarted(at=0.0, path=path, cap=4, total=None))
        progress(events.FanOutEnded(at=1.0, path=path, stats=stats))
    progress(events.FanOutStarted(at=2.0, path="third", cap=3, total=None))
    assert progress.cap == 3


def counted(at: float, done: int, *, path: str = "p", recorded: bool = False) -> events.Counted:
    counts = Counts("cell", done, 1, 1620)
    return events.Counted(at=at, path=path, counts=counts, recorded=recorded)


def test_a_system_is_counted_in_the_unit_of_its_user() -> None:
    progress = Progress(total=3240)
    progress(events.FanOutStarted(at=0.0, path="p", cap=164, total=None))
    progress(counted(0.0, 9, recorded=True))
    progress(started(0.0, 0))
    progress(ended(1.0, Outcome(0, "done")))
    progress(counted(2.0, 11))
    progress(counted(2.0, 500, path="p/0/inner"))
    assert (progress.unit, progress.done, progress.failed, progress.total) == ("cell", 11, 1, 1620)
    assert (progress.recorded, progress.rate(2.0)) == (10, 1.0)
    assert progress.cap is None, "its own bounds are nothing to the user"


@virtual_time
async def test_permits_in_use_are_those_of_calls_not_of_items_that_wait() -> None:
    caps = Caps(local=1, idle=3)
    progress = Progress(caps=caps)
    seen: list[object] = []

    async def leaf() -> None:
        await asyncio.sleep(1)
        seen.append((progress.in_use, progress.in_flight))

    async def item(_: int) -> None:
        await call(leaf, needs="local")

    async with open_run(journal=":memory:", caps=caps, subscribers=[progress]) as run:
        await fan_out(item, range(18), cap=18, run=run)
    assert seen[0] == ({"local": (1, 1)}, 18)


LINE = (
    "r-12  ━━━━━━━━━━━━━━━━━━━━  412 of 1,620 cells done  3 failed  local 1 of 1  2.0/s  10:02 left"
)


LEAST_FIRST = ["2.0/s", "━" * 20, "r-12", "local 1 of 1", "10:02 left", "3 failed"]


def test_a_narrow_terminal_loses_the_least_important_part_first() -> None:
    caps = Caps(local=1)
    caps.ledger.resources["local"].in_use = 1
    progress = Progress(caps=caps)
    progress(events.FanOutStarted(at=0.0, path="p", cap=164, total=None))
    progress(events.Counted(at=0.0, path="p", counts=Counts("cell", 411, 2, 1620), recorded=True))
    progress(events.Counted(at=1.0, path="p", counts=Counts("cell", 412, 3, 1620)))
    expected, narrower = LINE, 200
    for gone in ["", *LEAST_FIRST]:
        expected = "  ".join(part for part in expected.split("  ") if part != gone)
        widths, narrower = (narrower, len(expected)), len(expected) - 1
        for width in widths:
            pieces = progress_pieces(progress, "r-12", 1.0, width)
            assert "".join(words for words, _ in pieces) == expected


def test_what_ended_in_another_unit_says_nothing_of_the_time_left() -> None:
    """A system first does something else, in fan-outs of its own, and then counts candidates."""
    progress = Progress()
    for at in (0.0, 1.0):
        progress(events.FanOutStarted(at=at, path=f"before-{at}", cap=1, total=1))
    progress(events.Counted(at=2.0, path="p", counts=Counts("candidate", 0, 0, 2)))
    assert (progress.rate(9.0), progress.seconds_left(9.0)) == (None, None)
    progress(events.Counted(at=10.0, path="p", counts=Counts("candidate", 1, 0, 2)))
    assert progress.seconds_left(10.0) == 8.0
    progress.estimates = False
    assert progress.seconds_left(10.0) is None, "the drawing above it knows better"


def test_the_line_counts_the_workers_that_are_there() -> None:
    progress = Progress()

    def said() -> str:
        return "".join(text for text, _ in progress_pieces(progress, "r", 1.0, 200))

    assert "worker" not in said()
    for name in ("a/1", "a/2", "b/1"):
        progress(events.WorkerJoined(at=0.0, worker=name))
    assert "on 3 workers" in said()
    progress(events.WorkerGone(at=0.0, worker="a/2", reason="killed", keys=()))
    progress(events.NodeGone(at=0.0, node="b", reason="silent"))
    progress(events.WorkerGone(at=0.0, worker="b/1", reason="silent", keys=("3",)))
    assert "on 1 worker " in said() + " "
