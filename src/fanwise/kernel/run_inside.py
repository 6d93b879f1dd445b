"""Runs that belong to another: inside an item of it, or after it was told to end.

What a `RunInside` does is recorded as a part of the item, so that its costs are known even after a
kill. The events that it notes and the status with which it ends do not concern the run around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fanwise.core.outcome import Usage
from fanwise.core.stats import Stats
from fanwise.journal.codec import JSON, Codec
from fanwise.kernel.durable_run import RunRequest
from fanwise.kernel.recorder import Recorder
from fanwise.kernel.run import MEMORY, Run, new_run_id
from fanwise.kernel.scope import FanOutPaths, current

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine
    from fanwise.kernel.workers import WorkPlace


class RunInside(Run):
    """Make and use it inside an item. A halt of the run around does not reach it.

    `fresh`: it has a path of its own, so that nothing recorded before counts in it. Otherwise it
    continues what the item did at the same place before it was killed or tried again.
    """

    def __init__(self, *, fresh: bool = True) -> None:
        scope = current.get()
        around = None if scope is None else scope.fan_out.run
        codec = JSON if around is None else around.codec
        # No caps or budget of its own: those of the item around it hold.
        super().__init__(RunRequest(id=new_run_id()), journal=MEMORY, codec=codec)
        self._around = around
        self._fresh = fresh
        if scope is not None:
            self.fan_out_paths = _Below(f"{scope.path}/{self.id}" if fresh else scope.path)
        if around is not None:
            self.subscribers = around.subscribers

    @property
    def durable_id(self) -> str | None:
        return None if self._around is None else self._around.durable_id

    @property
    def place_of_calls(self) -> WorkPlace | None:
        return None if self._around is None else self._around.place_of_calls

    def recorder(
        self, path: str, cap: int, halt: str, codec: Codec, *, again: bool
    ) -> Recorder | None:
        if self._around is None:
            return None
        found = self._around.recorder(path, cap, halt, codec, again=again)
        if found is not None:
            found.hide = self.hide
        return found

    def spent_in(self, path: str) -> Iterable[Usage]:
        if self._fresh or self._around is None:
            return ()  # its paths are new
        return self._around.spent_in(path)


class RunAfter(Run):
    """What is still to be done in a run that may be halting: notify, clean up.

    It records where the run does, under its caps and budget. An order that the run got before does
    not count here; one that comes later does.
    """

    def __init__(self, around: Run) -> None:
        request = RunRequest(id=around.id)
        super().__init__(
            request, journal=MEMORY, codec=around.codec, caps=around.caps, budget=around.budget
        )
        self._around = around
        self.fan_out_paths = around.fan_out_paths
        self.subscribers = around.subscribers

    @property
    def durable_id(self) -> str | None:
        return self._around.durable_id

    @property
    def place_of_calls(self) -> WorkPlace | None:
        return self._around.place_of_calls

    def recorder(
        self, path: str, cap: int, halt: str, codec: Codec, *, again: bool
    ) -> Recorder | None:
        return self._around.recorder(path, cap, halt, codec, again=again)

    def note(self, kind: str, data: Any) -> None:
        self._around.note(kind, data)

    async def note_on_disk(self, kind: str, data: Any) -> None:
        await self._around.note_on_disk(kind, data)

    def joined(self, engine: Engine[Any, Any]) -> None:
        self._around.engines.add(engine)

    def left(
        self, engine: Engine[Any, Any], stats: Stats, now: float, cut_short: str | None
    ) -> None:
        self._around.left(engine, stats, now, None)


class _Below(FanOutPaths):
    """Paths below an item."""

    __slots__ = ("_top",)

    def __init__(self, top: str) -> None:
        super().__init__()
        self._top = top

    def path(self, name: str | None, parent: str | None) -> str:
        return super().path(name, parent or self._top)
