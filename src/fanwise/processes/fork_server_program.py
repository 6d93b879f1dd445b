"""The fork server: a Python that has imported pytest, and forks for each use of it.

Run as a program by `fork_server.py`, which says why there is one, under the interpreter of the
tests. It imports nothing of fanwise, and nothing of a repository: it starts elsewhere and without
PYTHONPATH. A fork then becomes what a fresh interpreter would be at the moment when it runs pytest:
its folder, environment, `sys.path`, `sys.argv`, `__main__`; modules that only the server needs are
taken out again. What cannot be changed after a start, such as the hash seed, the server was started
with.

It trusts nothing that it forked. It cannot be looked into or traced by a program with the same
rights (unless that is root's), orphans come back to it and are killed before it answers, and it
says whether it was left as it was: its limits and priority, and in a sandbox the folders that all
in it share.
"""

# ruff: noqa: E402 - the order of the imports is the point

from __future__ import annotations

import sys

if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # fanwise's own folder

import _pytest.config
import pytest  # noqa: F401 - what the server is for

for _name in _pytest.config.default_plugins:
    __import__(f"_pytest.{_name}")

_LIKE_COLD = set(sys.modules)
"""What pytest has imported by itself before it looks at anything of the repository."""

import array
import ctypes
import json
import os
import resource
import signal
import site
import socket
import stat
import time
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
SHARED = ("/tmp", "/run", "/dev")
"""What can be written in a sandbox and is in no folder of the workspace."""
_IPC = ("/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg")
_ROUNDS = 500
_BY_THE_SHELL = ("PWD", "OLDPWD", "SHLVL", "_")
_LIBC = ctypes.CDLL(None)


class Surroundings:
    """What the server shares with all that it forks, as it was at the start."""

    def __init__(self, *, sandboxed: bool) -> None:
        self._sandboxed = sandboxed
        self._own = self._look_at_self()
        self._files = self._look_at_files()

    def restored(self) -> bool:
        """Remove what is new; whether all is as it was."""
        try:
            for path in reversed(list(self._look_at_files())):
                if path not in self._files:
                    _remove(path)
            return self._look_at_files() == self._files and self._look_at_self() == self._own
        except OSError:
            return False

    def _look_at_self(self) -> list[Any]:
        limits = {value for name, value in vars(resource).items() if name.startswith("RLIMIT_")}
        found: list[Any] = [resource.getrlimit(each) for each in sorted(limits)]
        found += [sorted(os.sched_getaffinity(0)), os.getpriority(os.PRIO_PROCESS, 0)]
        for path in _IPC if self._sandboxed else ():
            with open(path) as file:  # noqa: PTH123
                found.append(file.read())
        return found

    def _look_at_files(self) -> dict[str, tuple[int, int]]:
        """Parents first. Folders that are mounted there are not looked into."""
        found: dict[str, tuple[int, int]] = {}
        waiting = list(SHARED) if self._sandboxed else []
        while waiting:
            path = waiting.pop()
            here = os.lstat(path)
            found[path] = (here.st_ino, here.st_mode)
            top = SHARED[[path.startswith(each) for each in SHARED].index(True)]
            if stat.S_ISDIR(here.st_mode) and here.st_dev == os.lstat(top).st_dev:
                waiting += [f"{path}/{name}" for name in os.listdir(path)]  # noqa: PTH208
        return found


def _remove(path: str) -> None:
    if stat.S_ISDIR(os.lstat(path).st_mode):
        os.rmdir(path)  # noqa: PTH106
    else:
        os.unlink(path)  # noqa: PTH108


def serve(channel: socket.socket, surroundings: Surroundings) -> tuple[dict[str, Any], int, int]:
    """Fork for each request and tell what came of it. Returns in a fork, with its request."""
    while True:
        said, ancillary, _, _ = channel.recvmsg(16, socket.CMSG_SPACE(3 * 4))
        if not said:
            os._exit(0)  # nobody will ask any more
        asked, out, err = array.array("i", ancillary[0][2])
        with os.fdopen(asked, "rb") as file:
            request = json.loads(file.read())
        pid = os.fork()
        if pid == 0:
            channel.close()
            return request, out, err
        os.close(out)
        os.close(err)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        left = end_all()
        answer = {"code": code, "left": left, "restored": surroundings.restored()}
        channel.send(json.dumps(answer).encode())


def end_all() -> bool:
    """Kill all that a fork has left, which are children of ours now; whether there was any."""
    left = False
    for _ in range(_ROUNDS):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return left
        left = True
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.001)
    os._exit(70)  # it forks faster than it is killed: who started us kills all of it


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found, waiting = [], children.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            line = file.read()
    except OSError:
        return 0
    return int(line[line.rfind(b")") + 2 :].split()[1])


def become(request: dict[str, Any], out: int, err: int) -> None:
    """What a fresh process would be that was started in this folder, with this environment."""
    os.setsid()
    for fd, number in ((out, 1), (err, 2)):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["cwd"])
    env = {name: os.environ[name] for name in _BY_THE_SHELL if name in os.environ}
    if "PWD" in env:
        env["PWD"] = request["cwd"]
    os.environ.clear()
    os.environ.update({**env, **request["env"]})
    _LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    site.USER_BASE = site.USER_SITE = None
    site.getusersitepackages()
    given = os.environ.get("PYTHONPATH")
    folders = [os.path.abspath(each) for each in given.split(os.pathsep)] if given else []  # noqa: PTH100
    sys.path[:] = dict.fromkeys([*folders, *sys.path])
    sys.path_importer_cache.clear()
    for name in set(sys.modules) - _LIKE_COLD:
        del sys.modules[name]


def run(executable: str, script: str | None, arguments: list[str]) -> None:
    """Run pytest as the command would: its script, or `python -m pytest`."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if "__annotations__" in globals():  # of a newer Python they are not there from the start
        main.__annotations__ = {}
    safe = getattr(sys.flags, "safe_path", False)
    if script is None:
        sys.argv, sys.orig_argv = ["-m", *arguments], [executable, "-m", "pytest", *arguments]
        sys.path[:0] = [] if safe else [os.getcwd()]  # noqa: PTH109
        import runpy

        runpy._run_module_as_main("pytest")  # type: ignore[attr-defined]
        return
    sys.argv, sys.orig_argv = [script, *arguments], [executable, script, *arguments]
    sys.path[:0] = [] if safe else [os.path.dirname(os.path.realpath(script))]  # noqa: PTH120
    loader = SourceFileLoader("__main__", script)
    main.__dict__.update(__file__=script, __cached__=None, __loader__=loader)
    with open(script, "rb") as file:  # noqa: PTH123
        code = compile(file.read(), script, "exec")
    exec(code, main.__dict__)


def _start() -> tuple[dict[str, Any], int, int]:
    channel = socket.socket(fileno=int(sys.argv[1]))
    hidden = _LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if hidden != 0 or _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit("this system does not let a process protect itself")
    surroundings = Surroundings(sandboxed=sys.argv[2] == "sandboxed")
    names = sorted({name.partition(".")[0] for name in _LIKE_COLD})
    channel.send(json.dumps(names).encode())
    return serve(channel, surroundings)


if __name__ == "__main__":
    _asked, _out, _err = _start()
    become(_asked, _out, _err)
    run(_asked["argv"][0], _asked["script"], _asked["argv"][1:])
