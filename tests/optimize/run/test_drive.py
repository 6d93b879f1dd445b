"""The driver on the real kernel, in virtual time: who runs beside whom, what a resume repeats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from fanwise import Caps, Exclusive, open_run
from fanwise.journal.open import open_journal
from fanwise.kernel.scope import current_run
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.run.drive import drive as run_board
from fanwise.optimize.state.board import Board, BoardOptions
from fanwise.optimize.state.item import CheckResult, OptimizeItem, PreparedCandidate
from fanwise.optimize.state.run_state import read_state
from fanwise.testing import run_virtual

SECONDS = {"baseline": 1.0, "prepare": 0.1, "check": 2.0, "benchmark": 5.0, "propose": 40.0}
ON_THE_CPU = ("baseline", "prepare", "check", "benchmark")


class Spell(NamedTuple):
    """A item, from when to when."""

    item: OptimizeItem
    began: float
    ended: float

    def beside(self, other: Spell) -> bool:
        return self.began < other.ended and other.began < self.ended


class Stages:
    """Takes as long as each kind of item takes, and passes everything."""

    def __init__(
        self, answers: Callable[[OptimizeItem], Sequence[Candidate]] = lambda _: ()
    ) -> None:
        self.spells: list[Spell] = []
        self._answers = answers

    async def __call__(self, item: OptimizeItem) -> Any:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(SECONDS.get(item.kind, 0.0))
        self.spells.append(Spell(item, began, loop.time()))
        return msgspec.to_builtins(self._value(item))

    def _value(self, item: OptimizeItem) -> Any:
        if item.kind == "prepare":
            assert item.candidate is not None
            passed = (Finding(stage="apply", ok=True),)
            return PreparedCandidate(findings=passed, digest=item.candidate.content)
        if item.kind == "check":
            return CheckResult(findings=(Finding(stage="test", ok=True),))
        if item.kind == "benchmark":
            return Speed(
                ratio=2, low=1.9, high=2.1, decision="accept", reason="", rounds=9,
                baseline_s=2, candidate_s=1, spent_s=5,
            )  # fmt: skip
        if item.kind == "propose":
            return {"candidates": self._answers(item)}
        if item.kind == "verdict":
            return {"place": item.number, "verdict": item.verdict}
        return "" if item.kind == "profile" else {}

    def of(self, *kinds: str) -> list[Spell]:
        return [each for each in self.spells if each.item.kind in kinds]

    @property
    def keys(self) -> list[str]:
        return sorted(each.item.key for each in self.spells)


def candidate(name: str, content: str | None = None, **more: Any) -> Candidate:
    return Candidate(key=name, name=name, kind="patch", content=content or name, **more)


def many(number: int) -> list[Candidate]:
    return [candidate(f"c{place}") for place in range(number)]


def drive(
    stages: Stages,
    given: Sequence[Candidate],
    *,
    slots: int = 2,
    run: Any = None,
    claimed: Any = None,
    **wanted: Any,
) -> Board:
    board = Board(given, BoardOptions(baseline=("tests",), **wanted), claimed)
    caps = Caps(workspaces=slots, cpu=Exclusive(slots), propose=8)
    run_virtual(run_board(board, stages, caps, run))
    return board


def test_six_that_all_pass_on_two_slots_are_all_measured() -> None:
    stages = Stages()
    board = drive(stages, many(6))
    assert all(each.verdict is not None for each in board.state.entries.values())
    assert len(stages.of("benchmark")) == 6


def test_what_is_measured_is_alone_on_the_cpu_and_checks_go_two_at_once() -> None:
    stages = Stages()
    drive(stages, many(6))
    others = stages.of(*ON_THE_CPU)
    noise = [each for each in others if each.item.stage == "noise"]
    for measured in [*noise, *stages.of("benchmark")]:
        assert [each.item.key for each in others if each.beside(measured)] == [measured.item.key]
    checks = stages.of("check")
    assert max(sum(each.beside(other) for other in checks) for each in checks) == 2
    tests = [each for each in others if each.item.stage == "tests"]
    assert all(each.ended <= stages.of("check")[0].began for each in tests)


def test_benchmarks_go_on_while_proposals_are_awaited() -> None:
    stages = Stages(lambda item: [candidate(f"p{item.number}", how="proposed")])
    board = drive(stages, many(2), proposals=3)
    asked = stages.of("propose")
    early = [each for each in stages.of("benchmark") if any(each.beside(one) for one in asked)]
    assert {each.item.candidate.name for each in early if each.item.candidate} >= {"c0", "c1"}
    assert len(board.state.entries) == 5


def test_no_check_waits_for_a_measurement_and_no_round_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All are checked before the noise is measured; a child is checked before all are measured."""

    def answers(item: OptimizeItem) -> list[Candidate]:
        assert item.candidate is not None
        parent = item.candidate.key
        return [candidate(f"{parent}+", parent=parent, how="refined", round=1)]

    monkeypatch.setitem(SECONDS, "propose", 0.5)
    stages = Stages(answers)
    drive(stages, many(12), refine=1)
    ends = {each.item.key: each for each in stages.spells}
    given = [ends[f"check:c{place}"] for place in range(12)]
    assert max(each.ended for each in given) <= ends["baseline:noise"].began
    slots = [sum(one.beside(each) for each in given) for one in given]
    assert set(slots[1:-1]) == {2}, "both slots are busy all the time"
    assert ends["check:c0+"].ended < ends["benchmark:c11"].began


