"""The question in words. Pure, and the same for the same leaf: goal, files, rules, feedback."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.plan.ended import Try


def prompt(
    *,
    goal: str,
    files: Sequence[str],
    context: str = "",
    tries: Sequence[Try] = (),
    again: bool = False,
    may_split: bool = False,
) -> str:
    """What whoever does the work is told; `files` as they are called there."""
    return goal
