"""What people can do from the view: end a run, go on with one, and answer what it asks.

A run goes on in a process of its own, which outlives the view, as in a terminal.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from typing import BinaryIO

import msgspec

from fanwise.errors import UsageError
from fanwise.journal.open import open_journal
from fanwise.journal.port import EventRecord, Journal, RunRecord
from fanwise.kernel.cap_changes import NOTHING_MORE
from fanwise.view.limits import cap_limits
from fanwise.view.question import Action
from fanwise.view.run_summary import shown_status
from fanwise.view.system_text import actions_of, questions_of

ENDING = {
    "halt": Action("Halt", "Start nothing more? What is in flight finishes."),
    "cancel": Action("Cancel", "Cancel this run? What is in flight is ended; what is done stays."),
}
RESUME = Action("Resume", "Go on with this run? It may spend more.")
RETRY = Action("Retry failed", "Run what failed again? It may spend more.", ("--retry-failed",))

PATIENCE_S = 60.0
PREFIX = "fanwise: "

_started: list[subprocess.Popen[bytes]] = []
"""Runs that go on, kept to learn of their end: nobody else would bury them."""


def possible(journal: Journal, run: RunRecord, failed: int) -> dict[str, Action]:
    """What makes sense for a run as it is, by name."""
    status = shown_status(run)
    if status == "running":
        return dict(ENDING)
    if questions_of(journal, run):
        return {}  # it is the answer that goes on with it
    resume = {"resume": RESUME} if status != "done" else {}
    retry = {"retry": RETRY} if failed else {}
    return {**resume, **retry, **actions_of(journal, run)}


def act(location: str | None, run_id: str, action: str, who: str) -> None:
    """Do it, and record who did. `UsageError` if it makes no sense, `RunNotFound`."""
    with closing(open_journal(location)) as journal:
        run = journal.run(run_id)
        chosen = possible(journal, run, failed=1).get(action)
        if chosen is None:
            raise UsageError(f"run {run_id!r} is {shown_status(run)}: it cannot {action}")
        _record(journal, run_id, action=action, by=who)
        if action == "cancel":
            journal.request_cancel(run_id)
        elif action == "halt":
            journal.request_caps(run_id, NOTHING_MORE)
    if action in ("resume", "retry"):
        _resume(location, run_id, chosen.arguments)
    elif action not in ENDING:
        code, said = _resume_and_wait(location, run_id, chosen.arguments)
        with closing(open_journal(location)) as journal:
            is_done = action not in possible(journal, journal.run(run_id), failed=1)
        if code and said and not is_done:
            raise UsageError(said)


def change_cap(location: str | None, run_id: str, name: str, limit: str, who: str) -> None:
    """Ask the process that executes the run for another limit. `UsageError` if there is none."""
    if not limit.isascii() or not limit.isdigit() or not 1 <= len(limit) < 10 or int(limit) < 1:
        raise UsageError(f"{limit!r} is not a limit", "Give a whole number from 1 on")
    with closing(open_journal(location)) as journal:
        status = shown_status(journal.run(run_id))
        if status != "running":
            raise UsageError(f"run {run_id!r} is {status}: its caps cannot be changed")
        if name not in cap_limits(journal.events(run_id)):
            raise UsageError(f"run {run_id!r} has no cap {name!r}")
        _record(journal, run_id, action="caps", cap=name, limit=limit, by=who)
        journal.request_caps(run_id, {name: int(limit)})


def answer(location: str | None, run_id: str, question: str, choice: str, who: str) -> None:
    """Give an answer that the run waits for, and go on. `UsageError` if it does not."""
    with closing(open_journal(location)) as journal:
        asked = {each.name: each for each in questions_of(journal, journal.run(run_id))}
        if question not in asked or choice not in asked[question].choices:
            raise UsageError(f"run {run_id!r} does not ask that now", "Load its page again")
        _record(journal, run_id, action="answer", question=question, answer=choice, by=who)
        arguments = asked[question].choices[choice]  # the system's own: nothing from the page
    _resume(location, run_id, arguments)


def _record(journal: Journal, run_id: str, **data: str) -> None:
    told = msgspec.json.encode(data).decode()
    journal.submit(EventRecord(run_id, time.time(), "asked", told))


def _resume(
    location: str | None, run_id: str, more: Sequence[str], said: BinaryIO | None = None
) -> subprocess.Popen[bytes]:
    where = [] if location is None else ["--journal", location]
    _started[:] = [each for each in _started if each.poll() is None]
    process = subprocess.Popen(
        [sys.executable, "-m", "fanwise", "resume", run_id, *where, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said or subprocess.DEVNULL,
        start_new_session=True,
    )
    _started.append(process)
    return process


def _resume_and_wait(location: str | None, run_id: str, more: Sequence[str]) -> tuple[int, str]:
    """For what takes seconds and may be refused, such as a write: the exit code, and why.

    A code other than 0 does not say that it was refused: a part of the run may have failed before.
    """
    with tempfile.TemporaryFile() as said:
        process = _resume(location, run_id, more, said)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return 0, ""  # the page will show its end
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
    told = [line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX)]
    return code, told[-1] if told else ""
