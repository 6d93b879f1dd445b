"""`on_end`: the steps that run whenever an execution ends, unless it pauses.

They run again when a resume has done anything since, and all of them run whatever fails. After a
halt or a cancel they have a grace period; another cancel ends them at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fanwise.errors import FanwiseError
from fanwise.workflow.run.interpreter import Interpreter
from fanwise.workflow.run.leaves import Interrupted
from fanwise.workflow.spec.workflow_file import LoadedWorkflow
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult


class WorkflowExecution:
    """The steps of a file, and then those of `on_end`."""

    def __init__(self, engine: Interpreter, workflow: LoadedWorkflow, frame: Frame) -> None:
        self._engine = engine
        self._workflow = workflow
        self._frame = frame
        self.interrupted = False
        self.notes: list[str] = []

    async def stop(self) -> StepResult | None:
        """Execute all; the result that ended it early, or made it fail."""
        stop = None
        try:
            stop = await self._engine.all(self._workflow.steps, self._frame)
        except Interrupted:
            self.interrupted = True
        except (Exception, asyncio.CancelledError) as error:
            status = "failed" if isinstance(error, Exception) else "cancelled"
            await self._at_the_end({"status": status, "error": str(error) or None}, cut=True)
            raise
        if stop is not None and stop.status == "paused":
            return stop
        status = "completed" if stop is None else stop.status
        if self.interrupted:
            status = self._engine.run.halting or "halted"
        ended = {"status": status, "error": None if stop is None else stop.error}
        failed = await self._at_the_end(ended, cut=self.interrupted)
        return stop or (None if self.interrupted else failed)

    async def _at_the_end(self, ended: Mapping[str, Any], *, cut: bool) -> StepResult | None:
        """Execute `on_end`; the first failure in it. `cut`: only for the grace period."""
        if not self._workflow.on_end:
            return None
        engine = self._engine.after()
        frame = replace(self._frame, ended=ended, since=(self._engine.leaves.latest,))
        grace = self._workflow.file.on_end_grace
        try:
            async with asyncio.timeout(grace if cut else None):
                return await engine.at_the_end(self._workflow.on_end, frame)
        except TimeoutError:
            self.notes.append(f"on_end was cut off after its grace period of {grace:g} s")
        except Interrupted:
            self.notes.append("on_end was cut off: the run was cancelled")
        except FanwiseError as error:
            if not cut:
                raise
            self.notes.append(f"on_end failed: {error}")
        return None
