"""SIGKILL at every named point and at random moments, then resume: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fanwise import Outcomes
from fanwise.errors import RunNotFound
from fanwise.journal.open import open_journal
from fanwise.journal.port import ItemRecord
from fanwise.testing import CRASH_POINTS
from tests.kernel import crash_program
from tests.marks import slow_after, slow_unless

ROOT = Path(__file__).parents[2]


class Scene:
    """One journal, one log of executions, and what was on disk after the kill."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / "journal.db"
        self.log = folder / "log"
        self.rows: dict[str, ItemRecord] = {}

    def start(self, crash_at: str = "") -> subprocess.Popen[bytes]:
        env = {**os.environ, "FANWISE_CRASH_AT": crash_at}
        argv = [sys.executable, "-m", crash_program.__name__, str(self.journal), str(self.log)]
        return subprocess.Popen(argv, cwd=ROOT, env=env)

    def look(self) -> None:
        """Read what is on disk, as the next process will find it."""
        if not self.journal.exists():
            return
        journal = open_journal(self.journal)
        try:
            for fan_out in journal.fan_outs(crash_program.RUN_ID):
                self.rows.update({row.key: row for row in journal.items(fan_out.id)})
        except RunNotFound:
            pass
        finally:
            journal.close()

    def executed(self) -> Counter[str]:
        """How often each item was begun, by the program's own account."""
        return Counter(word for word in self._words() if not word.startswith("twice:"))

    def named_inside(self) -> set[str]:
        """Nested items that the resumed program was told may have run twice."""
        return {word.removeprefix("twice:") for word in self._words() if "twice:" in word}

    def _words(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def resume(self) -> Outcomes[Any]:
        return asyncio.run(crash_program.main(str(self.journal), str(self.log)))

    def ended(self) -> set[str]:
        return {key for key, row in self.rows.items() if row.status in ("done", "failed")}

    def left_open(self) -> set[str]:
        return {key for key, row in self.rows.items() if row.status == "started"}


def brief(outcomes: Outcomes[Any]) -> list[tuple[str, Any, str]]:
    """Errors by their text: what is read from the journal is a RecordedError with the same."""
    return [(o.status, o.value, str(o.error or "").rpartition(": ")[2]) for o in outcomes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any, str]]:
    return brief(Scene(tmp_path_factory.mktemp("undisturbed")).resume())


def check_resume(scene: Scene, undisturbed: list[tuple[str, Any, str]]) -> None:
    before = scene.executed()
    scene.look()
    outcomes = scene.resume()
    after = scene.executed()
    again = after - before
    assert brief(outcomes) == undisturbed
    assert not scene.ended() & set(again), "an item with a recorded outcome ran again"
    # One in ten is retried: begun twice by design.
    twice = {item for item, times in after.items() if times > 1 + (item[-1] == "6")}
    named = {outcome.key for outcome in outcomes.may_have_run_twice}
    top = {key for key in scene.left_open() if "." not in key}
    assert named == top, "what is named is what had started without an end"
    assert scene.named_inside() == scene.left_open() - top, "nested items are named too"
    assert twice <= scene.left_open(), "an item ran twice and its start was not on disk"
    assert set(before) <= set(scene.rows), "work began before its start was on disk"


VISITS = {"run.created": [1], "run.before_end": [1]}


@pytest.mark.parametrize(
    ("point", "visit"),
    slow_unless(
        [(point, 1) for point in CRASH_POINTS],
        [(point, visit) for point in CRASH_POINTS for visit in VISITS.get(point, [1, 4, 37])],
    ),
)
def test_a_kill_at_a_crash_point_loses_nothing(
    point: str, visit: int, tmp_path: Path, undisturbed: list[tuple[str, Any, str]]
) -> None:
    scene = Scene(tmp_path)
    program = scene.start(f"{point}:{visit}")
    code = program.wait(60)
    fewer_batches_than_visits = point.startswith("journal.") and code == 0
    assert code == -signal.SIGKILL or fewer_batches_than_visits
    check_resume(scene, undisturbed)


@pytest.mark.parametrize("seed", slow_after(3, range(50)))
def test_a_kill_at_a_random_moment_loses_nothing(
    seed: int, tmp_path: Path, undisturbed: list[tuple[str, Any, str]]
) -> None:
    """The moment: when the log has reached a random size, as fast as it can be seen."""
    scene = Scene(tmp_path)
    size = random.Random(seed).randint(0, 200)
    program = scene.start()
    while program.poll() is None and (scene.log.stat().st_size if scene.log.exists() else 0) < size:
        os.sched_yield()
    program.kill()
    program.wait(60)
    check_resume(scene, undisturbed)


def test_a_run_that_was_killed_again_and_again_ends_all_the_same(
    tmp_path: Path, undisturbed: list[tuple[str, Any, str]]
) -> None:
    scene = Scene(tmp_path)
    for visit in (3, 9, 14, 2):
        scene.start(f"item.worked:{visit}").wait(60)
    outcomes = scene.resume()
    assert brief(outcomes) == undisturbed
