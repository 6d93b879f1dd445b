"""The live view: candidates, the stage of each, and the time that is left, drawn from events."""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.core.stats import Stats
from fanwise.kernel import events
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.state.item import CheckResult, PreparedCandidate
from fanwise.optimize.views.live import LiveCandidates
from tests.optimize.made import candidate, verdict

LONG = "f([3, 1]): it returns [1, 3], the original returns [3, 1] " * 4
NOISE = {
    "spread": 0.01, "smallest_gain": 1.03, "pairs": 8, "pair_s": 1.5, "baseline_s": 0.1,
    "pinned": True, "spent_s": 12.0,
}  # fmt: skip


class World:
    """A run, event by event."""

    def __init__(self, *names: str, path: str = "optimize") -> None:
        self.path = path
        self.drawing = LiveCandidates([candidate(name) for name in names], slots=2)
        self.drawing(events.FanOutStarted(at=0.0, path=path, cap=4, total=None))

    def starts(self, key: str, at: float = 0.0) -> None:
        self.drawing(events.ItemStarted(at=at, path=self.path, index=0, key=key, needs=()))

    def ends(self, key: str, value: Any) -> None:
        found = Outcome(0, "done", msgspec.to_builtins(value), given_key=key)
        self.drawing(events.ItemEnded(at=1.0, path=self.path, outcome=found))

    def lines(self, now: float = 10.0, rows: int = 40, width: int = 100) -> list[str]:
        return ["".join(text for text, _ in line) for line in self.drawing.lines(now, rows, width)]


def checked(seconds: float) -> CheckResult:
    return CheckResult(findings=(Finding(stage="test", ok=True, seconds=seconds),))


def test_each_candidate_is_shown_with_its_stage_and_how_long_it_is_in_it() -> None:
    world = World("a", "b", "c")
    world.starts("baseline:tests", at=2.0)
    assert world.lines()[0].split() == ["the", "original", "runs", "its", "tests,", "8", "s"]
    world.ends("baseline:tests", {"tests": {}, "exit_code": 0, "seconds": 4.0})
    world.starts("prepare:a", at=9.0)
    assert [line.split() for line in world.lines()[:3]] == [
        ["a", "is", "applied", "and", "compiled,", "1", "s"], ["b", "waits"], ["c", "waits"],
    ]  # fmt: skip
    world.ends("prepare:a", PreparedCandidate(findings=(Finding(stage="apply", ok=True),)))
    world.starts("check:a", at=9.0)
    assert "is tested, 1 s" in world.lines()[0]
    world.drawing(
        events.StageBegan(
            at=9.5, path="optimize", index=0, key="check:a", stage="compare", number=1
        )
    )
    assert "is compared, 1 s" in world.lines()[0]
    world.ends("check:a", checked(6.0))
    assert "passed its checks, waits to be measured" in world.lines()[0]
    world.starts("benchmark:a", at=3.0)
    assert "is measured, 7 s" in world.lines()[0]


def test_the_time_that_is_left_follows_from_what_checks_and_pairs_have_taken() -> None:
    world = World("a", "b", "c")
    assert world.lines()[-1].split() == ["c", "waits"], "nothing is known yet"
    world.ends("baseline:tests", {"tests": {}, "exit_code": 0, "seconds": 4.0})
    assert world.lines()[-1] == "3 to check, about 6 s left, and then the measurements"
    world.ends("check:a", checked(10.0))
    assert world.lines()[-1] == "2 to check, about 10 s left, and then the measurements"
    world.ends("baseline:noise", NOISE)
    assert world.lines()[-1] == "about 46 s left: a decision takes about 12 s"


def test_reasons_are_wrapped_and_not_cut_off() -> None:
    world = World("a", "b")
    given = verdict("a", candidate=candidate("a"), reason=LONG)
    world.ends("verdict:a", {"place": 0, "verdict": given})
    shown = world.lines(width=60)
    assert "waits" in shown[0], "who is over comes last"
    assert " ".join(LONG.split()) in " ".join(" ".join(shown).split())
    assert all(len(line) <= 60 for line in shown)
    assert len(world.lines(rows=2, width=60)) == 2


def test_one_function_after_another_is_shown_under_its_name() -> None:
    world = World(path="hot/pkg%2Fa.py::f/optimize")
    world.starts("propose:0")
    world.starts("propose:1")
    assert world.lines() == ["pkg/a.py::f", "  2 proposals awaited"]
    world.ends("propose:0", {"candidates": [candidate("p")]})
    assert any(line.split() == ["p", "waits"] for line in world.lines())
    world.drawing(events.FanOutEnded(at=2.0, path=world.path, stats=Stats()))
    world.drawing(
        events.FanOutStarted(at=0.0, path="hot/pkg%2Fb.py::g/optimize", cap=4, total=None)
    )
    assert world.lines() == ["pkg/b.py::g"], "what was before is over"


def test_events_of_other_fan_outs_change_nothing() -> None:
    world = World("a")
    before = world.lines()
    world.drawing(
        events.ItemStarted(at=0, path="optimize/check:a/test", index=0, key="test", needs=())
    )
    assert world.lines() == before
