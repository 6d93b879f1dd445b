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
import logging
import math
import pickle
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from fanwise.cluster.link import (
    AttemptEnd,
    AttemptStart,
    Link,
    NestedItem,
    WorkerInfo,
    WorkerQuestion,
)
from fanwise.cluster.nested_driver import NestedOfItem
from fanwise.cluster.nodes import Nodes
from fanwise.cluster.remote_attempt import RemoteAttempt
from fanwise.cluster.shipping import pack, pack_work
from fanwise.errors import ClusterError, WorkerLost, WorkersNotReady, one_line
from fanwise.kernel.events import NodeGone, WorkerEvent, WorkerGone, WorkerJoined
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.parcels import kept_parcels
from fanwise.kernel.scope import current
from fanwise.kernel.threads import Threads
from fanwise.kernel.work import Attempter, check_work

LOOK_S = 0.2
ASK_S = 1.0
"""So often Ray is asked for nodes that have joined."""
LOST_AT_MOST = 3
READY_S = 180.0
SOON_S = 5.0
"""A fan-out waits so long for more workers than the first, so that they share its first items."""


ADVICE = "Look at `ray status`: is there a node with free resources, and fanwise on it?"
NOTHING_SENT = pack((None, None), "nothing")
_log = logging.getLogger(__name__)
_numbers = itertools.count()
"""Of attempts: a worker may be used by one pool after the other."""


