"""Inside an item that a worker performs: the way back to its driver.

The driver has the caps, rates, budgets and the journal. So a `call` asks it for permits, makes its
attempt here, and reports its end; a fan-out is run by the driver, which sends its attempts to this
worker. Both are as bounded, paid for and recorded as they would be in one process. Asking takes a
round trip; what is asked in one turn of the loop travels together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from random import random
from typing import Any, NamedTuple, Protocol

from fanwise.core.caps import Needs
from fanwise.core.outcome import Outcomes, Usage
from fanwise.core.retry import Retry
from fanwise.errors import BadPredicate, UsageError
from fanwise.kernel import meter
from fanwise.kernel.work import Attempter


class CallRequest(NamedTuple):
    """What one attempt of a call needs before it may begin."""

    needs: Needs
    estimate: Usage | None
    name: str
    backoff_s: float
    made: int
    """Attempts of this call that were made before."""
    judged: bool
    """Whether the call was given a function that knows the usage."""


class CallEnd(NamedTuple):
    """How an attempt of a call ended."""

    error: BaseException | None
    told: Usage | None
    """What the work reported while it ran."""
    usage: Usage | None
    """What the call's own function says of the usage."""
    first_token_s: float | None
    ran_s: float


class DriverHome(Protocol):
    """The driver, as an item on a worker reaches it."""

    async def permit(self, request: CallRequest) -> Callable[[CallEnd], None]:
        """Wait for permits and budget; the function that is returned takes the end."""

    async def fan_out(self, work: Any, items: Any, options: dict[str, Any]) -> Outcomes[Any]:
        """Let the driver run a fan-out whose attempts are made here."""

    async def fetch(self, name: str) -> bytes:
        """The content of a parcel that the driver keeps (`parcels.py`)."""


home: ContextVar[DriverHome | None] = ContextVar("fanwise_home", default=None)
"""Set in the items that a worker performs."""


def refuse_away(what: str) -> None:
    """Raise where something works only in the driver's own process."""
    if home.get() is not None:
        raise UsageError(f"{what} cannot be used inside an item on a worker", "Use `fan_out`")


class AwayCall:
    """A `call` inside an item on a worker."""

    def __init__(
        self,
        driver: DriverHome,
        needs: Needs,
        estimate: Usage | None,
        usage: Callable[[Any], Usage | None] | None,
        name: str,
    ) -> None:
        self._driver = driver
        self._needs = needs
        self._estimate = estimate
        self._usage = usage
        self._name = name
        self._made = 0

    async def perform(self, attempt: Attempter, retry: Retry) -> Any:
        """Make attempts until one succeeds or there are no more retries."""
        loop = asyncio.get_running_loop()
        backoff_s = 0.0
        while True:
            value, error = await self._once(attempt, backoff_s)
            if error is None:
                return value
            if not retry.wants(error, self._made):
                raise error
            began = loop.time()
            await asyncio.sleep(retry.delay(error, self._made, random()))
            backoff_s = loop.time() - began

    async def _once(self, attempt: Attempter, backoff_s: float) -> tuple[Any, Exception | None]:
        judged = self._usage is not None
        request = CallRequest(
            self._needs, self._estimate, self._name, backoff_s, self._made, judged
        )
        ended = await self._driver.permit(request)
        self._made += 1
        reading = meter.Meter(asyncio.get_running_loop().time)
        value: Any = None
        error: BaseException | None = None
        with meter.running(reading):
            try:
                value = await attempt(None)
            except BaseException as caught:
                error = caught
        usage, problem = self._judge(value if error is None else error)
        ended(
            CallEnd(
                error, reading.usage, usage, reading.first_token_s, reading.since(),
            )
        )  # fmt: skip
        if problem is not None:
            raise problem
        if error is not None and not isinstance(error, Exception):
            raise error
        return value, error

    def _judge(self, result: Any) -> tuple[Usage | None, BadPredicate | None]:
        if self._usage is None:
            return None, None
        try:
            return self._usage(result), None
        except Exception as error:
            problem = BadPredicate("usage", self._made, "raised", "attempt")
            problem.__cause__ = error
            return self._estimate, problem