def test_an_error_of_a_stage_ends_that_candidate_only() -> None:
    class Broken(Stages):
        async def __call__(self, item: OptimizeItem) -> Any:
            if item.key == "check:c1":
                raise OSError("no space left on device")
            return await super().__call__(item)

    board = drive(Broken(), many(3))
    assert board.state.entries["c1"].error == "OSError: no space left on device"
    assert [board.state.entries[key].verdict is None for key in ("c0", "c1", "c2")] == [
        False,
        True,
        False,
    ]


def test_if_the_original_cannot_be_tested_nothing_goes_on() -> None:
    class Broken(Stages):
        async def __call__(self, item: OptimizeItem) -> Any:
            if item.kind == "baseline":
                raise RuntimeError("pytest is not installed")
            return await super().__call__(item)

    stages = Broken(lambda _: [candidate("p")])
    board = drive(stages, many(2), proposals=1)
    assert repr(board.fatal) == "RuntimeError('pytest is not installed')"
    assert not stages.of("check", "propose"), "a proposal that is under way is ended"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def durable(journal: Path, stages: Stages, given: Sequence[Candidate], **wanted: Any) -> Board:
    async def main() -> Board:
        async with open_run("r", journal=journal, kind="optimize", spec={"candidates": []}) as run:
            assert run.journal is not None
            claimed = read_state(run.journal, "r", given).checked_for
            board = Board(given, BoardOptions(baseline=("tests",), **wanted), claimed)
            await run_board(board, stages, Caps(workspaces=2, cpu=Exclusive(2), propose=8), run)
            return board

    return run_virtual(main())


@pytest.mark.parametrize(
    "at", ["baseline:noise", "prepare:c1", "check:c0", "benchmark:c1", "verdict:c0", "propose:0"]
)
def test_a_run_that_ended_anywhere_goes_on_without_repeating_what_had_ended(
    journal: Path, at: str
) -> None:
    class Ending(Stages):
        async def __call__(self, item: OptimizeItem) -> Any:
            if item.key == at:
                run = current_run()
                assert run is not None
                run.cancel("somebody ended it")
            return await super().__call__(item)

    def answers(item: OptimizeItem) -> list[Candidate]:
        return [candidate("p", content="c0", how="proposed")]

    first = Ending(answers)
    assert not durable(journal, first, many(3), proposals=1).over
    second = Stages(answers)
    board = durable(journal, second, many(3), proposals=1)
    assert at in second.keys
    assert not set(first.keys) & set(second.keys)
    statuses = [each.verdict.status for each in board.state.entries.values() if each.verdict]
    assert statuses == ["accepted", "accepted", "accepted", "same"]
    third = Stages(answers)
    assert durable(journal, third, many(3), proposals=1).over
    assert third.keys == []


def test_the_journal_tells_what_became_of_every_candidate(journal: Path) -> None:
    class Broken(Stages):
        async def __call__(self, item: OptimizeItem) -> Any:
            if item.key == "benchmark:c2":
                raise OSError("no space left on device")
            return await super().__call__(item)

    answers: list[Candidate] = [candidate("p", content="c0", how="proposed")]
    given = [*many(3), candidate("equal", content="c2")]
    live = durable(journal, Broken(lambda _: answers), given, proposals=1).state
    with closing(open_journal(journal, read_only=True)) as found:
        recorded = read_state(found, "r", given)
    assert [each.candidate.name for each in recorded.verdicts] == ["c0", "c1", "p"]
    assert recorded.failures == {"benchmark:c2": "OSError: no space left on device"}
    assert set(recorded.unjudged) == {"c2", "equal"}
    assert set(recorded.baseline) == {"tests", "noise"}
    for name in ("verdicts", "waiting", "failures", "unjudged", "baseline", "counts", "complete"):
        assert getattr(recorded, name) == getattr(live, name), name
