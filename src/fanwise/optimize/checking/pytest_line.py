"""Which test commands plainly are pytest, so that a fork of a server can stand for them.

Whatever is not plain is not guessed at: anything that a shell would do something about, a program
that the workspace has itself (a candidate could have changed it), a script that is not Python's.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_WORDS = re.compile(r"""(?:[\w@%+=:,./\- ]|'[^'\n]*'|"[^"$`\\\n!]*")+""", re.ASCII)
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_SPREADS = re.compile(r"-n.*|-d|-f|--(?:numprocesses|dist|tx|maxprocesses|looponfail)(?:=.*)?")
_AT_START = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COV_CORE_SOURCE"})
"""With one of these, something begins with the interpreter, which a fork does not begin anew."""
_SUFFIXES = (".py", ".so", ".pyc")
CUSTOMIZE = frozenset({"sitecustomize", "usercustomize"})


class PlainPytest(msgspec.Struct, frozen=True, kw_only=True):
    """pytest, and nothing else."""

    python: str
    script: str | None
    """The file of `pytest`; None: `python -m pytest`."""
    arguments: tuple[str, ...]


def plain_pytest(
    command: str | Sequence[str], env: Mapping[str, str], inside: Path
) -> PlainPytest | str:
    """The command as that, or why it is none. `inside`: where no program of it may be."""
    words = _words(command)
    if isinstance(words, str):
        return words
    module = _PYTHON.fullmatch(Path(words[0]).name) and words[1:3] == ["-m", "pytest"]
    if not module and Path(words[0]).name not in ("pytest", "py.test"):
        return "the test command is not plainly pytest"
    arguments = words[3:] if module else words[1:]
    if any(_SPREADS.fullmatch(each) for each in arguments):
        return "its tests are spread over processes"
    if _AT_START & env.keys():
        return "something is to be started with the interpreter"
    program = _found(words[0], env, inside)
    if program is None:
        return f"{words[0]} is of the workspace, or is not found"
    if module:
        return PlainPytest(python=words[0], script=None, arguments=tuple(arguments))
    python = _interpreter(program)
    if python is None or _found(python, env, inside) is None:
        return f"{program} does not name its Python"
    return PlainPytest(python=python, script=program, arguments=tuple(arguments))


def shadowed(modules: frozenset[str], folders: Sequence[Path]) -> str:
    """The first module that a fresh Python would import from one of the folders; empty: none."""
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            name = entry.name.partition(".")[0]
            if name in modules | CUSTOMIZE and _is_module(entry):
                return name
    return ""


def _is_module(entry: Path) -> bool:
    if entry.is_dir():
        return any(entry.joinpath(f"__init__{suffix}").exists() for suffix in _SUFFIXES)
    return entry.name.endswith(_SUFFIXES)


def _words(command: str | Sequence[str]) -> list[str] | str:
    if not isinstance(command, str):
        return list(command)
    if not _WORDS.fullmatch(command) or not command.strip():
        return "the test command is for a shell"
    return shlex.split(command)


def _found(program: str, env: Mapping[str, str], inside: Path) -> str | None:
    """Its file, if it is none of the workspace, by whatever link."""
    if "/" in program and not program.startswith("/"):
        return None
    path = shutil.which(program, path=env.get("PATH", ""))
    if path is None or not path.startswith("/"):
        return None
    root = inside.resolve()
    here = (Path(path), Path(path).resolve())
    return None if any(each.is_relative_to(root) for each in here) else path


def _interpreter(script: str) -> str | None:
    try:
        with Path(script).open("rb") as file:
            line = file.readline(512).decode()
    except (OSError, UnicodeDecodeError):
        return None
    named = re.fullmatch(r"#! ?(/[^ \t\n]+)\n", line)
    return named[1] if named and _PYTHON.fullmatch(Path(named[1]).name) else None
