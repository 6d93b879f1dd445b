"""The disk fills up in the middle of a run: what was recorded is kept, and a resume does the rest.

A limit on the size of files (ulimit -f, in blocks of 512 or 1024 bytes) stands for the full disk.
"""

from __future__ import annotations

import json

from tests.cli.support import Place, numbers
from tests.cli.test_output_failures import in_a_shell

LINES = 12
SIZE = 60_000
EXPECTED = b"".join(b"%*d" % (SIZE, number) for number in range(1, LINES + 1))


def test_a_journal_that_is_full_ends_the_run_and_the_resume_is_told(place: Place) -> None:
    line = f"ulimit -f 400; $fanwise map --run r --cap 2 -- printf %{SIZE}d"
    code, first, err = in_a_shell(place, line, numbers(LINES))
    assert code == 2
    assert len(err.splitlines()) == 2
    assert err.startswith(b"fanwise: cannot write to ")
    assert err.rstrip().endswith(b"then: fanwise resume r")
    assert first != EXPECTED
    (place.path / "lines").write_bytes(numbers(LINES))
    resumed = place.run("resume", "r", "--input", "lines")
    assert (resumed.returncode, first + resumed.stdout == EXPECTED) == (0, True)


def test_a_journal_that_cannot_be_made_does_not_speak_of_resuming(place: Place) -> None:
    code, out, err = in_a_shell(place, "ulimit -f 1; $fanwise map --run r -- echo", numbers(3))
    assert (code, out) == (2, b"")
    assert b"not a readable journal" not in err
    assert b"resume" not in err
    assert b"Nothing was started" in err


def test_a_disk_that_is_full_is_not_the_failure_of_the_line(place: Place) -> None:
    script = "head -c 2000000 /dev/zero"
    line = f"ulimit -f 1500; $fanwise map --run r --retry 1 -- sh -c '{script}'"
    code, out, err = in_a_shell(place, line, b"a\n")
    assert (code, out) == (2, b"")
    assert b"where a command's output goes" in err
    assert err.rstrip().endswith(b"then: fanwise resume r")
    assert json.loads(place.run("show", "r", "--json").stdout)["failures"] == []
    resumed = place.run("resume", "r")
    assert (resumed.returncode, len(resumed.stdout)) == (0, 2_000_000)
