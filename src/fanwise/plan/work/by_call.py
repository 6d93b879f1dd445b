"""A function of the user's that does the work: `call: "module:function"`.

It gets one `Work`, and edits the files below its `root`. It returns nothing, a text, or
`{"said": …, "subplans": […]}`. It may be async; otherwise it runs in a thread, which cannot be
ended from outside: a long one should check `fanwise.cancelled()` now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import AttemptTimeout, BudgetExceeded, WorkFailed, one_line
from fanwise.kernel.call import call
from fanwise.kernel.user_call import FREE
from fanwise.plan.model.leaf_result import Try
from fanwise.plan.work.captured_output import tail
from fanwise.plan.work.port import LeafWorker, WorkRequest, WorkResult, too_slow
from fanwise.plan.work.subplans import BadForm, subplans_of
from fanwise.workspaces import Workspace


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What such a function is given."""

    root: Path
    """The folder of the plan, in the workspace; `files` are relative to it."""
    files: tuple[str, ...]
    goal: str
    prompt: str
    id: str
    title: str
    tries: tuple[Try, ...] = ()
    """Earlier tries that failed, and why."""


class CallWorker(LeafWorker):
    """Calls a function for each try; `name` is what the user wrote."""

    def __init__(self, function: Callable[[Work], Any], name: str = "") -> None:
        self._function = function
        self._name = name or str(getattr(function, "__qualname__", function))

    @property
    def name(self) -> str:
        return self._name

    @property
    def splitting(self) -> str:
        return 'Instead of editing you may hand back parts of it: return {"subplans": [...]}.'

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        given = Work(
            root=workspace.path, files=ask.here, goal=ask.goal, prompt=ask.prompt,
            id=ask.leaf.id, title=ask.leaf.title, tries=ask.tries,
        )  # fmt: skip
        try:
            returned = await call(self._function, given, timeout=ask.timeout, name="work", **FREE)
        except AttemptTimeout:
            raise too_slow(ask.timeout) from None
        except BudgetExceeded:
            raise
        except (Exception, SystemExit) as error:  # a program that became a function may call exit()
            raise WorkFailed(tail(one_line(error), 500)) from error
        return _worked(returned, ask)


def _worked(returned: Any, ask: WorkRequest) -> WorkResult:
    if returned is None or isinstance(returned, str):
        return WorkResult(said=tail(returned or ""))
    if not isinstance(returned, dict) or not set(returned) <= {"said", "subplans"}:
        kind = type(returned).__name__
        raise WorkFailed(f"it returned a {kind} instead of None, a text, or `said` and `subplans`")
    said = returned.get("said") or ""
    if not isinstance(said, str):
        raise WorkFailed(f"`said` is a {type(said).__name__}, not a text")
    try:
        plain = msgspec.to_builtins(returned.get("subplans"))
        return WorkResult(said=tail(said), subplans=subplans_of(plain, ask))
    except (BadForm, TypeError) as error:
        raise WorkFailed(f"the sub-plans that it returned: {error}", tail(said)) from error
