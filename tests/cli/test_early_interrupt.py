"""Ctrl-C before the run has begun, at any moment of the start: a line, 130, and no traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.cli.support import DEADLINE_S, Place, numbers

AT_IMPORT = """
import builtins, os, signal, sys
from fanwise.cli.main import main
there = builtins.__import__
def look(name, *rest):
    if name == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return there(name, *rest)
builtins.__import__ = look
main()
"""
FROM_THE_START = """
import builtins, os, signal, sys
there = builtins.__import__
def look(name, *rest):
    if name == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return there(name, *rest)
builtins.__import__ = look
from fanwise.cli.main import main
main()
"""
AT_CALL = """
import os, signal
import {module} as module
there = module.{function}
def interrupted(*args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return there(*args, **options)
module.{function} = interrupted
from fanwise.cli.main import main
main()
"""


def run(place: Place, code: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        input=numbers(3),
        capture_output=True,
        cwd=place.path,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.parametrize("name", ["typer", "fanwise.lines.run.execution"])
def test_while_importing_it_is_a_line(place: Place, name: str) -> None:
    done = run(place, AT_IMPORT.format(name=name), "map", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"fanwise: interrupted\n")
    assert list(place.path.iterdir()) == []


@pytest.mark.parametrize("name", ["msgspec", "fanwise.core.outcome", "asyncio"])
def test_while_importing_what_the_library_needs_it_is_a_line_too(place: Place, name: str) -> None:
    done = run(place, FROM_THE_START.format(name=name), "map", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"fanwise: interrupted\n")
    assert list(place.path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("fanwise.journal.open", "open_journal"),
        ("fanwise.journal.owner", "current_owner"),
        ("fanwise.lines.state.counts", "known_inputs"),
    ],
)
def test_while_the_run_is_made_its_resume_is_named_and_no_line_is_lost(
    place: Place, module: str, function: str
) -> None:
    code = AT_CALL.format(module=module, function=function)
    done = run(place, code, "map", "--run", "r", "--", "echo")
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr
    assert b"to continue: fanwise resume r\n" in done.stderr
    resumed = place.run("resume", "r")
    assert (resumed.returncode, done.stdout + resumed.stdout) == (0, numbers(3))
    assert json.loads(place.run("runs", "--json").stdout)["runs"][0]["total"] == 3


def test_sigterm_is_told_too(place: Place) -> None:
    code = AT_CALL.format(module="fanwise.journal.open", function="open_journal")
    done = run(place, code.replace("SIGINT", signal.SIGTERM.name), "map", "--run", "r", "echo")
    assert done.returncode == 130
    assert b"to continue: fanwise resume r\n" in done.stderr
