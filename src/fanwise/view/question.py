"""What a paused run asks people, such as the gate of a workflow."""

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
