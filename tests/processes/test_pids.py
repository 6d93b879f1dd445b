"""The wall behind the looks: a fork that a cgroup refuses, where one can be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.processes import Limits, pids
from fanwise.processes.limits import within
from tests.processes.test_limits import python, ran

FORKS = """
import os, sys, time
made = 0
try:
    while made < 60:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except BlockingIOError:
    pass
print(made, flush=True)
sys.stdin.read()
os.killpg(0, 9)
"""

V1 = "3:cpu:/x\n2:pids,misc:/in here\n0::/\n"
MOUNTS = (
    "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
    "cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n"
)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pids, "_LEAST", 20)
    monkeypatch.setattr(pids, "_WIDER", 0)  # narrower than the looks: it is what is tested
    if (found := pids.bound(1)) is None:
        pytest.skip("no cgroup can be made here")
    found.close()


def test_a_fork_too_many_is_refused_and_known(narrow: None) -> None:
    cgroup = pids.bound(1)
    assert cgroup is not None
    try:
        argv = within(
            Limits(processes=1), [sys.executable.encode(), b"-c", FORKS.encode()], cgroup.join
        )
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"19\n", "and the one that forks"
        assert cgroup.refused()
        process.communicate()
    finally:
        cgroup.close()


def test_who_runs_into_it_is_ended_for_its_processes(narrow: None) -> None:
    forever = FORKS.replace("sys.stdin.read()", "time.sleep(1000)")
    result = ran(python(forever, limits=Limits(processes=1000)))
    assert (result.ending, result.exceeded) == ("limit", "processes")


def test_it_is_gone_with_the_command(narrow: None) -> None:
    cgroup = pids.bound(1)
    assert cgroup is not None
    home = Path(cgroup.join).parent.parent
    cgroup.close()
    before = set(home.glob(f"fanwise-{os.getpid()}-*"))
    assert ran(python("pass", limits=Limits(processes=20))).ok
    assert set(home.glob(f"fanwise-{os.getpid()}-*")) - before == set()


def test_where_it_is_mounted() -> None:
    assert pids._own(V1, MOUNTS) == Path("/sys/fs/cgroup/pids/in here")
    assert pids._own("0::/user.slice\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n") == Path(
        "/sys/fs/cgroup/user.slice"
    )
    assert pids._own("1:cpu:/\n", MOUNTS) is None
