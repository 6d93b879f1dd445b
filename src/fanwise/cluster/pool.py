"""The workers of one driver: who performs which attempt, and what happens when one dies.

Workers are equal: an attempt goes to the one that has the fewest. A worker is lost when Ray says
so (milliseconds after `kill -9`), or when it is silent for `SILENT_S`: Ray itself takes up to a
minute to see that a machine is gone. It is fenced first: whatever it says later is not heard. Then
its attempts are given to others. They did not fail, but may have run twice.

An attempt whose workers were lost twice gets a worker of its own. So if the third dies too, it
died of this attempt and not of another one that it happened to share the worker with.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from fanwise.cluster.link import AttemptEnd, AttemptStart, Link, WorkerInfo
from fanwise.cluster.nodes import Nodes
from fanwise.cluster.shipping import pack, pack_work, unpack, unpack_error
from fanwise.errors import ClusterError, WorkerLost
from fanwise.kernel import meter
from fanwise.kernel.open_item import Elsewhere, OpenItem
from fanwise.kernel.patient_future import PatientFuture
from fanwise.kernel.scope import current
from fanwise.kernel.work import Attempter, check_work

LOOK_S = 0.2
SILENT_S = 1.5
"""Five beats of a worker."""
LOST_AT_MOST = 3
READY_S = 60.0
SOON_S = 5.0
"""A fan-out waits so long for more workers than the first, so that they share its first items."""


_numbers = itertools.count()
"""Of attempts: a worker may be used by one pool after the other."""


class RemoteAttempt(PatientFuture[None]):
    """One attempt that a worker performs; a cancellation travels there, and its end back."""

    def __init__(
        self, pool: WorkerPool, number: int, work: tuple[bytes, bytes], item: bytes, timed_by: Any
    ) -> None:
        super().__init__(loop=pool.loop)
        self._pool = pool
        self.number = number
        self.work = work
        self.item = item
        self.of: OpenItem[Any, Any] | None = timed_by
        self.link: Link | None = None
        self.lost: tuple[str, ...] = ()
        """The workers that died with it."""
        self.interruption: asyncio.CancelledError | None = None
        self.end: AttemptEnd | None = None
        self.error: BaseException | None = None

    def interrupted(self, error: asyncio.CancelledError) -> None:
        self.interruption = error
        self._pool.cancel(self)

    def over(self, end: AttemptEnd | None, error: BaseException | None = None) -> None:
        self.end, self.error = end, error
        if not self.done():
            self.set_result(None)

    def outcome(self) -> Any:
        """The value, or the error that is raised."""
        end, error = self.end, self.error
        self.end = self.error = self.of = None  # an error's traceback will hold this
        if end is None:
            raise error or self.interruption or asyncio.CancelledError
        if end.error is not None:
            found = unpack_error(end.error)
            if self.interruption is None:
                raise found
            cause = found.__cause__ if isinstance(found, asyncio.CancelledError) else found
            raise self.interruption from cause
        assert end.value is not None
        return unpack(end.value, "the value")


class WorkerPool:
    """All workers, on one event loop. Made by `Ray`."""

    def __init__(
        self, nodes: Nodes, loop: asyncio.AbstractEventLoop, links: Iterable[Link] = ()
    ) -> None:
        self.loop = loop
        self.nodes = nodes
        self._attempts: dict[int, RemoteAttempt] = {}
        self._links: list[Link] = [*links]
        self._starting: dict[Link, bool] = {}
        """Workers that are not ready, and whether they are for a single attempt."""
        self._waiting: deque[RemoteAttempt] = deque()
        """Attempts for which there is no worker."""
        self._alone: deque[RemoteAttempt] = deque()
        """Attempts that get a worker of their own, the first one now."""
        self._alone_link: Link | None = None
        self._ready: asyncio.Future[None] = loop.create_future()
        self._problem: ClusterError | None = None
        self._closed = False
        self._began = loop.time()
        self._due = loop.time() + LOOK_S
        self._timer = loop.call_later(LOOK_S, self._look)
        for link in self._links:
            link.move(loop, self._ended, self._lost)
        self._add_workers()
        self._tell_ready()

    # -- for fan-outs ---------------------------------------------------------------------------

    async def ready(self) -> None:
        """Wait for the first workers."""
        async with asyncio.timeout(READY_S):
            await asyncio.shield(self._ready)

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        check_work(work, timeout)
        packed = pack_work((work, timeout))
        known = (hashlib.blake2b(packed, digest_size=8).digest(), packed)

        async def attempt(item: Any) -> Any:
            around = current.get()
            sent = RemoteAttempt(self, next(_numbers), known, pack(item, "the item"), around)
            self._attempts[sent.number] = sent
            self._dispatch(sent)
            await sent
            _report(sent, around)
            return sent.outcome()

        return attempt

    # -- attempts -------------------------------------------------------------------------------

    def _dispatch(self, sent: RemoteAttempt) -> None:
        if self._problem is not None:
            self._over(sent, None, self._problem)
        elif len(sent.lost) == LOST_AT_MOST - 1:
            self._alone.append(sent)
            self._next_alone()
        elif self._links:
            self._give(sent, min(self._links, key=_load))
        else:
            self._waiting.append(sent)

    def _give(self, sent: RemoteAttempt, link: Link) -> None:
        sent.link = link
        link.start(AttemptStart(sent.number, sent.work[0], sent.item), sent.work[1])

    def cancel(self, sent: RemoteAttempt) -> None:
        if sent.link is not None:
            sent.link.cancel(sent.number)
        elif not sent.done():  # it waits for a worker
            self._over(sent, None)

    def _ended(self, link: Link, end: AttemptEnd) -> None:
        sent = self._attempts.get(end.number)
        if sent is not None:
            self._over(sent, end)
        if link is self._alone_link:
            self._next_alone()

    def _over(
        self, sent: RemoteAttempt, end: AttemptEnd | None, error: BaseException | None = None
    ) -> None:
        self._attempts.pop(sent.number, None)
        sent.over(end, error)

    def _next_alone(self) -> None:
        """One attempt at a time, for each may end its worker."""
        while self._alone and self._alone[0].done():
            self._alone.popleft()
        link = self._alone_link
        if not self._alone or (link is not None and (link.in_flight or link in self._starting)):
            return
        if link is None:
            self._alone_link = self._start_worker(self.nodes.least_used(), alone=True)
        else:
            self._give(self._alone.popleft(), link)

    # -- workers --------------------------------------------------------------------------------

    def _add_workers(self) -> None:
        """Start what the nodes have room for."""
        for node_id in self.nodes.missing():
            self._start_worker(node_id, alone=False)

    def _start_worker(self, node_id: str, *, alone: bool) -> Link | None:
        actor = self.nodes.start_worker(node_id, alone=alone)
        link = Link(actor, node_id, self.loop, self._ended, self._lost)
        self._starting[link] = alone
        self.nodes.hello(actor, lambda answer: self._post(self._said_hello, link, answer))
        return link

    def _post(self, function: Callable[..., None], *args: Any) -> None:
        """Call it on the loop, from a thread of Ray's."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *args)

    def _said_hello(self, link: Link, answer: Future[WorkerInfo]) -> None:
        alone = self._starting.pop(link, False)
        if self._closed or link.fenced:
            return
        try:
            link.name = self.nodes.name(link.node_id, answer.result())
        except ClusterError as problem:
            self._give_up(problem)
            return
        except Exception as error:
            self._not_started(link, error)
            return
        link.listen()
        if alone:
            self._next_alone()
            return
        self._links.append(link)
        while self._waiting:
            self._dispatch(self._waiting.popleft())
        self._tell_ready()

    def _tell_ready(self) -> None:
        if self._ready.done() or not self._links:
            return
        if all(self._starting.values()) or self.loop.time() > self._began + SOON_S:
            self._ready.set_result(None)

    def _not_started(self, link: Link, error: Exception) -> None:
        link.fence()
        self.nodes.lost(link.node_id, link.actor)
        if link is self._alone_link:
            self._alone_link = None
            self._next_alone()
        elif not self._links and not self._starting:
            self._give_up(ClusterError(f"no worker could be started: {error}", self.nodes.advice))
        self._tell_ready()

    def _give_up(self, problem: ClusterError) -> None:
        """Nothing can be performed here: whoever waits is told."""
        self._problem = problem
        if not self._ready.done():
            self._ready.set_exception(problem)
            self._ready.exception()
        for sent in [*self._waiting, *self._alone]:
            self._over(sent, None, problem)
        self._waiting.clear()
        self._alone.clear()

    # -- losses ---------------------------------------------------------------------------------

    def _look(self) -> None:
        """Find workers that are silent, and nodes that have joined."""
        now = self.loop.time()
        late = now - self._due
        for link in [*self._links, *([self._alone_link] if self._alone_link else [])]:
            if late > LOOK_S:
                link.heard_at += late  # it was this process that did not listen
            elif link.name and now - link.heard_at > SILENT_S:
                self._lost(link, f"silent for {now - link.heard_at:.1f} s", silent=True)
        if self.nodes.changed():
            self._add_workers()
        self._tell_ready()
        self._due = now + LOOK_S
        self._timer = self.loop.call_later(LOOK_S, self._look)

    def _lost(self, link: Link, reason: str, *, silent: bool = False) -> None:
        """Fence it, then give its attempts to others."""
        if link.fenced or self._closed:
            return
        link.fence()
        if link in self._links:
            self._links.remove(link)
        if link is self._alone_link:
            self._alone_link = None
        self.nodes.lost(link.node_id, link.actor, silent=silent)
        for number in sorted(link.in_flight):
            self._was_lost(self._attempts[number], link, reason)
        self._add_workers()
        self._next_alone()

    def _was_lost(self, sent: RemoteAttempt, link: Link, reason: str) -> None:
        sent.link = None
        sent.lost = (*sent.lost, link.name)
        if sent.of is not None:
            sent.of.twice = True
        if sent.interruption is not None:
            self._over(sent, None)
        elif len(sent.lost) >= LOST_AT_MOST:
            self._over(sent, None, WorkerLost(sent.lost, reason))
        else:
            self._dispatch(sent)

    def release(self) -> list[Link]:
        """Its workers, for a pool on another loop, because the loop of this one is closed."""
        self._closed = True
        kept = [link for link in self._links if not link.in_flight]
        others = {*self._links, *self._starting, self._alone_link} - {None, *kept}
        for link in others:
            assert link is not None
            link.fence()
            self.nodes.lost(link.node_id, link.actor)
        return kept

    def close(self) -> None:
        """End the workers. Nothing is in flight any more. From any thread, or after the loop."""
        self._closed = True
        self._timer.cancel()
        links = [*self._links, *self._starting]
        links += [self._alone_link] if self._alone_link is not None else []
        for link in links:
            link.fence()
        self.nodes.end([link.actor for link in links])


def _load(link: Link) -> int:
    return len(link.in_flight)


def _report(sent: RemoteAttempt, item: OpenItem[Any, Any] | None) -> None:
    """What the worker measured: for the item's attempt, and for the meter of a call."""
    if sent.end is None or sent.link is None:
        return
    if item is not None:
        item.elsewhere = Elsewhere(sent.link.name, sent.end.ran_s)
    if sent.end.first_token_s is not None:
        meter.first_token(sent.end.first_token_s)
    if sent.end.usage is not None:
        meter.spent(sent.end.usage)
