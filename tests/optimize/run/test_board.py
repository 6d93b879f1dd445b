"""Which candidate goes through which stage when: the state machine, in every order of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.core.outcome import Outcome
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.state.board import Board, BoardOptions
from fanwise.optimize.state.item import CheckResult, OptimizeItem, PreparedCandidate
from fanwise.optimize.verdict import ORIGINAL

STAGES = ("tests", "recording")
Answers = Callable[[OptimizeItem], Sequence[Candidate]]
DECISIONS: dict[str, Literal["accept", "reject", "undecided"]] = {
    "accept": "accept",
    "twin": "accept",
    "reject": "reject",
    "undecided": "undecided",
}
FATES = ("accept", "reject", "undecided", "wrong", "unfit", "original", "twin")


def candidate(name: str, fate: str, **more: object) -> Candidate:
    """Its content says what will become of it: `fate:digest`."""
    given = {"key": name, "name": name, "kind": "function", "content": fate, **more}
    return Candidate(**given)  # type: ignore[arg-type]


def digest_of(given: Candidate) -> str:
    return "shared" if given.content == "twin" else given.key


def done(value: object) -> Outcome[object]:
    return Outcome(0, "done", msgspec.to_builtins(value))


def failed(error: Exception) -> Outcome[object]:
    return Outcome(0, "failed", None, error)


class World:
    """Does what items say, in an order that a random number decides."""

    def __init__(self, board: Board, order: int = 0, answers: Answers = lambda _: ()) -> None:
        self.board = board
        self._random = Random(order)
        self._answers = answers
        self.done: list[str] = []
        self.fails: set[str] = set()
        """Keys of items that come to nothing."""

    def run(self) -> World:
        waiting = self.board.begin()
        while waiting:
            item = waiting.pop(self._random.randrange(len(waiting)))
            assert item.key not in self.done
            self.done.append(item.key)
            waiting += self._perform(item)
        assert self.board.over
        return self

    def _perform(self, item: OptimizeItem) -> list[OptimizeItem]:
        if item.key in self.fails:
            return self.board.take(item, failed(OSError("the disk is full")))
        return self.board.take(item, done(self._value(item)))

    def _value(self, item: OptimizeItem) -> object:
        if item.kind == "baseline":
            return {}
        if item.kind == "propose":
            return {"candidates": self._answers(item)}
        if item.kind == "profile":
            return "slow: line 3"
        assert item.candidate is not None
        if item.kind == "verdict":
            return {"place": item.number, "verdict": item.verdict}
        fate = item.candidate.content
        if item.kind == "prepare":
            ok = fate != "unfit"
            return PreparedCandidate(
                findings=(Finding(stage="apply", ok=ok, reason="" if ok else "line 3"),),
                digest=digest_of(item.candidate),
                original=fate == "original",
                source=f"source of {item.candidate.name}",
            )
        assert self.known(*(f"baseline:{stage}" for stage in STAGES))
        if item.kind == "check":
            return CheckResult(findings=(Finding(stage="test", ok=fate != "wrong", reason="2"),))
        assert self.known("baseline:noise")
        return Speed(
            ratio=2, low=1.9, high=2.1, decision=DECISIONS[fate], reason="", rounds=9,
            baseline_s=2, candidate_s=1, spent_s=5,
        )  # fmt: skip

    def known(self, *keys: str) -> bool:
        return set(keys) <= set(self.done)

    @property
    def verdicts(self) -> dict[str, tuple[str, str | None]]:
        found: dict[str, tuple[str, str | None]] = {}
        state = self.board.state
        assert state.complete
        for key, entry in state.entries.items():
            verdict = entry.verdict
            found[key] = ("failed", None) if verdict is None else (verdict.status, verdict.same_as)
        return found


def made(fates: Sequence[str]) -> list[Candidate]:
    return [candidate(f"c{place}", fate) for place, fate in enumerate(fates)]


def board_of(fates: Sequence[str], **wanted: object) -> Board:
    return Board(made(fates), BoardOptions(baseline=STAGES, **wanted))  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(FATES), max_size=8), st.integers(), st.integers())
def test_the_verdicts_do_not_depend_on_who_was_quicker(
    fates: list[str], one: int, other: int
) -> None:
    first = World(board_of(fates), one).run().verdicts
    assert World(board_of(fates), other).run().verdicts == first
    assert len(first) == len(fates)


def test_of_equal_ones_the_first_in_order_is_judged_and_the_others_share_its_verdict() -> None:
    for order in range(30):
        world = World(board_of(["accept", "twin", "wrong", "twin", "twin"]), order).run()
        assert world.verdicts["c1"] == ("accepted", None)
        assert world.verdicts["c3"] == world.verdicts["c4"] == ("same", "c1")
        assert "check:c3" not in world.done
        shared = world.board.state.entries["c4"].verdict
        assert shared is not None
        assert shared.speed is not None
        assert "c1" in shared.reason
        assert shared.candidate.key == "c4"


def test_what_changes_nothing_is_the_same_as_the_original_and_never_run() -> None:
    world = World(board_of(["original"])).run()
    assert world.verdicts == {"c0": ("same", ORIGINAL)}
    assert not {"check:c0", "benchmark:c0"} & set(world.done)


def test_nothing_is_checked_after_its_first_failure() -> None:
    world = World(board_of(["unfit", "wrong"])).run()
    assert world.verdicts == {"c0": ("rejected", None), "c1": ("rejected", None)}
    assert not {"check:c0", "benchmark:c0", "benchmark:c1"} & set(world.done)


@given(st.lists(st.sampled_from(FATES), max_size=8), st.integers())
def test_no_check_waits_for_the_noise(fates: list[str], order: int) -> None:
    done = World(board_of(fates), order).run().done
    before = done[: done.index("baseline:noise")] if "baseline:noise" in done else done
    after = done[len(before) :]
    assert not [key for key in after if key.startswith(("prepare:", "check:"))]


def test_the_noise_is_measured_once_and_not_at_all_if_nobody_passes_the_checks() -> None:
    for order in range(20):
        none = World(board_of(["unfit", "original", "wrong", "wrong"]), order).run()
        assert "baseline:noise" not in none.done
        assert len(none.verdicts) == 4
        some = World(board_of(["unfit", "accept", "wrong", "accept"]), order).run()
        assert some.done.count("baseline:noise") == 1


@given(st.lists(st.sampled_from(FATES), min_size=1, max_size=6), st.integers(), st.data())
def test_what_cannot_be_judged_takes_only_its_equals_with_it(
    fates: list[str], order: int, data: st.DataObject
) -> None:
    world = World(board_of(fates), order)
    lost = data.draw(st.sampled_from(range(len(fates))))
    world.fails = {f"{kind}:c{lost}" for kind in ("prepare",)}
    found = world.run().verdicts
    assert found.pop(f"c{lost}") == ("failed", None)
    assert all(status != "failed" for status, _ in found.values())


def test_equals_of_one_that_could_not_be_judged_could_not_be_judged_either() -> None:
    world = World(board_of(["twin", "twin", "accept"]))
    world.fails = {"check:c0"}
    assert world.run().verdicts == {
        "c0": ("failed", None),
        "c1": ("failed", None),
        "c2": ("accepted", None),
    }
    state = world.board.state
    assert state.error(state.entries["c1"]) == "OSError: the disk is full"


def test_if_the_original_fails_nothing_is_judged() -> None:
    board = board_of(["accept"])
    (tests, prepare) = board.begin()
    error = ValueError("no tests ran")
    assert board.take(tests, failed(error)) == []
    assert board.fatal is error
    prepared = PreparedCandidate(findings=(Finding(stage="apply", ok=True),), digest="d")
    assert board.take(prepare, done(prepared)) == []
    assert board.over


def test_candidates_that_are_alike_to_the_letter_are_told_apart() -> None:
    twice = [candidate("c", "accept"), candidate("c", "accept")]
    board = Board(twice, BoardOptions(baseline=STAGES))
    assert list(board.state.entries) == ["c", "c-2"]


def answers(item: OptimizeItem) -> list[Candidate]:
    """A first proposal is wrong; a repair is accepted; what is refined is refined again."""
    if item.candidate is None:
        return [candidate(f"p{item.number}", "wrong", how="proposed")]
    parent = item.candidate
    how = "repaired" if item.key.startswith("repair:") else "refined"
    fate = "accept" if how == "refined" or parent.how == "repaired" else "wrong"
    name = f"{parent.name}+{how}"
    more = {"parent": parent.key, "how": how, "round": parent.round + 1}
    return [candidate(name, fate, **more)]


@pytest.mark.parametrize("order", range(5))
def test_failures_are_repaired_and_accepted_ones_refined_as_often_as_asked(order: int) -> None:
    board = board_of(["reject"], proposals=2, repair=2, refine=1, profiles=True)
    world = World(board, order, answers).run()
    line = [
        "p1", "p1+repaired", "p1+repaired+repaired", "p1+repaired+repaired+refined",
    ]  # fmt: skip
    assert [name for name in board.state.entries if name.startswith("p1")] == line
    assert world.verdicts["p1+repaired+repaired"] == ("accepted", None)
    # What is correct and not faster is no failure to repair; the refined one had its round.
    assert not {"repair:c0", "refine:c0", f"refine:{line[-1]}"} & set(world.done)
    assert world.done.index("profile:p1+repaired+repaired") < world.done.index(f"refine:{line[2]}")


def test_a_repair_is_told_what_was_wrong_and_what_it_looked_like() -> None:
    board = board_of(["wrong"], repair=1)
    asked: list[OptimizeItem] = []

    def answer(item: OptimizeItem) -> list[Candidate]:
        asked.append(item)
        return []

    World(board, 0, answer).run()
    (item,) = asked
    assert item.verdict is not None
    assert item.verdict.findings[-1].reason == "2"
    assert item.source == "source of c0"


def test_a_proposal_that_does_not_come_is_told_and_nothing_waits_for_it() -> None:
    world = World(board_of(["accept"], proposals=1))
    world.fails = {"propose:0"}
    assert world.run().verdicts == {"c0": ("accepted", None)}
    assert world.board.state.unproposed == {"propose:0": "OSError: the disk is full"}


@given(st.integers(), st.integers())
def test_a_resume_shares_verdicts_as_the_first_execution_did(one: int, other: int) -> None:
    """Children come in another order then, and still the same one of equals is judged."""

    def twins(item: OptimizeItem) -> list[Candidate]:
        return [candidate(f"p{item.number}", "twin", how="proposed")]

    wanted = BoardOptions(baseline=STAGES, proposals=3)
    first = World(Board([], wanted), one, twins).run()
    (judged,) = [key for key, found in first.verdicts.items() if found[0] == "accepted"]
    again = World(Board([], wanted, {"shared": judged}), other, twins).run()
    assert again.verdicts == first.verdicts


def test_if_the_one_that_was_judged_does_not_come_again_another_one_is() -> None:
    board = Board(made(["twin", "twin"]), BoardOptions(baseline=STAGES), {"shared": "gone"})
    assert World(board).run().verdicts == {"c0": ("accepted", None), "c1": ("same", "c0")}
