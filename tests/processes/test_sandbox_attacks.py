"""Programs that try to get out of the sandbox: as root and as a plain user, in each kind of it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.support import box

__all__ = ["box"]

SECRET = "sk-no-candidate-may-read-this"
REPO = Path(__file__).parents[2]
NOBODY = 65534

# Every attack returns what it got hold of. The sandbox holds if each of them gets None.
ATTACKS = """
import ctypes, json, os, signal, socket, subprocess, sys, tempfile
outside = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def key_in_a_home(): return open(outside["home"] + "/id_rsa").read()
def file_in_var(): return open(outside["var"] + "/secret").read()
def file_in_the_project(): return open(outside["project"] + "/.env").read()
def passwords(): return open("/etc/shadow").read()
def private_keys(): return os.listdir("/etc/ssl/private")
def homes(): return [n for n in os.listdir("/home")] or None
def variables():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found = open(f"/proc/{pid}/environ", errors="replace").read()
            if outside["secret"] in found: return pid
        except OSError: pass
def core_pattern():
    pattern = open("/proc/sys/kernel/core_pattern").read()
    open("/proc/sys/kernel/core_pattern", "w").write(pattern)
    return pattern
def sysrq(): return open("/proc/sysrq-trigger", "w").fileno()
def sys_files():
    return [os.path.join(*each) for each in os.walk("/sys") if os.access(each[0], os.W_OK)] or None
def unix_socket(where):
    client = socket.socket(socket.AF_UNIX)
    client.connect(where)
    return where
def socket_in_a_home(): return unix_socket(outside["home"] + "/socket")
def socket_in_var(): return unix_socket(outside["var"] + "/socket")
def abstract_socket(): return unix_socket("\\0" + outside["abstract"])
def pipe_in_a_home(): return os.open(outside["home"] + "/pipe", os.O_WRONLY | os.O_NONBLOCK)
def pipe_in_var(): return os.open(outside["var"] + "/pipe", os.O_WRONLY | os.O_NONBLOCK)
def server(): return socket.create_connection(("127.0.0.1", outside["port"]), timeout=5).fileno()
def root(): return os.setuid(0) or "root"
def user(): return "root" if 0 in os.getresuid() + os.getresgid() else None
def capabilities():
    lines = [line.split() for line in open("/proc/self/status") if line.startswith("Cap")]
    return [line for line in lines if int(line[1], 16)] or None
def own_namespace():
    if libc.unshare(0x10000000 | 0x20000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    return "a namespace"
def uncover():
    for place in (b"/proc/sys", b"/usr", b"/tmp", b"/"):
        if libc.umount2(place, 2) == 0 or libc.mount(b"none", place, None, 32 | 4096, None) == 0:
            return place.decode()
def device():
    os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))
    return open("/tmp/disk", "rb").read(1)
def foreign_process():
    said = open(f"/proc/{outside['pid']}/cmdline").read()
    return outside["pid"] if outside["name"] in said else None
def write_outside():
    wrote = []
    for path in ("/x", "/etc/x", "/usr/x", "/run/x", "/dev/x", "/var/x", "/sys/x",
                 sys.prefix + "/x", sys.base_prefix + "/x", outside["home"] + "/x"):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").write("x")
            wrote.append(path)
        except OSError: pass
    return wrote or None

found = {}
named = [name for name, each in globals().items() if type(each) is type(root)]
for name in sys.argv[2:] or [name for name in named if name != "unix_socket"]:
    try: found[name] = globals()[name]()
    except OSError as error: found[name] = None
print(json.dumps(found))
"""

# Fills every place that it can write to, and says how much that took.
FILL = """
import os
block, total = b"x" * (1 << 20), 0
for place in ("/tmp", "/dev/shm", "/run", "/dev", "/", "/var/tmp", "/sys", "/root", "/home"):
    try:
        with open(f"{place}/fill{total}", "wb", buffering=0) as file:
            while total < 4096:
                file.write(block)
                total += 1
    except OSError: pass
print(total)
"""

RUNNER = """
import asyncio, json, os, sys
from fanwise.processes import Command, Limits, run_command
from fanwise.processes.sandbox import _usable
how = json.load(sys.stdin)
command = Command(
    sys.executable, "-c", how["code"], *how["arguments"], cwd=how["space"], sandbox=True,
    limits=Limits(memory=how["memory"]), check=False,
)
result = asyncio.run(run_command(command, timeout=600))
kind = getattr(_usable(), "__name__", _usable())
ending = result.exceeded or result.ending
print(json.dumps([kind, os.getuid(), ending, result.stdout.text, result.stderr.text]))
"""


@pytest.fixture(params=["root", "plain"])
def user(request: pytest.FixtureRequest) -> str:
    """Who runs fanwise."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("the tests do not run as root")
    if request.param == "plain" and os.geteuid() == 0 and not _can_become_plain():
        pytest.skip("root cannot become another user here")
    return str(request.param)


def _can_become_plain() -> bool:
    return bool(shutil.which("setpriv")) and subprocess.run(_as("plain", ["true"])).returncode == 0


