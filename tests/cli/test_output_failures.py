"""stdout, a file or the disk takes no more: a line or two that say what to do, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.cli.support import COMMAND, DEADLINE_S, Place, numbers

FULL = "> /dev/full"
CLOSED = ">&-"


def in_a_shell(place: Place, line: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    """With $fanwise in the line."""
    done = subprocess.run(
        ["sh", "-c", line.replace("$fanwise", " ".join(COMMAND))],
        input=given,
        capture_output=True,
        cwd=place.path,
        # A measurement of coverage in the child would itself fail on a full disk, and say so.
        env={k: v for k, v in os.environ.items() if not k.startswith(("COVERAGE_", "FANWISE_"))},
        timeout=DEADLINE_S,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert b"Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("where", [FULL, CLOSED])
def test_a_map_that_cannot_write_says_how_to_go_on_and_loses_nothing(
    place: Place, where: str
) -> None:
    code, _, err = in_a_shell(place, f"$fanwise map --run r -- echo {where}", numbers(3))
    assert code == 2
    assert err.startswith(b"fanwise: cannot write to stdout: ")
    assert b"fanwise resume r" in err
    assert len(err.splitlines()) == 2
    assert place.run("resume", "r").stdout == numbers(3)


def test_with_json_it_is_said_on_stderr(place: Place) -> None:
    code, _, err = in_a_shell(place, f"$fanwise map --run r --json -- echo {CLOSED}", numbers(3))
    assert (code, len(err.splitlines())) == (2, 2)
    assert b"cannot write to stdout" in err
    assert json.loads(place.run("runs", "--json").stdout)["runs"][0]["done"] == 3


def test_every_command_that_cannot_write_says_so(place: Place) -> None:
    place.run("map", "--run", "r", "--", "echo", given=numbers(3))
    for line in (
        f"export r {FULL}",
        f"export r --json {CLOSED}",
        "export r --format csv --output /dev/full",
        f"show r {CLOSED}",
        f"runs --json {FULL}",
    ):
        code, _, err = in_a_shell(place, f"$fanwise {line}")
        assert (code, len(err.splitlines())) == (2, 2), line
        assert err.startswith(b"fanwise: cannot write to "), line


def test_a_stderr_that_takes_nothing_changes_nothing(place: Place) -> None:
    line = "echo {}; echo {} >&2; exit {}"
    command = f"$fanwise map -- sh -c '{line}'"
    for where in ("2> /dev/full", "2>&-"):
        assert in_a_shell(place, f"{command} {where}", b"1\n")[:2] == (1, b"1\n")


def test_a_directory_is_no_input(place: Place) -> None:
    place.run("map", "--run", "r", "--", "true", given=b"")
    done = place.run("resume", "r", "--input", "/")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"cannot read /: Is a directory" in done.stderr


WITHIN = """
import os, sys
os.dup2(os.open("/", os.O_RDONLY), 0)
from fanwise.cli.main import main
main()
"""


def test_a_directory_is_no_stdin_and_nothing_is_written(place: Place) -> None:
    """From a shell it is Python that refuses it; a program may start us with one all the same."""
    done = subprocess.run(
        [sys.executable, "-c", WITHIN, "map", "--", "true"],
        capture_output=True, cwd=place.path, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"cannot read stdin: Is a directory" in done.stderr
    assert list(place.path.iterdir()) == []
    code, _, err = in_a_shell(place, "$fanwise map -- true < /")
    assert code != 0
    assert b"<stdin> is a directory" in err
    assert list(place.path.iterdir()) == []


def test_a_closed_stdin_is_an_error_and_not_an_empty_input(place: Place) -> None:
    code, _, err = in_a_shell(place, "$fanwise map -- true <&-")
    assert code == 2
    assert b"cannot read the input after line 0" in err


def test_a_file_in_the_way_is_said_before_there_is_a_run(place: Place) -> None:
    (place.path / "j.db.files").touch()
    done = place.run("map", "--journal", "j.db", "--", "true", given=b"a\n")
    assert done.returncode == 2
    assert b"j.db.files is in the way" in done.stderr
    assert not (place.path / "j.db").exists()


def test_the_resume_command_that_is_told_names_the_journal(place: Place) -> None:
    line = "$fanwise map --run r --journal 'my j.db' -- echo > /dev/full"
    told = in_a_shell(place, line, numbers(2))[2].decode().partition("then: ")[2]
    code, out, _ = in_a_shell(place, told.replace("fanwise", "$fanwise", 1))
    assert (code, out) == (0, numbers(2))


def test_an_output_whose_file_is_gone_is_told(place: Place) -> None:
    script = "head -c 300000 /dev/zero"
    place.run("map", "--run", "r", "--", "sh", "-c", script, given=b"a\n")
    shutil.rmtree(place.path / ".fanwise" / "journal.db.files" / "r")
    done = place.run("resume", "r")
    assert done.returncode == 2
    assert b"cannot read the output in" in done.stderr
