"""What a paused run asks people, such as the gate of a workflow, and what they can do with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Question(msgspec.Struct, frozen=True):
    """A question that the run waits for an answer to."""

    name: str
    """Unique among the questions of the run."""
    text: str
    choices: Mapping[str, Sequence[str]]
    """The possible answers, each with the arguments of `fanwise resume` that give it."""
    shown: str = ""
    """What is to be decided about, such as a text to review."""


class Action(msgspec.Struct, frozen=True):
    """What people can do with a run, such as writing its result to the work tree."""

    label: str
    question: str
    """Asked first, because it spends, writes or ends something."""
    arguments: Sequence[str] = ()
    """Those of `fanwise resume` that do it."""


class AskedApproval(msgspec.Struct, frozen=True):
    """The event `approval`: what waits for somebody to agree before anything is spent."""

    lines: Sequence[str]
    question: str


APPROVAL = "approval"
