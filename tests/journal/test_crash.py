"""kill -9 at any moment: what was acknowledged is there, and nothing is there out of order."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from fanwise.journal.owner import current_owner
from fanwise.journal.sqlite import SqliteJournal
from tests.journal.conftest import Child
from tests.marks import slow_after

ROOT = str(Path(__file__).parents[2])

WRITE_FOR_EVER = """
    import os, sys
    from pathlib import Path
    from fanwise.journal.owner import current_owner
    from fanwise.journal.port import EventRecord, ItemEndWrite, ItemStartWrite
    from fanwise.journal.sqlite import SqliteJournal
    from tests.journal.conftest import a_run

    journal = SqliteJournal(Path(sys.argv[1]))
    journal.create_run(a_run(owner=current_owner()))

    def told(n):
        def then(error):
            assert error is None
            os.write(1, b"%d\\n" % n)
        return then

    n = 0
    while n < 200_000:
        # Three kinds of writes in turn, which the journal sorts within a batch.
        journal.submit(ItemStartWrite(1, str(n), n, 1.0), told(n))
        journal.submit(EventRecord("r", float(n + 1), "k", "{}"), told(n + 1))
        journal.submit(ItemEndWrite(1, str(n), n, "done", 1.0), told(n + 2))
        n += 3
"""


def submitted_and_present(journal: SqliteJournal) -> list[int]:
    """The numbers of the writes that are on disk, in the order of submission."""
    items = list(journal.items(1))
    starts = [item.index for item in items]
    ends = [item.index + 2 for item in items if item.status == "done"]
    events = [int(event.at) for event in journal.events("r")]
    return sorted(starts + events + ends)


def check_after_the_crash(process: subprocess.Popen[str], path: Path, last: str = "") -> int:
    assert process.stdout is not None
    assert process.stderr is not None
    out = process.stdout.read()  # not `communicate`, which forgets what readline had buffered
    assert process.wait(120) == -signal.SIGKILL, process.stderr.read()
    lines = (last + out).split("\n")[:-1]  # what follows the last newline was being printed
    acknowledged = [int(line) for line in lines]
    journal = SqliteJournal(path)
    present = submitted_and_present(journal)
    assert set(acknowledged) <= set(present), "acknowledged, and lost"
    assert present == list(range(len(present))), "a later write without an earlier one"
    claimed = journal.claim_run("r", current_owner())
    assert claimed.owner == current_owner(), "the run of a process that was killed is free"
    journal.close()
    return len(present) - len(acknowledged)


@pytest.mark.parametrize("visit", slow_after(1, [2, 1, 7]))
def test_killed_before_a_commit_nothing_of_the_batch_is_there(
    tmp_path: Path, child: Child, visit: int
) -> None:
    at = f"journal.before_commit:{visit}"
    process = child(WRITE_FOR_EVER, tmp_path / "j.db", FANWISE_CRASH_AT=at, PYTHONPATH=ROOT)
    untold = check_after_the_crash(process, tmp_path / "j.db")
    assert untold == 0


@pytest.mark.parametrize("visit", slow_after(1, [2, 1, 7]))
def test_killed_after_a_commit_the_batch_is_there_although_nobody_was_told(
    tmp_path: Path, child: Child, visit: int
) -> None:
    at = f"journal.after_commit:{visit}"
    process = child(WRITE_FOR_EVER, tmp_path / "j.db", FANWISE_CRASH_AT=at, PYTHONPATH=ROOT)
    untold = check_after_the_crash(process, tmp_path / "j.db")
    assert untold > 0


@pytest.mark.parametrize("acknowledged", slow_after(2, [1, 333, 10, 5_000, 30_000]))
def test_killed_at_any_moment_everything_acknowledged_is_there_in_order(
    tmp_path: Path, child: Child, acknowledged: int
) -> None:
    process = child(WRITE_FOR_EVER, tmp_path / "j.db", PYTHONPATH=ROOT)
    assert process.stdout is not None
    seen = "".join(process.stdout.readline() for _ in range(acknowledged))
    process.kill()
    check_after_the_crash(process, tmp_path / "j.db", seen)
