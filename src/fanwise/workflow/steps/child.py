"""A child process of a step: what it came to, as the step's output.

What it printed is bounded, with its true size beside it, and is text whatever it was: a step whose
program prints bytes that are not UTF-8 is a step like others.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping
from typing import Any

from fanwise.errors import CommandFailed, StepFailed
from fanwise.kernel.virtual_time import outside
from fanwise.processes import Command, CommandResult, run_command
from fanwise.processes.result import Capture
from fanwise.workflow.expressions.values import shown
from fanwise.workflow.spec.secrets import inherited
from fanwise.workflow.spec.steps import ProcessStep
from fanwise.workflow.steps.port import StepPlace

KEEP = 1024 * 1024
"""Bytes of stdout, and of stderr, that a step keeps."""
TIMED_OUT = -1
"""The exit code of a program that was killed because its time was over."""


def surroundings(step: ProcessStep, roots: Mapping[str, Any]) -> dict[str, Any]:
    """The `env` and `cwd` of a step, if it has any. `UsageError`."""
    found: dict[str, Any] = {}
    if step.env:
        found["env"] = {name: shown(value.render(roots)) for name, value in step.env.items()}
    if step.cwd is not None:
        found["cwd"] = step.cwd.text(roots)
    return found


async def run_child(
    *words: str,
    place: StepPlace,
    timeout: float | None,
    around: Mapping[str, Any],
    shell: bool = False,
) -> dict[str, Any]:
    """Run a program, or a line of shell, in the project's folder. `around`: see `surroundings`.

    Returns its exit code, stdout and stderr; `StepFailed` with the same if it failed.
    """
    given = {**(place.workspace or {}), **around.get("env", {})}
    command = Command(
        *words,
        shell=shell,
        cwd=str(place.project / around.get("cwd", "")),
        env={"SPECKIT_WORKFLOW_DIR": place.real_folder, **given},
        inherit=inherited(),
        keep=KEEP,
        check=False,
    )
    result = await _result(command, timeout, place)
    output = output_of(result)
    if result.timed_out:
        raise StepFailed(f"timed out after {timeout:g} s, and was killed", output)
    if result.exit_code != 0:
        raise StepFailed(_why(output), output)
    return output


async def _result(command: Command, timeout: float | None, place: StepPlace) -> CommandResult:
    loop = asyncio.get_running_loop()
    outside(loop, +1)
    try:
        return await run_command(
            command, timeout=timeout, hide=place.mask.encoded, daemons=place.workspace is None
        )
    except CommandFailed as error:  # it could not be started
        said = error.result.stderr.text if isinstance(error.result, CommandResult) else ""
        code = error.result.exit_code if isinstance(error.result, CommandResult) else 127
        output = {"exit_code": code, "stdout": "", "stderr": said or error.message}
        raise StepFailed(f"{error.message}. {_next_step(error)}", output) from error
    finally:
        outside(loop, -1)


def _next_step(error: CommandFailed) -> str:
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno == errno.E2BIG:
        return "Let the steps that make the long values write them to files, and give their names"
    return error.next_step


def output_of(result: CommandResult) -> dict[str, Any]:
    """As plain data. The sizes are there where something was left out."""
    output: dict[str, Any] = {
        "exit_code": _exit_code(result),
        "stdout": _text(result.stdout),
        "stderr": _text(result.stderr),
    }
    for name, capture in (("stdout", result.stdout), ("stderr", result.stderr)):
        if capture.truncated:
            output[f"{name}_size"] = capture.size
            output[f"{name}_truncated"] = True
    if result.timed_out:
        output["timed_out"] = True
    return output


def _exit_code(result: CommandResult) -> int:
    if result.timed_out:
        return TIMED_OUT
    if result.signal is not None:
        return -result.signal
    return TIMED_OUT if result.exit_code is None else result.exit_code


def _text(capture: Capture) -> str:
    # A NUL is no text to every database; what stands for it is seen.
    return capture.text.replace("\0", "\N{SYMBOL FOR NULL}")


def _why(output: dict[str, Any]) -> str:
    last = output["stderr"].rstrip().rpartition("\n")[2].strip()[:200]
    code = output["exit_code"]
    ended = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
    return f"the command {ended}: {last}" if last else f"the command {ended}"
