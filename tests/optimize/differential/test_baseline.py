"""What of the original can be relied on, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fanwise.optimize.differential.baseline import Baseline
from fanwise.optimize.differential.check import check_differential
from tests.marks import slow
from tests.optimize.differential.support import SETTINGS, Original, run

TEST = "from mod import f\nf([1, 2, 3])\n"


def test_an_original_that_is_never_the_same_cannot_be_checked_and_says_so(tmp_path: Path) -> None:
    module = "import os\ndef f(xs): return os.urandom(8)\n"
    original = Original(tmp_path, module, TEST)
    assert "behaves differently each time" in original.baseline.problem
    work = check_differential(
        original.site, original.site, original.target, original.baseline, SETTINGS
    )
    finding, difference = run(work)
    assert (finding.ok, difference) == (False, None)
    assert finding.reason.startswith("could not be checked")


def test_calls_that_differ_with_themselves_are_left_out_and_the_others_count(
    tmp_path: Path,
) -> None:
    module = "import os\ndef f(xs): return sum(xs) if len(xs) != 1 else os.urandom(8)\n"
    original = Original(tmp_path, module, TEST)
    assert original.baseline.problem == ""
    assert any("behaves differently each time" in note for note in original.baseline.notes)
    assert original.differs(module) == []
    assert original.differs("def f(xs): return sum(xs) + (len(xs) > 5)\n")


def test_an_order_that_is_the_hash_seeds_is_not_held_against_anybody(tmp_path: Path) -> None:
    test = "from mod import f\nf(['a', 'b', 'c', 'd', 'e'])\n"
    original = Original(tmp_path, "def f(xs): return list(set(xs))\n", test)
    assert original.baseline.unordered
    assert original.differs("def f(xs): return list({x: 0 for x in set(xs)})[::-1]\n") == []
    assert original.differs("def f(xs): return list(set(xs))[:3]\n")


def test_chance_is_the_same_on_both_sides(tmp_path: Path) -> None:
    module = "import random\ndef f(xs): return [random.random() for _ in xs]\n"
    original = Original(tmp_path, module, TEST)
    assert original.differs(module) == []
    assert original.differs("import random\ndef f(xs): return [0.5 for _ in xs]\n")


def test_a_function_that_no_test_calls_cannot_be_checked(tmp_path: Path) -> None:
    original = Original(tmp_path, "def f(xs): return xs\n", "import mod\n")
    assert "never call it" in original.baseline.problem


@slow
def test_a_call_without_an_end_on_the_original_is_left_out(tmp_path: Path) -> None:
    module = """
        def f(xs):
            while len(xs) == 1: pass
            return sum(xs)
    """
    original = Original(tmp_path, module, TEST)
    assert any("timed out, crashed" in note for note in original.baseline.notes)
    assert original.differs("def f(xs): return sum(xs) if len(xs) != 1 else 7\n") == []
    assert original.differs("def f(xs): return sum(xs[:8]) if len(xs) != 1 else 7\n")


@slow
def test_where_the_original_runs_out_of_stack_a_candidate_may_run_for_ever(tmp_path: Path) -> None:
    module = "def f(n: int) -> int:\n    return n if n < 2 else f(n - 1) + f(n - 2)\n"
    original = Original(tmp_path, module, "from mod import f\nf(3), f(12)\n")
    assert any("overflowed the stack" in note for note in original.baseline.notes)
    loop = """
        def f(n: int) -> int:
            a, b = 0, 1
            while n >= 2:
                n, a, b = n - 1, b, a + b
            return {}
    """
    assert original.differs(loop.format("a + b if b > 1 or a else n"), allowed_s=2.0)
    right = loop.format("n if (a, b) == (0, 1) else b")
    assert original.differs(right, allowed_s=2.0) == []


@slow
def test_what_the_original_merely_fails_on_is_not_asked_of_a_candidate(tmp_path: Path) -> None:
    module = "def f(a, b, c):\n    return sum(range(a)) + sum(range(b)) + sum(range(c))\n"
    original = Original(tmp_path, module, "from mod import f\nf(3, 4, 5)\n")
    hangs = """
        def f(a, b, c):
            while not all(isinstance(each, int) for each in (a, b, c)): pass
            return sum(map(sum, map(range, (a, b, c))))
    """
    assert original.differs(hangs, allowed_s=0.5) == []
    assert original.differs(hangs.replace("map(sum", "map(len"), allowed_s=0.5)


def test_it_can_be_written_down_and_read_again(tmp_path: Path) -> None:
    original = Original(tmp_path, "def f(xs): return xs\n", TEST)
    text = msgspec.json.encode(original.baseline)
    assert msgspec.json.encode(msgspec.json.decode(text, type=Baseline)) == text


@slow
def test_hints_take_out_what_they_do_not_admit_and_add_what_they_do(tmp_path: Path) -> None:
    module = "def f(n: int, words: list[str]) -> int:\n    return n * 2 + len(words)\n"
    original = Original(tmp_path, module, "from mod import f\nf(3, ['a'])\n")
    labels = [entry.label for entry in original.baseline.plan.entries]
    assert "by its hints" in labels
    assert "[0] True" in labels
    assert not {"[0] a float", "[0] None", "[1] a stream", "[1] None"} & set(labels)
    assert original.differs("def f(n, words): return (n << 1) + len(words)\n") == []