class WorkerPool:
    """All workers, on one event loop. Made by `Ray`."""

    def __init__(
        self, nodes: Nodes, loop: asyncio.AbstractEventLoop, links: Iterable[Link] = ()
    ) -> None:
        self.loop = loop
        self.nodes = nodes
        self._attempts: dict[int, RemoteAttempt] = {}
        self._links: list[Link] = [*links]
        self._starting: set[Link] = set()
        """Workers that are not ready."""
        self._waiting: deque[RemoteAttempt] = deque()
        """Attempts for which there is no worker."""
        self._alone: deque[RemoteAttempt] = deque()
        """Attempts that get a worker of their own, the first one now."""
        self._alone_link: Link | None = None
        self._ready: asyncio.Future[None] = loop.create_future()
        self._problem: ClusterError | None = None
        self._watchers: list[Callable[[WorkerEvent], None]] = []
        self._parcels: dict[str, Any] = {}
        """Those that are in Ray's object store."""
        self._closed = False
        self._began = self._asked = loop.time()
        self._threads = Threads("fanwise-nodes")
        self._due = loop.time() + LOOK_S
        self._timer = loop.call_later(LOOK_S, self._look)
        for link in self._links:
            link.move(loop, self._said, self._lost)
        self._add_workers()
        self._tell_ready()

    # -- for fan-outs ---------------------------------------------------------------------------

    async def ready(self) -> None:
        """Wait for the first workers."""
        try:
            async with asyncio.timeout(READY_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise WorkersNotReady(READY_S, len(self._starting)) from None

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        check_work(work, timeout)
        packed = pack_work((work, timeout))
        known: list[tuple[bytes, bytes]] = []

        async def attempt(item: Any) -> Any:
            around = current.get()
            if not known:
                known.append(_with_caps(packed, around))
            sent = RemoteAttempt(self, next(_numbers), known[0], pack(item, "the item"), around)
            self._attempts[sent.number] = sent
            self._dispatch(sent)
            return await self._outcome(sent)

        return attempt

    async def perform_nested(self, link: Link, fan_out: int, index: int) -> Any:
        """Perform an item of a fan-out inside an item, on the worker of that one."""
        around = current.get()
        item = pack(NestedItem(fan_out, index), "the item")
        known = _with_caps(NOTHING_SENT, around)
        sent = RemoteAttempt(self, next(_numbers), known, item, around)
        sent.pinned = True
        self._attempts[sent.number] = sent
        if link.fenced:
            self._over(sent, None)
        else:
            self._give(sent, link)
        return await self._outcome(sent)

    async def deliver(self, link: Link, question: int, name: str) -> None:
        """Send a parcel to a worker that asked for it."""
        if name not in self._parcels:
            data = await in_thread(kept_parcels[name][0].read_bytes)
            self._parcels[name] = await in_thread(self.nodes.put, data)
        link.actor.deliver.remote(question, self._parcels[name])

    async def _outcome(self, sent: RemoteAttempt) -> Any:
        await sent
        if sent.nested is not None:
            await sent.nested.over()
        sent.report()
        return sent.outcome()

    def watch(self, told: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        self._watchers.append(told)
        for link in self._links:
            told(WorkerJoined(at=self.loop.time(), worker=link.name))
        return lambda: self._watchers.remove(told)

    def _tell(self, event: WorkerEvent) -> None:
        for told in [*self._watchers]:
            told(event)

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

    def _said(self, link: Link, message: AttemptEnd | WorkerQuestion) -> None:
        if isinstance(message, WorkerQuestion):
            self._answer(link, message)
            return
        sent = self._attempts.get(message.number)
        if sent is not None:
            self._over(sent, message)
        if link is self._alone_link:
            self._next_alone()

    def _answer(self, link: Link, question: WorkerQuestion) -> None:
        sent = self._attempts.get(question.attempt)
        if sent is None or sent.of is None:
            return
        if sent.nested is None:
            sent.nested = NestedOfItem(self, sent.of, link)
        sent.nested.asked(question)

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
            sure = {each.node_id for each in self._links}
            self._alone_link = self._start_worker(self.nodes.least_used(sure), alone=True)
        else:
            self._give(self._alone.popleft(), link)

    # -- workers --------------------------------------------------------------------------------

    def _add_workers(self) -> None:
        """Start what the nodes have room for."""
        if self._problem is None:
            for node_id in [*self.nodes.missing()]:
                self._start_worker(node_id, alone=False)

    def _start_worker(self, node_id: str, *, alone: bool) -> Link:
        actor = self.nodes.start_worker(node_id, alone=alone)
        link = Link(actor, node_id, alone, self.loop, self._said, self._lost)
        self._starting.add(link)
        self.nodes.hello(actor, lambda answer: self._post(self._said_hello, link, answer))
        return link

    def _post(self, function: Callable[..., None], *args: Any) -> None:
        """Call it on the loop, from a thread of Ray's."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *args)

    def _said_hello(self, link: Link, answer: Future[WorkerInfo]) -> None:
        self._starting.discard(link)
        if self._closed or link.fenced:
            return
        try:
            link.name = self.nodes.name(link.node_id, answer.result())
        except Exception as error:
            self._not_started(link, error)
            return
        link.listen()
        self._tell(WorkerJoined(at=self.loop.time(), worker=link.name))
        if link.alone:
            self._next_alone()
            return
        self._links.append(link)
        while self._waiting:
            self._dispatch(self._waiting.popleft())
        self._tell_ready()

    def _tell_ready(self) -> None:
        if self._ready.done() or not self._links:
            return
        if all(link.alone for link in self._starting) or self.loop.time() > self._began + SOON_S:
            self._ready.set_result(None)

    def _not_started(self, link: Link, error: Exception) -> None:
        """A node that cannot be used is left alone, as long as there is another."""
        link.fence()
        self.nodes.lost(link.node_id, link.actor, alone=link.alone, silent=True)
        _log.warning("a worker could not be started: %s", one_line(error))
        if link is self._alone_link:
            self._alone_link = None
            self._next_alone()
        elif not self._links and not self._starting:
            wrong = ClusterError(f"no worker could be started: {one_line(error)}", ADVICE)
            self._give_up(error if isinstance(error, ClusterError) else wrong)
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
        for link in self._listening():
            if late > LOOK_S:
                link.heard_at += late  # it was this process that did not listen
            elif (reason := link.silent(now)) is not None:
                self._lost(link, reason, silent=True)
        if now > self._asked + ASK_S:
            self._asked = math.inf
            self._threads.submit(self.nodes.ask, self._learn)
        self._tell_ready()
        self._due = now + LOOK_S
        self._timer = self.loop.call_later(LOOK_S, self._look)

    def _listening(self) -> list[Link]:
        alone = self._alone_link
        return [*self._links, *([alone] if alone is not None and alone.name else [])]

    def _learn(self, alive: list[dict[str, Any]] | None) -> None:
        if not self._closed:
            self._asked = self.loop.time()
            for node in self.nodes.learn(alive):
                self._tell(NodeGone(at=self.loop.time(), node=node, reason="left the cluster"))
            self._add_workers()

    def _lost(self, link: Link, reason: str, *, silent: bool = False) -> None:
        """Fence it, then give its attempts to others."""
        if link.fenced or self._closed:
            return
        link.fence()
        if link in self._links:
            self._links.remove(link)
        if link is self._alone_link:
            self._alone_link = None
        others = any(each.node_id == link.node_id for each in self._links)
        silent = silent and not others
        self.nodes.lost(link.node_id, link.actor, alone=link.alone, silent=silent)
        lost = [self._attempts[number] for number in sorted(link.in_flight)]
        keys = tuple(each.of.key for each in lost if each.of is not None)
        self._tell(WorkerGone(at=self.loop.time(), worker=link.name, reason=reason, keys=keys))
        if silent:
            node = self.nodes.node_name(link.node_id)
            self._tell(NodeGone(at=self.loop.time(), node=node, reason=reason))
        for sent in lost:
            self._was_lost(sent, link, reason)
        self._add_workers()
        self._next_alone()

    def _was_lost(self, sent: RemoteAttempt, link: Link, reason: str) -> None:
        sent.link = None
        sent.lost = (*sent.lost, link.name)
        if sent.of is not None:
            sent.of.twice = True
        if sent.nested is not None:
            sent.nested.lost(lambda: self._again(sent, reason))
        elif not sent.pinned:  # else the fan-out that it belongs to is being cancelled
            self._again(sent, reason)

    def _again(self, sent: RemoteAttempt, reason: str) -> None:
        """Nothing of it is left: give it to another worker."""
        sent.nested = None
        if sent.interruption is not None or sent.pinned:
            self._over(sent, None)
        elif len(sent.lost) >= LOST_AT_MOST:
            self._over(sent, None, WorkerLost(sent.lost, reason))
        else:
            if sent.of is not None:
                sent.of.given_to_another()
            self._dispatch(sent)

    def release(self) -> list[Link]:
        """Its workers, for a pool on another loop, because the loop of this one is closed."""
        self._closed = True
        kept = [link for link in self._links if not link.in_flight]
        for link in self._all() - {*kept}:
            link.fence()
            self.nodes.lost(link.node_id, link.actor, alone=link.alone)
        return kept

    def _all(self) -> set[Link]:
        alone = [] if self._alone_link is None else [self._alone_link]
        return {*self._links, *self._starting, *alone}

    def close(self) -> None:
        """End the workers. Nothing is in flight any more. From any thread, or after the loop."""
        self._closed = True
        self._timer.cancel()
        links = self._all()
        for link in links:
            link.fence()
        self.nodes.end([link.actor for link in links])
        self._threads.close()


def _with_caps(packed: bytes, around: OpenItem[Any, Any] | None) -> tuple[bytes, bytes]:
    """Work with the names of the caps around it, and a short name for both."""
    caps = frozenset() if around is None else frozenset(around.fan_out.ledger.resources)
    both = pickle.dumps((packed, caps), protocol=5)
    return hashlib.blake2b(both, digest_size=8).digest(), both


def _load(link: Link) -> int:
    return len(link.in_flight)
