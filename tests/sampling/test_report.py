"""What people are told of a file of samples."""

from __future__ import annotations

from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import ModelRefused, ModelRejected
from fanwise.sampling import sample
from fanwise.sampling.views.text import end_of
from fanwise.testing import virtual_time

from .support import GOOD, by_turn, good


@virtual_time
async def test_all_kinds_of_errors_of_chains_are_told_and_of_many_inputs_the_first() -> None:
    rows: list[list[Any]] = [[ModelRefused("no")], [ModelRejected("bad")], [ModelRefused("no")]]
    result = await sample(by_turn(*rows, ["x", GOOD]), "x", [good])
    assert result.ok
    outcomes = [Outcome(n, "done", result.to_json(), given_key=f"k{n}") for n in range(9)]
    end = end_of(outcomes, 9, alone=False)
    assert end.exit_code == 0
    assert end.notes[:3] == [
        "9 of 9 valid",
        "  k0 had an error: ModelRefused: no",
        "  k0 had an error: ModelRejected: bad",
    ]
    assert end.notes[11:] == ["  … and 8 more"]
