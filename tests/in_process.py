"""The command line inside this process, as like a process of its own as can be had.

A start costs a second of imports; a call here does not. It has its own working directory,
environment, descriptors 0, 1 and 2, `sys.argv`, `sys.path`, filters for warnings and context
variables, and its modules are forgotten after it. What needs more takes `Place.process`: signals,
kills, crash points, terminals, plug-ins, and how the program starts and ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import fcntl
import importlib
import io
import os
import queue
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TextIO, TypeVar

import fanwise
from fanwise.cli.main import main

T = TypeVar("T")
_MAIN = str(Path(fanwise.__file__).with_name("__main__.py"))
_PIPE = 1 << 16
_QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def run_in_process(
    args: Sequence[str | bytes], *, cwd: Path, env: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run `fanwise` with these arguments to its end."""
    if _calls is not None and threading.current_thread() is not threading.main_thread():
        return _on_the_main_thread(partial(run_in_process, args, cwd=cwd, env=env, given=given))
    argv = [_MAIN, *map(os.fsdecode, args)]
    folders = [cwd, *map(Path, filter(None, env.get("PYTHONPATH", "").split(os.pathsep)))]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, ExitStack() as stack:
        for each in (_folder(cwd), _environment(env), _modules(folders), _warnings()):
            stack.enter_context(each)
        stack.enter_context(_streams(given, out.fileno(), err.fileno()))
        sys.argv = argv
        code = contextvars.copy_context().run(_exit_code)
        stack.close()
        return subprocess.CompletedProcess(argv, code, _all_of(out.fileno()), _all_of(err.fileno()))


def beside(main: Coroutine[object, object, T], within_s: float) -> T:
    """Run a coroutine in a thread, and on this one the command lines that it asks for.

    So a test can serve what a command in this process talks to: signals and the working directory
    are the main thread's.
    """
    global _calls
    calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    ended: Future[T] = Future()

    def run() -> None:
        try:
            ended.set_result(asyncio.run(asyncio.wait_for(main, within_s)))
        except BaseException as error:
            ended.set_exception(error)
        finally:
            calls.put(None)

    thread, _calls = threading.Thread(target=run), calls
    thread.start()
    try:
        while (call := calls.get()) is not None:
            call()
    finally:
        _calls = None
        thread.join()
    return ended.result()


_calls: queue.SimpleQueue[Callable[[], None] | None] | None = None


def _on_the_main_thread(call: Callable[[], T]) -> T:
    assert _calls is not None
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    _calls.put(run)
    return done.result()


def _exit_code() -> int:
    try:
        main()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException:  # as the interpreter does it
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _modules(folders: Sequence[Path]) -> Iterator[None]:
    """These are on the path as for `python -m`; what is imported from them is forgotten after."""
    path, argv, known = list(sys.path), sys.argv, set(sys.modules)
    sys.path[:0] = map(str, folders)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:], sys.argv = path, argv
        for name in set(sys.modules) - known:
            if any(_origin(sys.modules[name]).is_relative_to(folder) for folder in folders):
                del sys.modules[name]


def _origin(module: ModuleType) -> Path:
    paths = getattr(module, "__path__", ["/"])  # a folder without `__init__.py` has no file
    return Path(getattr(module, "__file__", None) or next(iter(paths), "/"))


@contextmanager
def _warnings() -> Iterator[None]:
    """Written to stderr, as Python has it; in tests they are errors."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in _QUIET:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = _write_warning
        yield


def _write_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


@contextmanager
def _streams(given: bytes, out: int, err: int) -> Iterator[None]:
    before = (sys.stdin, sys.stdout, sys.stderr)
    kept = [os.dup(fd) for fd in range(3)]
    sys.stdout.flush()
    sys.stderr.flush()
    _onto(_readable(given), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False),
        errors="backslashreplace",
        write_through=True,
    )
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = before
        for fd, copy in enumerate(kept):
            _onto(copy, fd)


def _readable(given: bytes) -> int:
    """A pipe with all of it, or a file if it is too much for one."""
    if len(given) > _PIPE:
        file, name = tempfile.mkstemp()
        Path(name).unlink()
        os.write(file, given)
        os.lseek(file, 0, os.SEEK_SET)
        return file
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE)
    os.write(write, given)
    os.close(write)
    return read


def _onto(fd: int, target: int) -> None:
    os.dup2(fd, target)
    os.close(fd)


def _all_of(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)
