"""An incomplete comparison is not a pass, and calls that nobody makes reject nobody."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fanwise.errors import NotJudged
from fanwise.optimize.differential.baseline import Baseline
from fanwise.optimize.differential.check import check_differential
from fanwise.optimize.differential.compare import Differs
from fanwise.optimize.differential.observe import read_observations
from fanwise.optimize.differential.plan import PlannedCall
from fanwise.optimize.differential.weigh import name_of, weigh
from fanwise.processes import CommandResult
from fanwise.processes.result import Capture
from tests.marks import slow
from tests.optimize.differential.support import SETTINGS, Original, checkout, run

MODULE = """
    def f(n):
        found = []
        i = 0
        while i < n:
            found = found + [i]
            i += 1
        return found
"""
TEST = "from mod import f\nassert f(3) == [0, 1, 2]\n"
FASTER = "def f(n): return list(range(n))\n"
KILLER = """
    import os, signal
    def f(n):
        if n == 4:
            os.kill(os.getppid(), signal.SIGKILL)
        return list(range(n))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return Original(tmp_path_factory.mktemp("closed"), MODULE, TEST)


def checked(original: Original, module: str, baseline: Baseline | None = None, **more: object):  # type: ignore[no-untyped-def]
    site = checkout(original.folder / "checked", module)
    return run(
        check_differential(
            original.site, site, original.target, baseline or original.baseline, SETTINGS,
            budget_s=1.0, **more,  # type: ignore[arg-type]
        )
    )  # fmt: skip


def test_a_candidate_that_kills_the_supervisor_is_not_judged(original: Original) -> None:
    with pytest.raises(NotJudged, match=r"\d+ of \d+ calls were compared: the check ended early"):
        checked(original, KILLER)


def test_a_stream_that_was_cut_says_so() -> None:
    line = msgspec.json.encode({"word": "w", "id": 1, "steps": []}) + b"\n"
    result = CommandResult(exit_code=1, stdout=Capture(data=line))
    seen = read_observations(result, "w", {1, 2}, 0)
    assert set(seen.seen) == {1}
    assert seen.cut.startswith("the check ended early")
    whole = line + msgspec.json.encode({"word": "w", "over": True}) + b"\n"
    result = CommandResult(exit_code=0, stdout=Capture(data=whole))
    assert read_observations(result, "w", {1, 2}, 0).cut == ""


@slow
def test_far_fetched_calls_are_told_reject_if_asked_and_can_be_waived(original: Original) -> None:
    finding, difference = checked(original, FASTER)
    assert (finding.ok, difference) == (True, None)
    assert finding.differs == ("TypeError for float n", "TypeError for broken float n")
    assert "differs on: TypeError for float n" in finding.reason
    finding, difference = checked(original, FASTER, strict=True)
    assert not finding.ok
    assert difference is not None
    assert difference.call.startswith("f(")
    finding, _ = checked(original, FASTER, strict=True, allow=finding_names(original))
    assert finding.ok
    assert finding.allowed == ("TypeError for float n", "TypeError for broken float n")


def finding_names(original: Original) -> tuple[str, ...]:
    return tuple(checked(original, FASTER)[0].differs)


def test_a_waiver_never_covers_a_recorded_call() -> None:
    step = {"out": ["raise", "TypeError", "no", False, None]}
    entry = PlannedCall(1, 0, "as recorded", "strict", "once")
    differs = Differs(entry, 0, "exception", {"out": ["value", None]}, step)
    found = weigh([differs], strict=False, allow=[name_of(differs)])
    assert (found.rejecting, found.allowed) == ([differs], [])


def test_a_true_for_a_number_that_comes_back_as_it_is_rejects_nobody() -> None:
    def differs(label: str, ours: object, theirs: object) -> Differs:
        entry = PlannedCall(1, 0, label, "strict", "once")
        one, other = ({"out": ["value", None], "args": [[], [], x]} for x in (ours, theirs))
        return Differs(entry, 0, "value", one, other)

    given = differs("[0] one element, True", 1, True)
    subclass = differs("[0][0] a subclass", 5, ["object", None, "IntLike", ["base", 5]])
    for each in (given, subclass):
        assert weigh([each], strict=False, allow=()).rejecting == []
        assert weigh([each], strict=True, allow=()).rejecting == [each]
    for bad in (
        differs("[0] one element, True", True, 1),  # a cache that takes one for the other
        differs("[0] one element, True", 2, True),
        differs("[0] one element", 1, True),
    ):
        assert weigh([bad], strict=False, allow=()).rejecting == [bad]


@slow
def test_an_object_that_only_a_constructor_can_make_is_not_held_against_a_candidate(
    tmp_path: Path,
) -> None:
    module = """
        class Box:
            def __init__(self, n): self.n = n
            def grow(self): self.n += 1
            def f(self, k): return [self.n] * k
    """
    test = "from mod import Box\nbox = Box(3)\nbox.grow()\nbox.f(2)\n"
    original = Original(tmp_path, module, test, "Box.f")
    added = module.replace("self.n = n", "self.n, self.one = n, 1").replace(
        "* k", "* (self.one * k)"
    )
    with pytest.raises(NotJudged, match="its object lacks what its constructor adds"):
        checked(original, added)
