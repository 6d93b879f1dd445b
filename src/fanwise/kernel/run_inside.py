"""A run inside an item of another: for systems that are executed where all must begin anew.

What it does is recorded as a part of the item, so that what it spent is known, also after a kill.
But nothing of it is found again: each one has a place of its own. What it notes about itself, and
what it says it ended as, is no affair of the run around.
"""

from __future__ import annotations

from fanwise.core.budget import Budget
from fanwise.journal.codec import JSON, Codec
from fanwise.kernel.durable_run import RunRequest
from fanwise.kernel.recorder import Recorder
from fanwise.kernel.run import MEMORY, Run, new_run_id
from fanwise.kernel.scope import FanOutPaths, current


class RunInside(Run):
    """To be made inside an item, and used there; a halt of the run around does not reach it."""

    def __init__(self) -> None:
        scope = current.get()
        around = None if scope is None else scope.fan_out.run
        codec = JSON if around is None else around.codec
        # No caps or budget of its own: those of the item around it hold.
        super().__init__(RunRequest(id=new_run_id()), journal=MEMORY, codec=codec)
        self._around = around
        if scope is not None:
            self.fan_out_paths = _Below(f"{scope.path}/{self.id}")
        if around is not None:
            self.subscribers = around.subscribers

    @property
    def durable_id(self) -> str | None:
        return None if self._around is None else self._around.durable_id

    def recorder(
        self, path: str, cap: int, halt: str, codec: Codec, *, again: bool
    ) -> Recorder | None:
        if self._around is None:
            return None
        return self._around.recorder(path, cap, halt, codec, again=again)

    def count_earlier(self, budget: Budget, path: str) -> None:
        """Nothing was spent there before: the place is new."""


class _Below(FanOutPaths):
    """FanOutPaths in an item."""

    __slots__ = ("_top",)

    def __init__(self, top: str) -> None:
        super().__init__()
        self._top = top

    def path(self, name: str | None, parent: str | None) -> str:
        return super().path(name, parent or self._top)
