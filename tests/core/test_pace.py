"""The pace of an adaptive cap: what a server allows in a second, learned from its refusals."""

from __future__ import annotations

import heapq
import math
from collections import deque
from itertools import count
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Adaptive, Caps
from fanwise.core.ledger import Ledger
from fanwise.core.rate import Pace
from fanwise.core.tickets import Ticket
from tests.profiles import examples

RTT_S = 0.004


def learned(let: int, retry_after: float, *, refused_at: float = 0.0) -> Pace:
    """A pace after so many were let through at 0, and one more was refused."""
    pace = Pace()
    for number in range(let + 1):
        pace.sent(0.0, idle=number == 0)
    pace.refused(0.0, retry_after, refused_at)
    return pace


def test_the_rate_is_what_was_let_through_up_to_when_it_may_go_on() -> None:
    assert Pace().rate == math.inf
    assert learned(5, 1.0).rate == 5
    assert learned(5, 0.5, refused_at=0.5).rate == 5
    assert learned(1, 0.2).rate == 5


def test_where_nothing_was_let_through_one_goes_in_the_time_that_was_asked_for() -> None:
    assert learned(0, 4.0).rate == 0.25


def test_refusals_of_one_storm_correct_the_count_and_cut_once() -> None:
    pace = Pace()
    for _ in range(8):
        pace.sent(0.0, idle=False)
    for refused_at in (0.01, 0.02, 0.03):
        pace.refused(0.0, 1.0, refused_at)
    assert pace.rate == pytest.approx(5 / 1.01)
    pace.sent(1.1, idle=False)
    pace.refused(1.1, 1.0, 1.2)  # another one: it had gone out after the wait
    assert pace.rate < 5 / 1.01


def test_time_in_which_nobody_wanted_anything_does_not_count() -> None:
    pace = Pace()
    pace.sent(0.0, idle=True)
    for number in range(6):
        pace.sent(3_600.0, idle=number == 0)
    pace.refused(3_600.0, 1.0, 3_600.0)
    assert pace.rate == 5


def test_it_grows_by_larger_steps_while_others_wait_and_starts_again_after_a_refusal() -> None:
    pace = learned(10, 1.0)
    for _ in range(100):
        pace.accepted(1.0, busy=False)
    assert pace.rate == 10
    rates = []
    for _ in range(3):
        for _ in range(20):
            pace.accepted(1.0, busy=True)
        rates.append(pace.rate)
    assert rates == pytest.approx([11, 13.2, 18.48])
    pace.sent(2.0, idle=False)
    pace.refused(2.0, 1.0, 2.0)
    before = pace.rate
    for _ in range(20):
        pace.accepted(4.0, busy=True)
    assert pace.rate == pytest.approx(1.1 * before)


def test_a_refusal_without_a_time_teaches_no_pace() -> None:
    caps = Caps(m=Adaptive(4))
    (first,) = tickets(caps.ledger, 1)
    caps.ledger.request(first, 0.0)
    caps.ledger.refused(first, None, 0.0)
    caps.ledger.release(first, 0.0)
    assert caps.current == {"m": 2}
    pair = tickets(caps.ledger, 2)
    assert [caps.ledger.request(each, 0.0) for each in pair] == [True, True]


def test_a_permit_that_was_handed_back_was_not_let_through() -> None:
    caps = Caps(m=Adaptive(8))
    pace = caps.ledger.resources["m"].pace
    assert pace is not None
    several = tickets(caps.ledger, 6)
    for each in several:
        caps.ledger.request(each, 0.0)
    for each in several[:3]:
        caps.ledger.hand_back(each, 0.0)
    caps.ledger.refused(several[-1], 1.0, 0.0)
    assert pace.rate == 2


# -- against servers -----------------------------------------------------------------------------


class Server:
    """Allows `rate` requests in a second, in one of three ways, and says how long to wait."""

    def __init__(self, kind: str, rate: int, burst: int, *, whole: bool) -> None:
        self.kind = kind
        self.rate = rate
        self.burst = burst
        self.whole = whole
        self.level = float(burst)
        self.at = 0.0
        self.window: deque[float] = deque()

    def asks_to_wait(self, now: float) -> float | None:
        wait = self._bucket(now) if self.kind == "bucket" else self._window(now)
        if wait is None:
            return None
        return float(math.ceil(wait)) if self.whole else wait

    def _bucket(self, now: float) -> float | None:
        self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level >= 1 - 1e-9:
            self.level -= 1
            return None
        return (1 - self.level) / self.rate

    def _window(self, now: float) -> float | None:
        """The last second, or that of the clock."""
        began = now - 1 if self.kind == "sliding" else math.floor(now)
        while self.window and self.window[0] < began + 1e-9 * (self.kind == "sliding"):
            self.window.popleft()
        if len(self.window) < self.rate:
            self.window.append(now)
            return None
        return (self.window[0] if self.kind == "sliding" else began) + 1 - now


def tickets(ledger: Ledger, number: int) -> list[Ticket]:
    needs = ledger.resolve({"m": 1})
    return [Ticket(ledger.calls, needs, ledger.next_order()) for _ in range(number)]


def played(server: Server, wanted: int, latency: float) -> list[tuple[float, bool]]:
    """All that were sent: when, and whether they were let through. Who is refused comes again."""
    ledger = Caps(m=Adaptive(8)).ledger
    log: list[tuple[float, bool]] = []
    ends: list[tuple[float, int, Literal["ok", "refused", "again"], Ticket | None, float]] = []
    number = count()

    def send(ticket: Ticket, now: float) -> None:
        wait = server.asks_to_wait(now)
        log.append((now, wait is None))
        if wait is None:
            heapq.heappush(ends, (now + latency, next(number), "ok", ticket, 0.0))
        else:
            heapq.heappush(ends, (now + RTT_S, next(number), "refused", ticket, wait))

    def ask(now: float) -> None:
        (ticket,) = tickets(ledger, 1)
        if ledger.request(ticket, now):
            send(ticket, now)

    now = 0.0
    for _ in range(wanted):
        ask(now)
    while sum(ok for _, ok in log) < wanted:
        wakes = ledger.wake_at(now)
        now = min(ends[0][0] if ends else math.inf, math.inf if wakes is None else wakes)
        assert now < math.inf, "nobody waits for anything, and not all were let through"
        while ends and ends[0][0] <= now:
            _, _, what, ticket, wait = heapq.heappop(ends)
            if ticket is None:
                ask(now)
                continue
            if what == "ok":
                ledger.accepted(ticket, now)
            else:
                ledger.refused(ticket, wait, now)
                heapq.heappush(ends, (now + wait, next(number), "again", None, 0.0))
            ledger.release(ticket, latency)
        for ticket in ledger.grants(now):
            send(ticket, now)
    return log


servers = st.builds(
    Server,
    st.sampled_from(["bucket", "sliding", "fixed"]),
    st.integers(1, 40),
    st.integers(1, 20),
    whole=st.booleans(),
)


@examples(1)
@given(servers, st.sampled_from([0.01, 0.2, 1.0, 3.0]))
def test_few_are_refused_by_any_server_that_limits_a_rate(server: Server, latency: float) -> None:
    log = played(server, 300, latency)
    late = [ok for at, ok in log if at > 10]
    assert late.count(False) <= 2 + 0.1 * len(late)
    assert len(log) <= 1.25 * 300


@examples(1)
@given(servers)
def test_the_rate_of_a_server_that_says_exactly_how_long_is_used(server: Server) -> None:
    server.whole = False
    log = played(server, 300, latency=0.01)
    assert log[-1][0] <= 10 + 2 * 300 / server.rate
