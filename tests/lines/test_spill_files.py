"""Files of long outputs: each that an outcome refers to stays, and no other."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.support import Place, end, eventually, numbers, release

LONG = "head -c 300000 /dev/zero"


def spilled(place: Place) -> list[Path]:
    return sorted((place.path / ".fanwise" / "journal.db.files" / "r").glob("*.out"))


def recorded(place: Place) -> list[str]:
    rows = [json.loads(line) for line in place.run("export", "r").stdout.splitlines()]
    paths = [row[name] for row in rows for name in ("stdout_path", "stderr_path") if row.get(name)]
    return sorted(Path(path).name for path in paths)


def test_those_of_attempts_that_were_tried_again_are_removed(place: Place) -> None:
    script = f"echo x >> tries; {LONG}; [ $(wc -l < tries) -gt 2 ]"
    place.run("map", "--run", "r", "--retry", "3", "--", "sh", "-c", script, given=b"a\n")
    assert len(place.lines("tries")) == 3
    assert len(spilled(place)) == 1
    assert [path.name for path in spilled(place)] == recorded(place)


def test_those_of_a_killed_execution_are_removed_by_the_resume(place: Place) -> None:
    gate = place.fifo("gate")
    script = f"{LONG}; [ -e killed ] || [ $1 = 1 ] || cat gate"
    process = place.start(
        "map", "--run", "r", "--cap", "1", "--", "sh", "-c", script, "sh", given=numbers(2)
    )
    eventually(lambda: [path.stat().st_size for path in spilled(place)] == [300000, 300000])
    os.kill(process.pid, signal.SIGKILL)
    end(process)
    (place.path / "killed").touch()
    assert len(spilled(place)) == 2
    done = place.run("resume", "r")
    assert done.returncode == 0
    assert [path.name for path in spilled(place)] == recorded(place)
    assert len(recorded(place)) == 2
    assert not gate.is_file()


def test_those_of_what_failed_before_are_removed_when_it_has_run_again(place: Place) -> None:
    script = f"{LONG}; [ -e mended ]"
    place.run("map", "--run", "r", "--", "sh", "-c", script, given=b"a\n")
    before = spilled(place)
    (place.path / "mended").touch()
    place.run("resume", "r", "--retry-failed")
    assert [path.name for path in spilled(place)] == recorded(place)
    assert len(before) == 1
    assert spilled(place) != before


@pytest.mark.parametrize("more", [[], ["--retry", "1"]])
def test_those_of_outcomes_behind_a_halt_stay(place: Place, more: list[str]) -> None:
    """Line 2 had ended when line 1 failed: it is recorded, and a resume does not get so far."""
    gate = place.fifo("gate")
    script = f"{LONG}; [ $1 = 2 ] && exit; [ -e failed ] || cat gate; touch failed; exit 1"
    process = place.start(
        "map", "--run", "r", "--cap", "2", "--halt", "failure", *more, "--", "sh", "-c", script,
        "sh", given=numbers(2),
    )  # fmt: skip
    eventually(lambda: len(spilled(place)) == 2 and len(recorded(place)) == 1)
    release(gate)
    end(process)
    assert len(recorded(place)) == 2
    for _ in range(2):
        assert [path.name for path in spilled(place)] == recorded(place)
        assert place.run("resume", "r").returncode == 130


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_all_that_a_map_leaves_in_its_folder_is_private(
    options: tuple[str, ...], place: Place
) -> None:
    place.run("map", "--run", "r", *options, "--", "sh", "-c", LONG, given=b"a\n")
    made = [place.path / ".fanwise", *(place.path / ".fanwise").rglob("*")]
    assert len(spilled(place)) == 1
    assert {oct(path.stat().st_mode) for path in made} == {"0o40700", "0o100600"}
