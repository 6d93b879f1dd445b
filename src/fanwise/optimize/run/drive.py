"""Runs the board: each of its items is an item of one fan-out, recorded once.

Not one item with its stages inside for each candidate: this way each stage has its own permits and
gives them back at its end. A candidate that has passed its checks holds no workspace while it waits
to be measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fanwise.core.caps import Caps
from fanwise.core.outcome import Outcome
from fanwise.kernel.driver import Driver
from fanwise.kernel.run import Run
from fanwise.optimize.spec.resolved_spec import CPU, PROPOSE, WORKSPACES
from fanwise.optimize.state.board import Board
from fanwise.optimize.state.item import FAN_OUT, OptimizeItem

BOOKKEEPING = 4
"""Verdicts that may be written at once; they take no time."""
IN_WORKSPACES = ("baseline:tests", "baseline:recording")
"""Stages of the original that run its tests, which may leave things behind: in a slot, like all
that is not the original's own workspace."""


async def drive(
    board: Board,
    perform: Callable[[OptimizeItem], Awaitable[Any]],
    caps: Caps,
    run: Run | None,
    *,
    learn: Callable[[OptimizeItem, Any], None] = lambda item, value: None,
    kept: Callable[[OptimizeItem, Any], bool] = lambda item, value: True,
) -> None:
    """Until the board is over; it then knows what came of every candidate.

    `perform` returns plain data, for the journal. `learn` is called with what an item gave, before
    anything that needs it begins. `kept`: whether the files of a recorded stage are still there.
    """
    limits = caps.current
    slots = limits[CPU] or 1

    async def after(item: OptimizeItem, outcome: Outcome[Any]) -> None:
        if outcome.ok:
            learn(item, outcome.unwrap())

    def reuse(item: OptimizeItem, recorded: Outcome[Any]) -> bool:
        counts = recorded.ok or item.kind != "baseline"  # the original is always tried again
        return counts and kept(item, recorded.value)

    await Driver(
        board,
        perform,
        after=after,
        reuse=reuse,
        cap=slots + (limits[PROPOSE] or 1) + BOOKKEEPING,
        caps=caps,
        needs=lambda item: needs_of(item, slots),
        run=run,
        name=FAN_OUT,
    ).run()


def needs_of(item: OptimizeItem, slots: int) -> Mapping[str, int]:
    """Which permits an item takes. What is measured is alone on the CPU."""
    if item.kind == "propose":
        return {PROPOSE: 1}
    if item.kind == "verdict":
        return {}
    if item.kind == "benchmark":
        return {WORKSPACES: 1, CPU: slots}
    if item.kind == "baseline" and item.key not in IN_WORKSPACES:
        return {CPU: slots if item.stage == "noise" else 1}
    return {WORKSPACES: 1, CPU: 1}
