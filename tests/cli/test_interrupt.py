"""Ctrl-C once, twice; SIGTERM; cancel from another terminal; time-outs. Nothing is left behind."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.cli.support import Place, end, eventually, numbers, release
from tests.processes.support import alive

BLOCKED = "echo $$ >> started; [ -e open ] || cat gate-{}; echo {}"


def start_blocked(place: Place) -> subprocess.Popen[bytes]:
    """Two of four lines are in flight, and wait for their gates."""
    place.fifo("gate-1")
    place.fifo("gate-2")
    process = place.start(
        "map", "--run", "r", "--cap", "2", "--", "sh", "-c", BLOCKED, given=numbers(4)
    )
    eventually(lambda: len(place.lines("started")) == 2)
    return process


def status(place: Place) -> str:
    """The word that `runs` has for it: the one that was printed."""
    (found,) = json.loads(place.run("runs", "--json").stdout)["runs"]
    return str(found["status"])


def resume_all(place: Place) -> bytes:
    (place.path / "open").touch()
    resumed = place.run("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    return resumed.stdout


def test_ctrl_c_once_finishes_what_is_in_flight_and_starts_nothing_more(place: Place) -> None:
    process = start_blocked(place)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == b"fanwise: finishing 2 in flight; Ctrl-C again cancels\n"
    release(place.path / "gate-1")
    release(place.path / "gate-2")
    code, out, err = end(process)
    assert (code, out) == (130, b"1\n2\n")
    assert err == b"fanwise: halted: 2 of 4 lines not done\n  to continue: fanwise resume r\n"
    assert status(place) == "halted"
    assert len(place.lines("started")) == 2
    assert resume_all(place) == b"3\n4\n"


@pytest.mark.parametrize("signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_ctrl_c_twice_or_sigterm_ends_the_commands_at_once(
    place: Place, signals: list[signal.Signals]
) -> None:
    process = start_blocked(place)
    *first, last = signals
    for number in first:
        process.send_signal(number)
        assert process.stderr is not None
        assert b"finishing 2 in flight" in process.stderr.readline()
    process.send_signal(last)
    code, out, err = end(process)
    assert (code, out) == (130, b"")
    assert err == b"fanwise: cancelled: 4 of 4 lines not done\n  to continue: fanwise resume r\n"
    assert status(place) == "cancelled"
    assert not any(alive(int(pid)) for pid in place.lines("started"))
    assert resume_all(place) == numbers(4)


def test_a_run_is_cancelled_from_another_terminal(place: Place) -> None:
    process = start_blocked(place)
    done = place.run("cancel", "r")
    assert (done.returncode, done.stderr) == (0, b"fanwise: r: cancelled\n")
    assert end(process)[0] == 130
    assert not any(alive(int(pid)) for pid in place.lines("started"))
    again = place.run("cancel", "r", "--json")
    assert again.returncode == 2
    assert "not being executed: it is cancelled" in json.loads(again.stdout)["error"]["message"]


def test_the_cap_of_a_run_is_changed_from_another_terminal(place: Place) -> None:
    process = start_blocked(place)
    place.fifo("gate-3")
    place.fifo("gate-4")
    done = place.run("caps", "r", "total=4")
    assert (done.returncode, done.stdout) == (
        0,
        b"CAP    BEGAN WITH  NOW\ntotal           2    4\n",
    )
    eventually(lambda: len(place.lines("started")) == 4)
    typo = place.run("caps", "r", "toal=3")
    assert (typo.returncode, b"did you mean `total`" in typo.stderr) == (2, True)
    for number in range(1, 5):
        release(place.path / f"gate-{number}")
    assert end(process)[:2] == (0, numbers(4))
    assert b"cap 2, changed while it ran, peak 4" in place.run("show", "r").stdout
    late = place.run("caps", "r", "total=3")
    assert (late.returncode, b"it is done" in late.stderr) == (2, True)


def test_a_live_run_cannot_be_resumed_by_another(place: Place) -> None:
    process = start_blocked(place)
    refused = place.run("resume", "r")
    assert refused.returncode == 2
    assert b"is being executed by process %d" % process.pid in refused.stderr


def test_a_command_that_ignores_sigterm_is_gone_with_its_grandchildren_after_its_time_out(
    place: Place,
) -> None:
    script = (
        "trap '' TERM; (trap '' TERM; sh -c 'echo $$ >> pids; sleep 600' & wait) & "
        "echo $$ >> pids; while :; do sleep 600; done"
    )
    done = place.run("map", "--timeout", "0.5", "--", "sh", "-c", script, given=b"x\n")
    assert done.returncode == 1
    assert b"timed out after 0.5 s" in done.stderr
    assert len(place.lines("pids")) == 2
    assert not any(alive(int(pid)) for pid in place.lines("pids"))
