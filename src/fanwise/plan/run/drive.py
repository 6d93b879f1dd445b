"""Runs the board: each of its items is an item of one fan-out, recorded once.

A recorded outcome counts if everything that decides it is unchanged: `PlanItem.of` is a digest
of that. So a resume repeats nothing, and an edited plan redoes only what the edit affects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from fanwise.core.caps import Caps
from fanwise.core.outcome import Outcome
from fanwise.errors import FanwiseError
from fanwise.kernel.driver import Driver, QueueLimit
from fanwise.kernel.run import Run
from fanwise.plan.model.node import Tree
from fanwise.plan.split.scorecard import urgency
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import FAN_OUT, PlanItem
from fanwise.plan.state.replay import reusable

WORKSPACES = "workspaces"
Took = Callable[[PlanBoard, PlanItem], None]


async def drive(
    board: PlanBoard,
    perform: Callable[[PlanItem], Awaitable[Any]],
    cap: int,
    caps: Caps,
    run: Run | None,
    *,
    lost: Collection[str] = (),
    took: Took = lambda board, item: None,
) -> None:
    """Until the board is over; it then knows what came of every sub-plan.

    `perform` returns plain data, for the journal. `lost`: keys of records whose objects are not in
    the repository any more. `took` is called when the board has taken an outcome.
    """
    priority = _Priority(board, cap)

    async def work(item: PlanItem) -> Any:
        try:
            return await perform(item)
        except FanwiseError as error:
            error.of = item.of  # type: ignore[attr-defined]  # recorded with the error's fields
            raise

    async def after(item: PlanItem, outcome: Outcome[Any]) -> None:
        took(board, item)

    def reuse(item: PlanItem, recorded: Outcome[Any]) -> bool:
        return item.key not in lost and reusable(item, recorded)

    await Driver(
        board,
        work,
        limit=priority.limit,
        rank=priority.rank,
        after=after,
        reuse=reuse,
        cap=cap,
        caps=caps,
        needs=needs_of,
        run=run,
        name=FAN_OUT,
    ).run()


class _Priority:
    """Of the leaves that could begin, the one with the longest chain behind it goes first.

    Where leaves follow others, only as many are in the fan-out as can run: what is in it begins
    the moment another ends, before it is known what that one made ready.
    """

    def __init__(self, board: PlanBoard, cap: int) -> None:
        self._board = board
        self._limit = QueueLimit("items", cap)
        self._tree: Tree | None = None
        self._urgency: dict[str, int] = {}
        self._followers = False

    def limit(self, item: PlanItem) -> QueueLimit | None:
        self._look()
        return self._limit if self._followers else None

    def rank(self, item: PlanItem) -> float:
        """By the tokens in the longest chain that it begins."""
        self._look()
        return 0.0 if item.leaf is None else -self._urgency.get(item.leaf.id, 0)

    def _look(self) -> None:
        if self._tree is not self._board.tree:  # it is new, or has grown
            self._tree = self._board.tree
            self._urgency = urgency(self._tree.leaves)
            self._followers = any(leaf.after for leaf in self._tree.leaves)


def needs_of(item: PlanItem) -> Mapping[str, int]:
    return {} if item.kind in ("merge", "result") else {WORKSPACES: 1}
