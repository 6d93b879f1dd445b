"""The progress and outcome of one leaf, as the board knows them."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.plan.model.leaf_result import Change, LeafResult
from fanwise.plan.model.merge_result import Conflict
from fanwise.plan.model.node import Node
from fanwise.plan.model.states import State


class LeafEntry:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.begun = False
        self.result: LeafResult | None = None
        self.error: str | None = None
        """Why it was given up."""
        self.skipped_by: str | None = None
        """The leaf whose failure kept it from beginning."""
        self.conflicts: tuple[Conflict, ...] = ()
        """With earlier leaves: it was set aside."""
        self.again: LeafResult | None = None
        """Done once more, on what was merged."""
        self.given_up: str | None = None
        """Why it could not be brought together with the others."""
        self.left_out = False
        """The check fails with it, or with one that it comes after."""
        self.left_out_with: str | None = None
        """The one that it comes after."""

    @property
    def fresh(self) -> bool:
        """Whether it could still begin."""
        return not self.begun and self.skipped_by is None

    @property
    def done(self) -> bool:
        """Whether those after it may begin."""
        return self.result is not None

    @property
    def lost(self) -> bool:
        """Whether those that need it cannot begin."""
        return self.error is not None or self.given_up is not None

    @property
    def over(self) -> bool:
        """Whether it is done, was given up, or will not begin."""
        return self.done or self.error is not None or self.skipped_by is not None

    @property
    def change(self) -> Change | None:
        """What it changed, the second time if there was one."""
        last = self.again or self.result
        return None if last is None else last.change

    @property
    def state(self) -> State:
        """In one word; whether it is running right now is not known here."""
        if self.error is not None:
            return "failed"
        if self.skipped_by is not None:
            return "skipped"
        if self.given_up is not None:
            return "given up"
        if self.left_out:
            return "left out"
        if self.conflicts and self.again is None:
            return "conflict"
        if self.result is None:
            return "queued"
        return "done" if self.result.status == "changed" else self.result.status

    @property
    def is_in(self) -> bool:
        """Whether what it changed is among what was merged."""
        settled = not self.conflicts or self.again is not None
        return self.change is not None and settled and self.given_up is None

    @property
    def is_kept(self) -> bool:
        """Whether its change is in no result, and is kept as a patch."""
        return self.state in ("conflict", "given up", "left out")

    def why_not_in(self, entries: Mapping[str, LeafEntry]) -> str | None:
        """Why the result is without it; None: it is in, or has nothing that could be."""
        if self.skipped_by is not None:
            return f"not begun: {entries[self.skipped_by].node.title} failed"
        if self.error is not None or self.given_up is not None:
            return self.error or self.given_up
        if not self.left_out:
            return None
        if self.left_out_with is None:
            return "the check fails with it"
        return f"it comes after {entries[self.left_out_with].node.title}, which is left out"
