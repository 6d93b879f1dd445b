"""The start of a child: its pipes, its environment, its errors.

`subprocess.Popen` and not `asyncio.create_subprocess_exec`: Popen returns when the program runs
or could not be run (0.3 ms, by vfork), and there is no await at which a cancellation could leave
a child that nobody knows of.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from typing import NamedTuple

from fanwise.errors import CommandFailed
from fanwise.processes.command import Command
from fanwise.processes.environment import environment
from fanwise.processes.limits import within
from fanwise.processes.pids import PidsCgroup
from fanwise.processes.result import Capture, CommandResult
from fanwise.processes.sandbox import inside

_OUT_OF = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}


class Spawned(NamedTuple):
    """A started child, and the parent's ends of its pipes."""

    process: subprocess.Popen[bytes]
    stdin: int | None
    stdout: int
    stderr: int
    sandboxed: bool


def spawn(command: Command, mark: str, cgroup: PidsCgroup | None) -> Spawned:
    """Start the command in a session and a process group of its own."""
    try:
        return _spawn(command, mark, cgroup)
    except OSError as error:
        raise _cannot_run(command, error) from error


def _spawn(command: Command, mark: str, cgroup: PidsCgroup | None) -> Spawned:
    argv, sandboxed = _wrapped(command, cgroup), command.sandbox is not None
    env = environment(command, mark, sandboxed=sandboxed)
    if argv != command.exec_argv():
        _look_for(command, env)
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        stdin = None
        theirs_in = subprocess.DEVNULL
        if command.stdin is not None:
            theirs_in, stdin = _pipe(theirs, ours)
        stdout, theirs_out = _pipe(ours, theirs)
        stderr, theirs_err = _pipe(ours, theirs)
        process = subprocess.Popen(
            argv,
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=theirs_err,
            cwd=command.cwd,
            env=env,
            start_new_session=True,
        )
        ours.pop_all()
        return Spawned(process, stdin, stdout, stderr, sandboxed)


def _wrapped(command: Command, cgroup: PidsCgroup | None) -> list[bytes]:
    """The arguments with the limits and the sandbox in front of them. `SandboxUnavailable`."""
    argv = command.exec_argv()
    limits = command.limits
    if command.sandbox is not None:
        memory = None if limits is None else limits.memory
        argv = inside(command.sandbox, argv, command.cwd, memory)
    if limits is not None:
        argv = within(limits, argv, None if cgroup is None else cgroup.join)
    return argv


def _look_for(command: Command, env: dict[bytes, bytes]) -> None:
    """Miss a program as the system would: what stands in front of it would tell it otherwise."""
    if command.cwd is not None and not os.path.isdir(command.cwd):  # noqa: PTH112
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command.cwd)
    program = os.fsdecode(command.exec_argv()[0])
    if "/" in program:
        program = os.path.join(command.cwd or "", program)  # noqa: PTH118
    path = os.fsdecode(env.get(b"PATH", os.defpath.encode()))
    if shutil.which(program, path=path) is None:
        code = errno.EACCES if os.path.exists(program) else errno.ENOENT  # noqa: PTH110
        raise OSError(code, os.strerror(code), program)


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Make a pipe whose two ends are closed with the stacks of those who hold them."""
    read, write = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, write)
    return read, write


def _cannot_run(command: Command, error: OSError) -> CommandFailed:
    missing = error.errno == errno.ENOENT
    summary, step = _explain(command, error)
    said = summary.encode("utf-8", "replace")
    result = CommandResult(
        exit_code=127 if missing else 126, stderr=Capture(data=said, size=len(said))
    )
    failed = CommandFailed(result, f"{summary}. {step}")
    failed.message, failed.next_step = summary, step
    return failed


def _explain(command: Command, error: OSError) -> tuple[str, str]:
    program = os.fsdecode(command.exec_argv()[0])
    if command.cwd is not None and error.filename == command.cwd:
        return (
            f"cannot run {program!r} in {command.cwd!r}: {error.strerror}",
            "Give cwd= a directory that exists",
        )
    return f"cannot run {program!r}: {error.strerror}", _next_step(error)


def _next_step(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "Install it, or give its full path"
    if error.errno == errno.EACCES:
        return "Make the file executable (chmod +x)"
    if error.errno == errno.ENOEXEC:
        return "Begin the script with a line such as #!/bin/sh"
    if error.errno == errno.E2BIG:
        return "Give what is long on stdin instead of in an argument"
    if error.errno in _OUT_OF:
        return "Lower the cap, or raise the limits of this user (ulimit -a)"
    return "See that the program runs by itself"
