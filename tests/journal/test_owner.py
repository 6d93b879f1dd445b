"""Is the process that executes a run still there?"""

from __future__ import annotations

import os
import signal

import msgspec

from fanwise.journal.owner import current_owner, liveness
from fanwise.journal.port import Owner
from tests.journal.conftest import FAR_AWAY, Child

SAY_OWNER = """
    import msgspec
    from fanwise.journal.owner import current_owner
    print(msgspec.json.encode(current_owner()).decode(), flush=True)
    input()
"""


def test_this_process_is_alive() -> None:
    assert liveness(current_owner()) == "alive"


def test_another_process_is_alive_until_it_is_killed_even_before_it_is_reaped(
    child: Child,
) -> None:
    process = child(SAY_OWNER)
    assert process.stdout is not None
    owner = msgspec.json.decode(process.stdout.readline(), type=Owner)
    assert owner.pid == process.pid
    assert liveness(owner) == "alive"
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert liveness(owner) == "dead"
    assert process.wait() == -signal.SIGKILL
    assert liveness(owner) == "dead"


def test_a_pid_that_was_given_to_another_process_is_dead() -> None:
    assert liveness(msgspec.structs.replace(current_owner(), started="12345")) == "dead"


def test_a_process_of_an_earlier_boot_is_dead() -> None:
    assert liveness(msgspec.structs.replace(current_owner(), boot="an earlier one")) == "dead"


def test_a_process_of_another_host_is_unknown() -> None:
    assert liveness(FAR_AWAY) == "unknown"
