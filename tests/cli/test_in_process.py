"""A command in this process does what a process of its own does, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from tests.cli.support import Place
from tests.processes.support import open_files

FILE = """\
sample:
  model: sim:a
  prompt: x
  requirements: [{call: "checks:fine"}]
"""
CHECKS = """\
import warnings
def fine(draft):
    warnings.warn("odd")
    return True
"""


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ([], b""),
        (["--version"], b""),
        (["map", "--run", "r", "--", "sh", "-c", "echo $1 $HERE; echo e >&2", "-"], b"a\nb\n"),
        (["map", "--run", "r", "--", "false"], b"a\n"),
        (["runs", "--json"], b""),
        (["show", "nothing"], b""),
        (["run", "s.yaml", "--json"], b""),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else "",
)
def test_it_answers_as_a_process_does(tmp_path: Path, args: list[str], given: bytes) -> None:
    answers = []
    for name in ("here", "apart"):
        place = Place(tmp_path / name)
        place.path.mkdir()
        (place.path / "s.yaml").write_text("sample: {model: 1}\n")
        run = place.run if name == "here" else place.process
        done = run(*args, given=given, HERE="here")
        answers.append((done.returncode, done.stdout, done.stderr))
    assert answers[0] == answers[1]


def state() -> object:
    return (
        Path.cwd(), dict(os.environ), list(sys.path), sys.argv, sys.stdin, sys.stdout, sys.stderr,
        warnings.filters[:], signal.getsignal(signal.SIGINT), open_files(), "checks" in sys.modules,
    )  # fmt: skip


def test_it_leaves_no_trace_and_sees_its_own_folder(place: Place) -> None:
    (place.path / "s.yaml").write_text(FILE)
    place.run("map", "--", "true", given=b"a\n")  # the guard and the like are there from now on
    before = state()
    for words in ("odd", "strange"):
        (place.path / "checks.py").write_text(CHECKS.replace("odd", words))
        done = place.run("run", "s.yaml", NEW="value")
        assert done.returncode == 0
        assert words.encode() in done.stderr
    assert state() == before
