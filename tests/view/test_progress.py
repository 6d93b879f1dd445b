"""Where a run stands, counted from its events."""

from __future__ import annotations

from fanwise.core.outcome import Outcome
from fanwise.core.stats import Stats
from fanwise.kernel import events
from fanwise.view.progress import Progress


def started(at: float, index: int, *needs: str) -> events.ItemStarted:
    return events.ItemStarted(at=at, path="p", index=index, key=str(index), needs=needs)


def ended(at: float, outcome: Outcome[object]) -> events.ItemEnded:
    return events.ItemEnded(at=at, path="p", outcome=outcome)


def test_items_are_counted_in_flight_by_cap_done_and_failed() -> None:
    progress = Progress()
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=None))
    for index in range(3):
        progress(started(0.0, index, "gpu"))
    progress(ended(1.0, Outcome(0, "done")))
    progress(ended(2.0, Outcome(1, "failed")))
    assert (progress.done, progress.failed, progress.in_flight) == (1, 1, 1)
    assert progress.in_flight_by_cap == {"gpu": 1}
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


def test_what_the_journal_knew_is_done_and_says_nothing_about_the_rate() -> None:
    progress = Progress()
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=None))
    progress(ended(0.1, Outcome(0, "done", recorded=True)))
    assert (progress.done, progress.recorded, progress.rate(1.0)) == (1, 1, None)


def test_items_inside_items_are_not_counted_and_the_permits_that_they_hold_are() -> None:
    progress = Progress(total=2)
    progress(events.FanOutStarted(at=0.0, path="p", cap=4, total=2))
    progress(started(0.0, 0))
    progress(events.FanOutStarted(at=0.0, path="p/0/#0", cap=9, total=3))
    progress(events.ItemStarted(at=0.0, path="p/0/#0", index=0, key="0", needs=("gpu",)))
    assert (progress.in_flight, progress.cap, progress.in_flight_by_cap) == (1, 4, {"gpu": 1})
    progress(events.ItemEnded(at=1.0, path="p/0/#0", outcome=Outcome(0, "done")))
    assert (progress.done, progress.in_flight, progress.total) == (0, 1, 2)
    assert progress.in_flight_by_cap == {"gpu": 0}
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
