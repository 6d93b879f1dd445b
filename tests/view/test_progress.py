"""Where a run stands, counted from its events."""

from __future__ import annotations

from fanwise.core.outcome import Outcome
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
