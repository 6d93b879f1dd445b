"""`call`: one bounded call inside an item, such as a request to a model.

It waits for its caps and rates without holding anything else, reserves its budget before it spends
it, frees its permits while it backs off, and is recorded as attempts of the item.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from random import random
from typing import Any, TypedDict, TypeVar, Unpack, overload

from fanwise.core.budget import Budgets, Claim, Reservation
from fanwise.core.caps import Needs, parse_needs
from fanwise.core.ledger import Ledger
from fanwise.core.outcome import Attempt, Usage
from fanwise.core.retry import Retry, RetryLike, as_retry
from fanwise.core.tickets import ResolvedNeeds, Ticket
from fanwise.errors import BadPredicate, RateLimited, UsageError
from fanwise.kernel import events, meter
from fanwise.kernel.dispatch import PermitWaiter, dispatcher_of
from fanwise.kernel.home import AwayCall, CallEnd, CallRequest, home
from fanwise.kernel.loop_lag import loop_lag
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.recorder import new_reservation_id
from fanwise.kernel.scope import current
from fanwise.kernel.sent_calls import sent_to_workers
from fanwise.kernel.threads import Threads
from fanwise.kernel.work import Attempter, call_attempter

T = TypeVar("T")
_around: ContextVar[tuple[Claim, ...]] = ContextVar("fanwise_claims", default=())
"""The reservations of the calls that this code runs in."""
UsageOf = Callable[[Any], Usage | None]


class CallOptions(TypedDict, total=False):
    """The keyword arguments of `call`, where they are explained."""

    needs: Needs
    retry: RetryLike
    timeout: float | None
    estimate: Usage | None
    usage: UsageOf | None
    name: str | None
    travels: bool


@overload
async def call(
    work: Callable[..., Awaitable[T]], *args: Any, **options: Unpack[CallOptions]
) -> T: ...
@overload
async def call(work: Callable[..., T], *args: Any, **options: Unpack[CallOptions]) -> T: ...
async def call(
    work: Callable[..., Any],
    *args: Any,
    needs: Needs = None,
    retry: RetryLike = Retry.none(),  # noqa: B008
    timeout: float | None = None,
    estimate: Usage | None = None,
    usage: UsageOf | None = None,
    name: str | None = None,
    travels: bool = False,
) -> Any:
    """Call `work(*args)` as soon as its caps, rates and budget allow.

    `estimate`: the most that an attempt may cost. It is reserved before the attempt and replaced
    after it by what `usage` returns for the value, or for the error, as a failed attempt may cost
    something too. Without `usage` the estimate counts. If `usage` returns None, the cost is
    unknown: the budget counts the estimate, and the attempt is recorded without a usage. What the
    work reports while it runs (`fanwise.kernel.meter`) is known even if the attempt is cancelled.
    `name`: the name under which its attempts are recorded. `travels`: in a run with workers (`on`),
    they make the attempts: the work and its arguments are sent there.
    """
    item = current.get()
    driver = home.get()
    if estimate is not None and not isinstance(estimate, Usage):
        raise UsageError(f"estimate is {estimate!r}", "Give Usage(tokens=…, usd=…)")
    retry = as_retry(retry)
    name = name or str(getattr(work, "__name__", "call"))
    leaf: _Leaf | AwayCall
    if driver is None:
        leaf = _Leaf(item, needs, estimate, usage, name)
    else:
        leaf = AwayCall(driver, needs, estimate, usage, name)
    threads = item.fan_out.threads if item is not None else Threads("fanwise-call")
    attempt = await sent_to_workers(work, args, timeout) if travels else None
    attempt = attempt or call_attempter(work, args, threads, timeout)
    try:
        return await leaf.perform(attempt, retry)
    finally:
        if item is None:
            threads.close()


class _Wait:
    """A wait for permits or for the budget."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def over(self) -> None:
        if not self.future.done():
            self.future.set_result(None)

    def again(self) -> None:
        self.future = asyncio.get_running_loop().create_future()


class _Permits(PermitWaiter):
    """The permits of one attempt."""

    __slots__ = ("wait",)

    def __init__(self, ledger: Ledger, needs: ResolvedNeeds, tokens: float) -> None:
        super().__init__(ledger.calls, needs, ledger.next_order(), tokens)
        self.wait: _Wait | None = None

    def granted(self) -> None:
        assert self.wait is not None
        self.wait.over()


async def _outcome_of(attempt: Attempter, reading: meter.Meter) -> tuple[Any, BaseException | None]:
    with meter.running(reading):
        try:
            return await attempt(None), None
        except BaseException as error:
            return None, error


