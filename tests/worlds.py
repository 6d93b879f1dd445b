"""Random fan-outs, and the sequential model that their outcomes must equal.

A world is a list of planned items with needs, durations and failures, the caps, and a halt. The
same worlds drive the pure schedule and the real kernel in virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fanwise.core.halt import Halt
from fanwise.core.outcome import Outcome

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Planned:
    """One item: what it needs, how long each attempt takes, and how many fail first."""

    needs: dict[str, int]
    duration: int
    fails: bool
    bad_attempts: int = 0
    backoff: int = 0
    value: int = 0
    inside: tuple[Planned, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.fails


@dataclass(frozen=True)
class World:
    items: tuple[Planned, ...]
    cap: int
    caps: dict[str, int] = field(default_factory=dict)
    halt: str = "never"

    @property
    def rule(self) -> Halt:
        return {
            "never": Halt.never(),
            "failure": Halt.on_failure(),
            "success": Halt.on_success(),
            "when": Halt.when(lambda outcome: outcome.value == 3),
        }[self.halt]


def sequential(world: World) -> list[tuple[int, str, Any]]:
    """What a loop over the items would return."""
    results: list[tuple[int, str, Any]] = []
    for index, item in enumerate(world.items):
        status = "failed" if item.fails else "done"
        results.append((index, status, item.value if item.ok else None))
        if world.rule.judge(Outcome(index, *(("done", item.value) if item.ok else ("failed",)))):
            break
    return results


def planned(most: dict[str, int], *, depth: int = 0) -> st.SearchStrategy[Planned]:
    needs = st.fixed_dictionaries(
        {}, optional={name: st.integers(1, limit) for name, limit in most.items()}
    )
    inside = st.just(()) if depth == 0 else st.lists(planned({}), max_size=4).map(tuple)
    return st.builds(
        Planned,
        needs=needs,
        duration=st.integers(0, 9),
        fails=st.booleans() | st.just(False),
        bad_attempts=st.integers(0, 2),
        backoff=st.integers(0, 5),
        value=st.integers(0, 5),
        inside=inside,
    )


@st.composite
def worlds(draw: st.DrawFn, depth: int = 0) -> World:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    caps = {name: draw(st.integers(1, 3)) for name in names}
    items = draw(st.lists(planned(caps, depth=depth), max_size=14))
    halt = draw(st.sampled_from(["never", "failure", "success", "when"]))
    return World(tuple(items), draw(st.integers(1, 5)), caps, halt)
