"""`gate`: a question to a person, asked at the terminal or answered with a resume.

Without a terminal and without an answer the run pauses; nothing is guessed. One terminal takes one
question at a time: the kernel's cap `TERMINAL` makes gates of several items wait for each other.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.user_call import perform
from fanwise.view.progress import TERMINAL
from fanwise.workflow.spec.secrets import Masker
from fanwise.workflow.spec.steps import GateStep, is_rejection
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.history import GateAnswer
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Resolved, StepPlace

MOST_SHOWN = 20_000
"""Characters of a file that are shown."""

Ask = Callable[[str, str | None, list[str]], str | None]
"""(message, text of a file to show, options) -> the option that the person chose; None: they went
away without an answer."""


class GateLeaf:
    """Asks a person."""

    bounds_itself = False

    def __init__(
        self,
        answers: Mapping[str, GateAnswer],
        taken: set[str],
        ask: Ask | None,
        mask: Masker,
    ) -> None:
        self._answers = answers
        self._taken = taken
        self._ask = ask
        self._mask = mask
        self.needs: Mapping[str, int] = {} if ask is None else {TERMINAL: 1}

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
            shown = self._mask(_text_of(resolved["show_file"], place.project))
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
        answer = self._answers.get(place.path)
        if answer is not None and answer.execution > place.decided:
            self._taken.add(place.path)
            return answer.choice, "answer"
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


def _text_of(file: str | None, project: Path) -> str | None:
    if file is None:
        return None
    try:
        with (project / file).open(encoding="utf-8", errors="replace") as opened:
            return opened.read(MOST_SHOWN)
    except OSError as error:
        return f"({file} cannot be read: {error.strerror})"
