"""What is timed."""

from __future__ import annotations

import msgspec

from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.recording import Recording


class RecordedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of the target that were recorded from the tests, each once in a pass."""

    recording: Recording
    target: Target


class BenchCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the repository, timed from outside, from its start to its end.

    What it prints is not read: the candidate's code runs in it, and could print what it likes.
    """

    line: str


class BenchCall(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the repository without arguments: `bench:run`."""

    module: str
    name: str

    @classmethod
    def parse(cls, text: str) -> BenchCall:
        """`module:function`, as it is written in files."""
        module, _, name = text.partition(":")
        return cls(module=module, name=name)


Bench = RecordedCalls | BenchCommand | BenchCall
