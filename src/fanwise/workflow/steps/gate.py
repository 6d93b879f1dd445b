"""`gate`: a question to a person, asked at the terminal or answered with a resume.

Without a terminal and without an answer the run pauses; nothing is guessed. One terminal takes one
question at a time: the kernel's cap `TERMINAL` makes gates of several items wait for each other.
The question is asked in a thread of the kernel, which looks now and then whether the run was halted
or cancelled: a thread that waits for a key cannot be stopped from outside.
"""

from __future__ import annotations

import getpass
import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanwise.errors import StepFailed
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.scope import current_run
from fanwise.kernel.threads import cancelled
from fanwise.kernel.user_call import perform
from fanwise.processes.mask import MaskedStream
from fanwise.view.progress import TERMINAL
from fanwise.view.terminal_text import terminal_safe
from fanwise.workflow.spec.steps import GateStep, is_rejection
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

MOST_SHOWN = 20_000
"""Characters of a file that are shown."""

Ask = Callable[[str, str | None, list[str]], str | None]
"""(message, text of a file to show, options) -> the option that the person chose; None: they went
away without an answer."""


class GateLeaf(Leaf[GateStep]):
    """Asks a person."""

    def __init__(
        self,
        answers: Mapping[str, tuple[str, int]],
        taken: set[str],
        ask: Ask | None,
    ) -> None:
        self._answers = answers
        self._taken = taken
        self._ask = ask
        self.needs = {} if ask is None else {TERMINAL: 1}

    def resolve(self, step: GateStep, frame: Frame) -> Resolved:
        """The question, and the answer of `verdict_input`."""
        roots = frame.roots()
        verdict = None
        if step.verdict_input is not None:
            verdict = frame.home.inputs.get(step.verdict_input) or None
        return {
            "message": step.message.text(roots),
            "options": list(step.options),
            "on_reject": step.on_reject,
            "show_file": (None if step.show_file is None else step.show_file.text(roots)) or None,
            "verdict": verdict,
        }

    async def perform(self, step: GateStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Use an answer that was given, ask for one, or pause."""
        given, how = self._given(step, resolved, place)
        if given is None and self._ask is not None:
            shown = _text_of(resolved["show_file"], place)
            given = await perform(self._ask, resolved["message"], shown, resolved["options"])
            how = "asked"
        output = {name: resolved[name] for name in ("message", "options", "on_reject", "show_file")}
        if given is None:
            return StepResult("paused", {**output, "choice": None})
        choice = chosen(str(given), resolved["options"])
        if choice is None:
            known = ", ".join(resolved["options"])
            raise StepFailed(f"{given!r} is no answer to it; there are: {known}", output)
        answered = {"by": await in_thread(_user), "how": how}
        return _decided({**output, "choice": choice, "answered": answered}, step)

    def _given(self, step: GateStep, resolved: Resolved, place: StepPlace) -> tuple[Any, str]:
        """What somebody answered, if that is not an answer that was used up before; and how."""
        choice, execution = self._answers.get(place.path, ("", -1))
        if execution > place.decided:
            self._taken.add(place.path)
            return choice, "answer"
        fresh = place.given_in.get(step.verdict_input or "", 0) > place.decided
        return (resolved["verdict"] if fresh else None), f"input {step.verdict_input}"


def chosen(given: str, options: list[str]) -> str | None:
    """The option that is meant: as it is written, whatever the case."""
    word = given.strip().lower()
    return next((option for option in options if option.strip().lower() == word), None)


def _decided(output: dict[str, Any], step: GateStep) -> StepResult:
    if not is_rejection(output["choice"]) or step.on_reject == "skip":
        return StepResult("completed", output)
    if step.on_reject == "retry":
        return StepResult("paused", output, "rejected; it is asked again on the next resume")
    return StepResult("aborted", {**output, "aborted": True}, f"rejected at {step.id}")


def _user() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _text_of(file: str | None, place: StepPlace) -> str | None:
    if file is None:
        return None
    masked = MaskedStream(place.mask.encoded)
    try:
        with (place.project / file).open("rb") as opened:
            data = masked.feed(opened.read(4 * MOST_SHOWN)) + masked.end()
        return data.decode("utf-8", "replace")[:MOST_SHOWN]
    except OSError as error:
        return f"({file} cannot be read: {error.strerror})"


# -- at the terminal -------------------------------------------------------------------------------

LOOK_EVERY_S = 0.1


def is_interactive() -> bool:
    """Whether somebody sits there: they see stderr, and type into stdin."""
    return os.isatty(0) and os.isatty(2)


def ask(message: str, shown: str | None, options: Sequence[str]) -> str | None:
    """The option that the person chose; asked again until it is one.

    None: they went away instead (Ctrl-C, Ctrl-D, or the terminal is gone).
    """
    os.write(2, b"\r\x1b[2K")  # a line of progress may stand there
    if shown is not None:
        _write(f"{shown}\n\n")
    _write(f"{message}\n")
    for number, option in enumerate(options, 1):
        _write(f"  [{number}] {option}\n")
    while True:
        _write(f"Your answer (1-{len(options)} or a word): ")
        line = _line()
        if line is None:
            _write("\n")
            return None
        answer = line.strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return options[int(answer) - 1]
        if (choice := chosen(answer, list(options))) is not None:
            return choice


def ask_secret(name: str) -> str | None:
    """What the person typed, without showing it; None: they went away."""
    try:
        return getpass.getpass(f"{terminal_safe(name)} (not shown): ", stream=sys.stderr)
    except (EOFError, KeyboardInterrupt):
        return None


def _write(text: str) -> None:
    sys.stderr.write(terminal_safe(text))
    sys.stderr.flush()


def _line() -> str | None:
    read = b""
    while not read.endswith(b"\n"):
        if _is_over():
            return None
        ready, _, _ = select.select([0], [], [], LOOK_EVERY_S)
        if not ready:
            continue
        try:
            piece = os.read(0, 4096)
        except OSError:  # the terminal is gone
            return None
        if not piece:
            return None
        read += piece
    return read.decode("utf-8", "replace")


def _is_over() -> bool:
    run = current_run()
    return cancelled() or (run is not None and run.halting is not None)
