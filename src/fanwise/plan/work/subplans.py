"""Sub-plans that a leaf returned instead of edits: `[{"goal": "…", "files": ["…"]}]`.

Only their form is checked here, and that the files are its own; whether they can be grown into the
tree is known where the tree is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import WorkFailed
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.work.names import NotInside
from fanwise.plan.work.port import WorkRequest

MOST = 100
"""Sub-plans of one leaf."""
MOST_BYTES = 1 << 20
MOST_GOAL = 20_000


class BadForm(Exception):
    """Why what was returned is not a list of sub-plans."""


def read_subplans(file: Path, ask: WorkRequest) -> tuple[SubPlan, ...]:
    """Those in a file that a program wrote; none if there is none. `WorkFailed`."""
    try:
        if not file.is_symlink() and not file.exists():
            return ()
        if file.is_symlink() or not file.is_file() or file.stat().st_size > MOST_BYTES:
            raise BadForm(f"it is not a regular file, or has more than {MOST_BYTES:,} bytes")
        return subplans_of(msgspec.json.decode(file.read_bytes()), ask)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise WorkFailed(f"the sub-plans that it returned cannot be read: {error}") from error
    except BadForm as error:
        raise WorkFailed(f"the sub-plans that it returned: {error}") from error


def subplans_of(given: Any, ask: WorkRequest) -> tuple[SubPlan, ...]:
    """Plain data as sub-plans of this leaf. `BadForm`."""
    if given is None or given == []:
        return ()
    if ask.depth_left < 1:
        raise BadForm("it may not return sub-plans: the plan is as deep as it may be")
    if not isinstance(given, list) or len(given) > MOST:
        raise BadForm(f"write a list of at most {MOST} objects")
    return tuple(_subplan(each, number, ask) for number, each in enumerate(given, 1))


def _subplan(given: Any, number: int, ask: WorkRequest) -> SubPlan:
    if not isinstance(given, dict) or set(given) != {"goal", "files"}:
        raise BadForm(f"number {number} is not an object with exactly `goal` and `files`")
    goal, files = given["goal"], given["files"]
    if not isinstance(goal, str) or not goal.strip() or len(goal) > MOST_GOAL:
        raise BadForm(f"the goal of number {number} is not a text of 1 to {MOST_GOAL:,} characters")
    if not isinstance(files, list) or not files:
        raise BadForm(f"the files of number {number} are not a list of names")
    found = tuple(_file(each, number, ask) for each in files)
    return SubPlan(goal=goal.strip(), files=tuple(sorted(set(found))))


def _file(given: Any, number: int, ask: WorkRequest) -> str:
    if not isinstance(given, str):
        raise BadForm(f"a file of number {number} is {given!r}")
    try:
        path = ask.names.top(given)
    except NotInside as error:
        raise BadForm(f"number {number}: {error}") from None
    if path not in ask.files:
        raise BadForm(f"{given!r} of number {number} is not one of the files of this sub-plan")
    return path
