"""Six candidates on two slots: no deadlock, two at once, and each measured with its own code."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from fanwise.kernel import events
from tests.marks import slow
from tests.optimize.sleepy import give, judge, log_of, sleepy, variant
from tests.optimize.support import code, unchanged
from tests.workspaces.support import commit, write

__all__ = ["sleepy"]

MEETING = code("""
    import os, pathlib, sys, time

    sys.path.insert(0, "src")

    from pkg.slow import MARK

    if MARK != "original":  # two must be here at once, or none goes on
        place = pathlib.Path(os.environ["MEET"])
        (place / MARK).touch()
        until = time.monotonic() + 60
        while len(list(place.iterdir())) < 2:
            assert time.monotonic() < until, "nobody came"
            time.sleep(0.01)
""")


class Alone:
    """Sees which stages are on the CPU at the same time."""

    def __init__(self) -> None:
        self.inside: set[str] = set()
        self.most_checks = 0
        self.beside: list[tuple[str, ...]] = []
        """What was there beside a benchmark."""
        self._keys: dict[tuple[str, int], str] = {}

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.ItemStarted) and "cpu" in event.needs:
            self._keys[event.path, event.index] = event.key
            self.inside.add(event.key)
            self._look()
        elif isinstance(event, events.ItemEnded):
            self.inside.discard(self._keys.pop((event.path, event.outcome.index), ""))

    def _look(self) -> None:
        checks = [key for key in self.inside if key.startswith("check:")]
        self.most_checks = max(self.most_checks, len(checks))
        if any(key.startswith("benchmark:") for key in self.inside) and len(self.inside) > 1:
            self.beside.append(tuple(sorted(self.inside)))


@slow
def test_six_that_pass_are_measured_each_with_its_own_code_and_alone(
    sleepy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = [f"m{number}" for number in range(6)]
    give(sleepy, **{mark: variant(mark) for mark in marks})
    write(sleepy / "project" / "meeting.py", MEETING)
    commit(sleepy / "project")
    (sleepy / "meet").mkdir()
    monkeypatch.setenv("MEET", str(sleepy / "meet"))
    alone = Alone()
    with unchanged(sleepy / "project"):
        result = judge(
            sleepy,
            test="python run.py && python meeting.py",
            bench={"command": "python bench.py", "budget": "60s"},
            subscribers=[alone],
        )
    assert [each.stage for each in result.verdicts] == ["benchmark"] * 6, result.table()
    assert result.failures == {}

    measured = log_of(sleepy, "bench")
    blocks = [mark for mark, _ in groupby(mark for mark, _ in measured if mark != "original")]
    assert sorted(blocks) == marks, "one after the other, and each with its own code"
    original = {where for mark, where in measured if mark == "original"}
    for mark in marks:
        places = {where for each, where in measured if each == mark}
        assert len(places) == 1, "one workspace for each"
    assert original

    assert alone.beside == [], "nothing else was on the CPU"
    assert alone.most_checks == 2