class _Leaf:
    """One call: its permits, its budget, its record."""

    def __init__(
        self,
        item: OpenItem[Any, Any] | None,
        needs: Needs,
        estimate: Usage | None,
        usage: UsageOf | None,
        name: str,
    ) -> None:
        self._item = item
        self._estimate = estimate
        self._usage = usage
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._lag = loop_lag(self._loop)
        self._budgets = item.fan_out.budgets if item is not None else Budgets()
        self._ledger = item.fan_out.ledger if item is not None else Ledger()
        self._dispatcher = dispatcher_of(self._ledger)
        index = item.index if item is not None else 0
        wanted = parse_needs(needs, self._ledger.resources, index)
        self._ledger.check_nesting(wanted, item.held if item is not None else ())
        self._needs = self._ledger.resolve(wanted)
        self._caps = tuple(wanted)
        self._made = 0

    async def perform(self, attempt: Attempter, retry: Retry) -> Any:
        """Make attempts until one succeeds or there are no more retries."""
        if self._item is not None and self._item.engine.ordered:
            with self._parked():
                await asyncio.sleep(0)  # the item ends here, unless another of its calls succeeded
        backoff_s = 0.0
        while True:
            value, error = await self._once(attempt, backoff_s)
            if error is None:
                return value
            if not retry.wants(error, self._made):
                raise error
            began = self._loop.time()
            with self._parked():
                await asyncio.sleep(retry.delay(error, self._made, random()))
            backoff_s = self._loop.time() - began

    async def serve(self, attempt: Attempter, request: CallRequest) -> None:
        """One attempt of a call that is made elsewhere, where its error is raised."""
        self._made = request.made
        await self._once(attempt, request.backoff_s)

    async def _once(self, attempt: Attempter, backoff_s: float) -> tuple[Any, Exception | None]:
        asked = self._loop.time()
        ticket, reservation = await self._permits_and_budget()
        reservation_id = "" if reservation is None else new_reservation_id()
        spent: Usage | None = None
        problem: BadPredicate | None = None
        attempted = False
        reading = meter.Meter(self._loop.time)
        lag_s, in_flight = self._lag.began(), self._lag.in_flight
        try:
            await self._record_before(reservation_id, reservation)
            reading = meter.Meter(self._loop.time)
            attempted = True
            value, error = await self._attempt(attempt, reading, reservation)
            spent, problem = self._spent(value if error is None else error, reading.usage)
        except BaseException as caught:  # before the attempt, so nothing was spent
            value, error = None, caught
        ran_s = whole_s = reading.since()
        in_flight = max(in_flight, self._lag.in_flight)
        lag_s = min(ran_s, lag_s + self._lag.ended())
        worker: str | None = None
        if reading.elsewhere is not None:
            worker, ran_s, lag_s, in_flight = reading.elsewhere
        self._give_back(ticket, error, ran_s, spent)
        self._made += 1
        self._record(
            Attempt(
                reading.began - asked + whole_s - ran_s, ran_s, backoff_s, error, self._name, spent,
                reading.first_token_s, self._caps, lag_s, in_flight if lag_s else 0, worker,
            )
        )  # fmt: skip
        if reservation is not None:
            # An unknown cost counts as the estimate, now and after a resume: the record stays.
            unknown = attempted and spent is None
            self._settle(reservation, reservation.amount if unknown else spent)
            if not unknown:
                self._record_settled(reservation_id)
        if problem is not None:
            raise problem
        if error is not None and not isinstance(error, Exception):
            raise error
        return value, error

    async def _permits_and_budget(self) -> tuple[Ticket, Claim | None]:
        """Get both at once: while it waits for one of them it does not hold the other."""
        if not self._budgets:
            return await self._permits(), None
        wait = _Wait()
        reservation = self._budgets.reservation(self._estimate or Usage(), wait, _around.get())
        try:
            while (ticket := await self._permits_if_affordable(reservation)) is None:
                with self._parked():
                    await wait.future
                wait.again()
        except BaseException:
            # Others may use what it was offered and did not take.
            self._settle(reservation, None)
            raise
        return ticket, reservation

    async def _permits_if_affordable(self, reservation: Claim) -> Ticket | None:
        ticket = await self._permits()
        try:
            if reservation.reserve():
                return ticket
        except BaseException:
            self._hand_back(ticket)
            raise
        self._hand_back(ticket)
        self._wake(reservation.passed_on())
        return None

    async def _attempt(
        self, attempt: Attempter, reading: meter.Meter, reservation: Claim | None
    ) -> tuple[Any, BaseException | None]:
        if self._item is None:
            return await _outcome_of(attempt, reading)
        open_item = self._item
        open_item.calling += 1
        token = None if reservation is None else _around.set((*_around.get(), reservation))
        try:
            return await _outcome_of(attempt, reading)
        finally:
            open_item.calling -= 1
            if token is not None:
                _around.reset(token)

    @contextmanager
    def _parked(self) -> Iterator[None]:
        """It waits and holds nothing, so a halt may end its item here."""
        if self._item is None:
            yield
            return
        open_item = self._item
        open_item.parked += 1
        open_item.engine.parked(open_item)
        try:
            yield
        finally:
            open_item.parked -= 1

    def _hand_back(self, ticket: Ticket) -> None:
        self._ledger.hand_back(ticket, self._loop.time())
        self._dispatcher.pump()

    # -- budget ---------------------------------------------------------------------------------

    def _settle(self, reservation: Claim, spent: Usage | None) -> None:
        self._wake(reservation.settle(spent))

    def _wake(self, worth_a_try: list[Reservation]) -> None:
        for each in worth_a_try:
            each.wake()

    def _spent(self, result: Any, told: Usage | None) -> tuple[Usage | None, BadPredicate | None]:
        """What it cost: what `usage` returns, else what the work reported, else the estimate."""
        if self._usage is None:
            nothing_said = self._estimate or (Usage() if self._budgets else None)
            return told or nothing_said, None
        try:
            found = self._usage(result)
        except Exception as error:
            problem = BadPredicate("usage", self._made + 1, "raised", "attempt")
            problem.__cause__ = error
            return self._estimate, problem
        if found is None or isinstance(found, Usage):
            return found or told, None
        wrong = f"gave {type(found).__name__}, not a Usage or None,"
        return self._estimate, BadPredicate("usage", self._made + 1, wrong, "attempt")

    async def _record_before(self, reservation_id: str, reservation: Claim | None) -> None:
        """Record what may be spent before it is spent, so that a kill does not make it free."""
        if self._item is not None and (recorder := self._item.engine.recorder):
            amount = None if reservation is None else reservation.amount
            await recorder.before_call(self._item, reservation_id, amount)

    def _record_settled(self, reservation_id: str) -> None:
        if self._item is not None and (recorder := self._item.engine.recorder):
            recorder.settle(reservation_id)

    # -- permits --------------------------------------------------------------------------------

    async def _permits(self) -> Ticket:
        tokens = self._estimate.tokens if self._estimate is not None else 0.0
        ticket = _Permits(self._ledger, self._needs, tokens)
        if self._ledger.request(ticket, self._loop.time()):
            return ticket
        ticket.wait = _Wait()
        self._dispatcher.pump()  # it may be waiting for a rate only
        try:
            with self._parked():
                await ticket.wait.future
        except asyncio.CancelledError:
            if ticket.state == "held":
                self._ledger.release(ticket, 0.0)
            self._ledger.withdraw(ticket)
            self._dispatcher.pump()
            raise
        return ticket

    def _give_back(
        self, ticket: Ticket, error: BaseException | None, ran_s: float, spent: Usage | None
    ) -> None:
        now = self._loop.time()
        if isinstance(error, RateLimited):
            self._ledger.refused(ticket, error.retry_after, now)
        elif error is None:
            self._ledger.accepted(ticket, now)
        if spent is not None:
            self._ledger.settle(ticket, spent.tokens, now, whole=error is None)
        if self._item is not None:
            self._item.fan_out.worked(ticket, ran_s)
        self._ledger.release(ticket, ran_s)
        if self._ledger.moves and self._item is not None:
            self._item.fan_out.report_moves()
        self._dispatcher.pump()

    # -- record ---------------------------------------------------------------------------------

    def _record(self, attempt: Attempt) -> None:
        if self._item is None:
            return
        fan_out, open_item = self._item.fan_out, self._item
        open_item.calls = (*open_item.calls, attempt)
        if open_item.engine.recorder is not None:
            open_item.engine.recorder.attempted(open_item.key, attempt)
        subscribers = fan_out.subscribers
        if subscribers or subscribers.of_calls:
            ended = events.AttemptEnded(
                at=self._loop.time(),
                path=fan_out.path,
                index=open_item.index,
                key=open_item.key,
                number=self._made,
                attempt=attempt,
            )
            subscribers.emit(ended)
            for told in subscribers.of_calls:
                told(ended)


async def serve_call(
    item: OpenItem[Any, Any],
    request: CallRequest,
    worker: str,
    grant: Callable[[], Awaitable[CallEnd]],
) -> None:
    """The driver's side of a call inside an item on a worker: one attempt, made there.

    `grant` tells the worker that it may begin, and waits for the end.
    """
    ends: list[CallEnd] = []

    async def attempt(_: None) -> None:
        end = await grant()
        ends.append(end)
        meter.made_elsewhere(meter.Elsewhere(worker, end.ran_s, 0.0, 0))
        if end.first_token_s is not None:
            meter.first_token(end.first_token_s)
        if end.told is not None:
            meter.spent(end.told)
        if end.error is not None:
            raise end.error

    def judged(_: Any) -> Usage | None:
        return ends[0].usage if ends else None

    usage = judged if request.judged else None
    leaf = _Leaf(item, request.needs, request.estimate, usage, request.name)
    await leaf.serve(attempt, request)
