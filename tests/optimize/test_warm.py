"""Tests from a warm start come out as from a cold one, and no candidate reaches the next."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fanwise.optimize import OptimizeResult, optimize_sync
from fanwise.optimize.checking import Settings, TestReport, test_report
from fanwise.optimize.checking.pytest_line import PlainPytest, plain_pytest, shadowed
from fanwise.optimize.checking.warm import WarmRunner
from fanwise.processes import Limits
from fanwise.processes.sandbox import unusable
from fanwise.workspaces import Workspace, WorkspacePool
from tests.optimize.support import code
from tests.processes.support import eventually_now, state
from tests.workspaces.support import make_repo, write

T = TypeVar("T")
MB = 1 << 20
ENV = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # for the sake of speed
LIMITS = Limits(memory=1024 * MB, processes=20, file_size=64 * MB, cpu_s=100)
BOXED = not unusable()
MODULE = "python -m pytest -q"
SCRIPT = "pytest -q"
GOOD = "def total(prices):\n    return sum(prices)\n"

FILES = {
    "src/shop.py": GOOD,
    "tests/conftest.py": code(
        """
        import json, locale, os, resource, signal, site, sys, tempfile, threading, warnings

        def facts():
            import __main__
            limits = sorted(n for n in vars(resource) if n.startswith("RLIMIT_"))
            return {
                "modules": sorted(sys.modules),
                "main": [sorted(vars(__main__)), getattr(__main__, "__file__", None),
                         repr(__main__.__spec__), repr(__main__.__loader__)[:30]],
                "argv": [sys.argv, sys.orig_argv, sys.executable, sys.path],
                "flags": [repr(sys.flags), sys.warnoptions, hash("a"), sys.dont_write_bytecode],
                "env": dict(os.environ),
                "where": [os.getcwd(), tempfile.gettempdir(), site.USER_BASE, site.USER_SITE],
                "fds": sorted(os.listdir("/proc/self/fd")),
                "limits": [resource.getrlimit(getattr(resource, n)) for n in limits],
                "signals": [repr(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
                "streams": [sys.stdin.name, sys.stdout.encoding, sys.stderr.errors],
                "leads": os.getsid(0) == os.getpgid(0),
                "threads": threading.active_count(),
                "locale": locale.setlocale(locale.LC_ALL),
                "filters": repr(warnings.filters),
            }

        with open("facts.json", "w") as file:
            json.dump(facts(), file)
        """
    ),
    "tests/test_shop.py": code(
        """
        import random, warnings
        import pytest
        import shop

        def test_total(): assert shop.total([1, 2]) == 3
        def test_bad(): assert shop.total([1]) == 2
        @pytest.mark.skip
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert shop.total([1]) == 2
        @pytest.mark.parametrize("n", [1, 2])
        def test_each(n): assert shop.total([n]) == n
        @pytest.fixture
        def broken(): raise OSError("no")
        def test_error(broken): pass
        def test_warns(): warnings.warn("take care")
        def test_prints(capfd): print("seen"); assert capfd.readouterr().out == "seen\\n"
        def test_files(tmp_path): assert tmp_path.name == "test_files0"
        """
    ),
    "tests/test_broken.py": "import nonsense_that_is_not_there\n",
    "test_good.py": "import shop\n\ndef test_it(): assert shop.total([1, 2]) == 3\n",
    "pytest.ini": "[pytest]\naddopts = --strict-markers\n",
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkspacePool]:
    folder = tmp_path_factory.mktemp("warm")
    repo = make_repo(folder / "user", FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANWISE_CACHE", str(folder / "cache"))
        with WorkspacePool(repo, slots=1) as pool:
            yield pool


class Slot:
    """One slot and its runner: each report is of a candidate, in the workspace as new."""

    def __init__(self, pool: WorkspacePool, *, sandbox: bool) -> None:
        self._pool = pool
        self.runner = WarmRunner()
        self.settings = Settings(sandbox=sandbox, timeout_s=120, env=ENV, limits=LIMITS)
        self.facts: Any = None

    async def report(self, shop: str = GOOD, line: str = MODULE, **more: Any) -> TestReport:
        with self._pool.workspace() as workspace:
            workspace.write("src/shop.py", shop)
            found = await test_report(workspace, line, self.settings, **more)
            self.facts = _facts(workspace)
        return found

    async def warm(
        self, shop: str = GOOD, line: str = f"{MODULE} test_good.py", **more: Any
    ) -> TestReport:
        return await self.report(shop, line, run=self.runner, **more)

    def beside(self, name: str) -> Path:
        with self._pool.workspace() as workspace:
            return workspace.root.with_name(f"{workspace.root.name}-scratch") / name

    @property
    def servers(self) -> list[object]:
        return [server for _, server in self.runner._servers.values()]


def in_slot(
    pool: WorkspacePool, play: Callable[[Slot], Awaitable[T]], *, sandbox: bool = BOXED
) -> T:
    async def run() -> T:
        slot = Slot(pool, sandbox=sandbox)
        try:
            return await play(slot)
        finally:
            slot.runner.close()

    return asyncio.run(run())


def _facts(workspace: Workspace) -> Any:
    path = workspace.path / "facts.json"
    text = path.read_text() if path.exists() else "{}"
    text = re.sub(r"-scratch/\w+|0x[0-9a-f]+", "X", text)  # of one use
    return json.loads(re.sub(r"\[[0-9a-f]+\.\d+\]", "[mark]", text))


def _told(report: TestReport) -> tuple[Any, ...]:
    def text(given: str) -> str:
        return re.sub(r"in [\d.]+s|0x[0-9a-f]+", "", given)

    details = {test: text(said) for test, said in report.details.items()}
    return report.tests, report.exit_code, report.problem, details, text(report.output)


@pytest.mark.parametrize(("line", "sandbox"), [(MODULE, BOXED), (SCRIPT, False)])
def test_all_that_tests_can_see_is_as_from_a_cold_start(
    pool: WorkspacePool, line: str, sandbox: bool
) -> None:
    async def play(slot: Slot) -> None:
        good = f"{line} test_good.py"
        assert (await slot.warm(line=good, hash_seed=1)).exit_code == 0
        assert len(slot.servers) == 1
        every = f"{line} --continue-on-collection-errors"
        warm = await slot.warm(line=every, hash_seed=1)
        seen = slot.facts
        assert slot.runner.warm == 2
        assert slot.runner.cold == {}
        assert slot.servers == [], "one that had failures is replaced"
        cold = await slot.report(line=every, hash_seed=1)
        for one, other in zip(_told(warm), _told(cold), strict=True):
            assert one == other
        assert warm.tests is not None
        assert set(warm.tests.values()) == {"passed", "failed", "skipped", "xfailed", "error"}
        for name, value in slot.facts.items():
            assert seen[name] == value, name

    in_slot(pool, play, sandbox=sandbox)


def test_each_candidate_sees_its_own_code_from_one_server(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        others = "def total(prices):\n    return 3\n"
        assert (await slot.warm()).exit_code == 0
        servers = slot.servers
        assert (await slot.warm(others)).exit_code == 0
        assert slot.servers == servers != []
        assert (await slot.warm("def total(prices):\n    return 4\n")).exit_code == 1
        assert slot.servers == []
        assert (await slot.warm()).exit_code == 0
        assert (slot.runner.warm, slot.runner.cold) == (4, {})

    in_slot(pool, play)


HARM = {
    "sleeps": ("while True: time.sleep(10**6)", "did not end within"),
    "leaves": ("os._exit(0)", ""),
    "kills its parent": (
        "os.kill(os.getppid(), signal.SIGKILL)\nwhile True: time.sleep(10**6)",
        "killed by SIGKILL",
    ),
    "kills its group": ("os.killpg(0, signal.SIGKILL)", "killed by SIGKILL"),
    "allocates": ("keep = []\nwhile True: keep.append(b'x' * (1 << 26))", "memory"),
    "forks": (
        "for _ in range(6): os.fork()\nwhile True: time.sleep(10**6)",
        "had more processes",
    ),
}


def test_after_each_hostile_candidate_the_next_is_judged_right(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        for name, (harm, says) in HARM.items():
            patience = 1.0 if "did not end" in says else 60.0
            bad = await slot.warm(f"import os, signal, time\n{harm}\n{GOOD}", timeout=patience)
            assert says in bad.problem, name
            assert bad.problem or bad.tests is None, name
            assert slot.servers == [] or name == "leaves"
            good = await slot.warm()
            assert (good.exit_code, good.problem) == (0, ""), name
            assert good.tests == {"test_good.py::test_it": "passed"}
        assert (slot.runner.warm, slot.runner.cold) == (2 * len(HARM), {})

    in_slot(pool, play)


LEFT = {
    "a daemon": code(
        """
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(write, str(os.getpid()).encode())
                for fd in range(30):
                    try: os.close(fd)
                    except OSError: pass
                while True: time.sleep(10**6)
            os._exit(0)
        open("facts.json", "w").write(os.read(read, 20).decode())
        """
    ),
    "a lower limit": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (64, 64))",
    "a file beside the workspace": "open(os.path.expanduser('~/../../x'), 'w').close()",
}


@pytest.mark.parametrize("name", LEFT)
def test_a_server_is_replaced_when_one_that_passes_has_left_something(
    pool: WorkspacePool, name: str
) -> None:
    async def play(slot: Slot) -> None:
        text = f"import os, resource, time\n{LEFT[name]}\n{GOOD}"
        assert (await slot.warm(text)).exit_code == 0
        assert slot.servers == []
        if name == "a daemon":
            assert isinstance(slot.facts, int)
            assert state(slot.facts) == ""
        if name == "a file beside the workspace":
            assert not slot.beside("x").exists()

    in_slot(pool, play, sandbox=BOXED and name != "a daemon")


@pytest.mark.skipif(not BOXED, reason=unusable() or "there is one")
def test_the_temporary_files_of_one_candidate_are_gone_for_the_next(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        places = "import os\nplaces = ['/tmp/x', '/run/x', '/dev/shm/x']\n"
        leaves = places + "for p in places: os.mkdir(p); open(p + '/y', 'w').close()\n"
        finds = places + "assert not any(map(os.path.exists, places))\n"
        assert (await slot.warm(leaves + GOOD)).exit_code == 0
        servers = slot.servers
        assert (await slot.warm(finds + GOOD)).exit_code == 0
        assert slot.servers == servers != []

    in_slot(pool, play)


PEEPS = code(
    """
    import ctypes, os
    server = os.getppid()
    denied = 0
    for name in ("mem", "environ", "maps"):
        try: open(f"/proc/{server}/{name}").read(1)
        except PermissionError: denied += 1
    pidfd_getfd = 438
    pidfd = os.pidfd_open(server)
    got = [ctypes.CDLL(None).syscall(pidfd_getfd, pidfd, fd, 0) for fd in range(30)]
    assert (denied, max(got)) == (3, -1)
    os.close(pidfd)
    for pid in (1, os.getpid()):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try: assert "socket" not in os.readlink(f"/proc/{pid}/fd/{fd}"), fd
            except FileNotFoundError: pass
    """
)


@pytest.mark.skipif(not BOXED, reason=unusable() or "there is one")
def test_a_candidate_cannot_look_into_the_server_nor_speak_for_it(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        found = await slot.warm(f"{PEEPS}\n{GOOD}")
        assert found.exit_code == 0, found.output

    in_slot(pool, play)


def test_one_that_is_cancelled_leaves_no_process(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        with slot._pool.workspace() as workspace:
            fifo = workspace.path / "fifo"
            os.mkfifo(fifo)
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            begun = asyncio.Event()
            asyncio.get_running_loop().add_reader(reader, begun.set)
            workspace.write(
                "src/shop.py", "import time\nopen('fifo', 'w').write('x')\ntime.sleep(10**6)\n"
            )
            task = asyncio.ensure_future(
                test_report(workspace, MODULE, slot.settings, run=slot.runner)
            )
            await begun.wait()
            asyncio.get_running_loop().remove_reader(reader)
            os.close(reader)
            (server,) = slot.servers
            family = server._child._family  # type: ignore[attr-defined]
            assert family.living()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert family.living() == []
        assert (await slot.warm()).exit_code == 0

    in_slot(pool, play)


@pytest.mark.parametrize(
    "line",
    ["pytest -q | cat", "cd tests && pytest", "X=1 pytest", "pytest tests/*.py", "pytest $HOME",
     "pytest -n 2", "pytest -n2", "pytest --dist=load", "python -O -m pytest", "make test",
     "python -m unittest", "./pytest", "bin/pytest", "tox", "pytest 'a", "pytest\nls", ""],
)  # fmt: skip
def test_what_is_not_plainly_pytest_is_cold(line: str, tmp_path: Path) -> None:
    assert isinstance(plain_pytest(line, {"PATH": os.environ["PATH"]}, tmp_path), str)


@contextmanager
def _programs(folder: Path) -> Iterator[dict[str, str]]:
    for name, first in (("pytest", "#!/usr/bin/python3"), ("python3", "#!/bin/sh")):
        folder.joinpath(name).write_text(f"{first}\n")
        folder.joinpath(name).chmod(0o755)
    yield {"PATH": str(folder)}


def test_what_plainly_is_pytest_and_whose(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with _programs(there) as env:
        found = plain_pytest("""python3 -m pytest -k 'a or $b' "c d" """, env, here)
        assert found == PlainPytest(
            python="python3", script=None, arguments=("-k", "a or $b", "c d")
        )
        there.joinpath("pytest").write_text(f"#!{there}/python3\n")
        found = plain_pytest(["pytest", "-x"], env, here)
        script = str(there / "pytest")
        assert found == PlainPytest(python=f"{there}/python3", script=script, arguments=("-x",))
        assert isinstance(plain_pytest("pytest -x", env, there), str), "a candidate's own program"
        there.joinpath("pytest").write_text("#!/bin/sh\n")
        assert isinstance(plain_pytest("pytest -x", env, here), str)


def test_a_module_that_would_be_another_is_found(tmp_path: Path) -> None:
    known = frozenset({"pluggy", "json"})
    for name in ("pluggy", "src"):
        (tmp_path / name).mkdir()
    (tmp_path / "pluggy" / "notes.txt").touch()
    (tmp_path / "json.txt").touch()
    assert shadowed(known, [tmp_path, tmp_path / "none"]) == ""
    (tmp_path / "pluggy" / "__init__.py").touch()
    assert shadowed(known, [tmp_path]) == "pluggy"
    (tmp_path / "src" / "sitecustomize.py").touch()
    assert shadowed(known, [tmp_path / "src"]) == "sitecustomize"


def test_a_candidate_that_brings_a_module_of_pytests_is_cold(pool: WorkspacePool) -> None:
    async def play(slot: Slot) -> None:
        with slot._pool.workspace() as workspace:
            workspace.write("src/iniconfig.py", "raise SystemExit(77)\n")
            found = await test_report(workspace, MODULE, slot.settings, run=slot.runner)
        assert found.exit_code == 77
        assert list(slot.runner.cold) == ["the repository has a module 'iniconfig' of its own"]

    in_slot(pool, play)


KILLED = code(
    """
    import asyncio, sys
    from pathlib import Path
    from fanwise.optimize.checking import Settings, test_report
    from fanwise.optimize.checking.warm import WarmRunner
    from fanwise.workspaces import WorkspacePool

    with WorkspacePool(Path(sys.argv[1]), slots=1) as pool, pool.workspace() as workspace:
        env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        settings = Settings(sandbox=False, inherit=("PATH", "FIFO"), env=env)
        asyncio.run(test_report(workspace, "python -m pytest", settings, run=WarmRunner()))
    """
)


def test_when_fanwise_is_killed_the_server_and_its_fork_die(tmp_path: Path, cache: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    says = "import os, time\nopen(os.environ['FIFO'], 'w').write(f'{os.getpid()} {os.getppid()}')\n"
    repo = make_repo(tmp_path / "user", {"test_it.py": f"{says}while True: time.sleep(10**6)\n"})
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(repo)],
        env={**os.environ, "FIFO": str(fifo), "FANWISE_CACHE": str(cache)},
    )
    try:
        fork, server = map(int, fifo.read_text().split())
        assert b"fork_server_program" in Path(f"/proc/{server}/cmdline").read_bytes()
    finally:
        process.kill()
        process.wait()
    eventually_now(lambda: state(fork) in ("", "Z") and state(server) in ("", "Z"))


RUN = code(
    """
    import os, slow

    def test_it():
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
            warm = b"fork_server_program" in file.read()
        with open(os.environ["LOG"], "a") as log:
            print(slow.MARK, warm, file=log)
        assert slow.MARK != "bad"
    """
)


def test_a_run_is_warm_if_that_is_said(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    repo = make_repo(tmp_path / "user", {"slow.py": "MARK = 'original'\n", "test_it.py": RUN})
    write(tmp_path / "bad.py", "# path: slow.py\nMARK = 'bad'\n")

    def judge(line: str) -> OptimizeResult:
        return optimize_sync(
            None, "bad.py", line, repo=repo, folder=tmp_path, slots=1,
            bench={"command": "true", "budget": 0.1},
            fields={"warm": True, "sandbox": False, "env": ["LOG", *ENV]},
        )  # fmt: skip

    result = judge("python -m pytest -q")
    assert [each.stage for each in result.verdicts] == ["test"]
    assert log.read_text() == "original True\noriginal True\nbad True\n"
    assert not any("warm" in note for note in result.notes)
    result = judge("! cat *.py | grep -q \"= 'bad'\"")
    assert [each.stage for each in result.verdicts] == ["test"]
    assert "tests were not started warm: the test command is for a shell" in result.notes
