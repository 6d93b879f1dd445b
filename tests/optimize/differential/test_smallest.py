"""The smallest call in which a candidate differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.optimize.differential.check import check_differential
from fanwise.optimize.differential.compare import Difference
from tests.marks import slow, slow_after
from tests.optimize.differential.support import SETTINGS, Original, checkout, run
from tests.optimize.trap_corpus import Trap, read_traps

TRAPS = {trap.name: trap for trap in read_traps()}
BY_KIND = {
    "duplicate_edges": "value",
    "exception_type": "exception",
    "laziness": "generator",
    "global_state": "globals",
    "cache_key_collision": "value",
    "shared_buffer": "value",
}


def difference(trap: Trap, folder: Path, *, budget_s: float = 1.0) -> Difference:
    original = Original(folder, trap.original, trap.test, trap.target)
    site = checkout(folder / "wrong", trap.wrong[0].source, trap.test)
    finding, found = run(
        check_differential(
            original.site, site, original.target, original.baseline, SETTINGS, budget_s=budget_s
        )
    )
    assert not finding.ok
    assert found is not None
    assert found.call in finding.reason
    return found


@pytest.mark.parametrize("name", slow_after(1, BY_KIND))
def test_the_difference_says_what_both_sides_do(name: str, tmp_path: Path) -> None:
    found = difference(TRAPS[name], tmp_path)
    assert found.kind == BY_KIND[name]
    assert found.call.startswith("f(")
    assert found.expected != found.got


@slow
def test_it_is_small(tmp_path: Path) -> None:
    found = difference(TRAPS["dropped_pairs"], tmp_path, budget_s=60.0)
    numbers = found.call.partition("[")[2].partition("]")[0].split(",")
    assert len(numbers) <= 3
    assert found.expected.startswith("returns [(")
    assert found.got != found.expected


def test_what_cannot_be_written_down_is_named_by_its_variation(tmp_path: Path) -> None:
    module = "def f(xs, key): return sorted(xs, key=key)\n"
    test = "from mod import f\nf([2, 1], lambda n: n)\n"
    original = Original(tmp_path, module, test)
    site = checkout(tmp_path / "wrong", "def f(xs, key): return sorted(xs)[::-1]\n")
    finding, found = run(
        check_differential(original.site, site, original.target, original.baseline, SETTINGS)
    )
    assert not finding.ok
    assert found is not None
    assert found.call == "f(…): as recorded"