def _as(user: str, argv: list[str]) -> list[str]:
    """The arguments that run a command as root, or as a user who may not even enter root's home."""
    if user == "root" or os.geteuid() != 0:
        return argv
    drop = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups {shlex.join(argv)}"
    python = Path(sys.base_prefix)
    if not python.is_relative_to("/root"):
        return ["sh", "-c", f"exec {drop}"]
    # The interpreter is in root's home: show it in a namespace of mounts of its own.
    show = f"mkdir -p {python} && mount --bind $kept {python}"
    keep = f"kept=$(mktemp -d) && mount --bind {python} $kept"
    return ["unshare", "-m", "sh", "-c", f"{keep} && mount -t tmpfs none /root && {show} && {drop}"]


def run_as(
    user: str, code: str, space: Path, *arguments: str, memory: int = 512 << 20
) -> list[Any]:
    how = {"code": code, "arguments": arguments, "space": str(space), "memory": memory}
    env = {**os.environ, "API_KEY": SECRET, "HOME": "/root" if user == "root" else "/nonexistent"}
    done = subprocess.run(
        _as(user, [sys.executable, "-c", RUNNER]),
        input=json.dumps(how), env=env, capture_output=True, text=True, check=False, cwd=space,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def space(user: str) -> Iterator[Path]:
    """A folder that the user may write to."""
    with tempfile.TemporaryDirectory() as folder:
        if user == "plain" and os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


@pytest.fixture
def outside() -> Iterator[dict[str, Any]]:
    """What there is to get hold of: keys, sockets and pipes that anybody may use who sees them."""
    abstract = f"fanwise-{os.getpid()}"
    with (
        tempfile.TemporaryDirectory(dir=Path.home(), prefix=".fanwise-") as home,
        tempfile.TemporaryDirectory(dir="/var/tmp") as var,
        tempfile.TemporaryDirectory() as project,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as hidden,
    ):
        hidden.bind(f"\0{abstract}")
        hidden.listen()
        held: list[Any] = []
        for folder in (home, var):
            Path(folder).chmod(0o755)
            (Path(folder) / "id_rsa").write_text(SECRET)
            (Path(folder) / "secret").write_text(SECRET)
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(f"{folder}/socket")
            listening.listen()
            os.mkfifo(f"{folder}/pipe")
            reader = os.open(f"{folder}/pipe", os.O_RDONLY | os.O_NONBLOCK)
            held += [listening, os.fdopen(reader)]
            for name in ("socket", "pipe"):
                Path(folder, name).chmod(0o777)
        Path(project).chmod(0o755)
        (Path(project) / ".env").write_text(SECRET)
        yield {
            "home": home, "var": var, "project": project, "abstract": abstract, "secret": SECRET,
            "port": server.getsockname()[1], "pid": os.getpid(),
            "name": Path("/proc/self/cmdline").read_text(),
        }  # fmt: skip
        for each in held:
            each.close()


def test_no_attack_gets_hold_of_anything(
    box: str, user: str, space: Path, outside: dict[str, Any]
) -> None:
    kind, who, ending, said, errors = run_as(user, ATTACKS, space, json.dumps(outside))

    assert (kind, who == 0) == (f"_{box}", user == "root")
    assert ending == "exit", errors
    assert {name: got for name, got in json.loads(said).items() if got is not None} == {}
    assert len(json.loads(said)) > 20, "they were tried"
    assert SECRET not in said + errors


READING = (
    "file_in_var", "socket_in_var", "pipe_in_var", "abstract_socket", "server", "variables",
    "file_in_the_project", "foreign_process", "own_namespace",
)  # fmt: skip
BY_ROOT = ("key_in_a_home", "socket_in_a_home", "pipe_in_a_home", "passwords", "user")


def test_attacks_work_where_there_is_no_sandbox(
    user: str, space: Path, outside: dict[str, Any]
) -> None:
    """Otherwise the test above would pass whatever the sandbox does. Those that do no harm."""
    harmless = [*(BY_ROOT if user == "root" else ()), *READING]
    argv = _as(user, [sys.executable, "-c", ATTACKS, json.dumps(outside), *harmless])
    env = {**os.environ, "API_KEY": SECRET}
    said = subprocess.run(argv, capture_output=True, cwd=space, env=env, check=True).stdout
    assert [name for name, got in json.loads(said).items() if got is None] == []


def test_files_in_memory_stay_within_the_limit_wherever_they_are_written(
    box: str, user: str, space: Path
) -> None:
    _, _, _, said, errors = run_as(user, FILL, space, memory=256 << 20)
    assert 64 <= int(said) <= 128, errors


HOLD = """
import time
data = b"x" * (1 << 20)
for place in ("/tmp", "/dev/shm"):
    with open(f"{place}/fill", "wb", buffering=0) as file:
        for _ in range(50): file.write(data)
held = b"y" * (200 << 20)
open("ready", "w").close()
time.sleep(1000)
"""


def test_files_in_memory_count_as_memory(box: str, user: str, space: Path) -> None:
    """100 MiB in files and 200 MiB in a process are more than 256 MiB."""
    assert run_as(user, HOLD, space, memory=256 << 20)[2] == "memory"
