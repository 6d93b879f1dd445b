"""A sandbox without bubblewrap: namespaces of the kernel, asked for directly. Linux, x86-64 or ARM.

    python -I -S namespaces_program.py '{"mounts": …, "cwd": …, "network": …}' PROGRAM ARGUMENTS …

It does what bubblewrap does, in the same order, and refuses to run the program if any step fails:
namespaces for users, mounts, processes, IPC, host names, cgroups and the network; a file system
that is empty but for the mounts; no capabilities, no way to gain some (also not in a namespace of
its own), and its end with that of whoever started it. It imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

NEW_NS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC, REMOUNT, BIND, REC, PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
SYS_MOUNT_SETATTR = 442
DETACH = 2
SET_INTERFACE_FLAGS = 0x8914
RECURSIVE = 0x8000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAPABILITIES_VERSION_3 = 0x20080522
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
BASE = "/tmp"
"""Where the new file system is put together; what is below it is found again in the old one."""

libc = ctypes.CDLL(None, use_errno=True)


def must(code: int, what: str) -> None:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, place: str, kind: str, flags: int, data: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(place), kind.encode() or None)
    must(libc.mount(*words, ctypes.c_ulong(flags), data.encode()), f"mount {place}")


def bind(source: str, place: str, attributes: int) -> None:
    """Show a file or folder at another place, and everything mounted below it likewise."""
    make_place(place, folder=os.path.isdir(source))
    mount(source, place, "", BIND | REC)
    # struct mount_attr: what to set, what to clear, propagation, a user namespace
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    words = (-100, os.fsencode(place), RECURSIVE, wanted, ctypes.sizeof(wanted))
    must(libc.syscall(SYS_MOUNT_SETATTR, *words), f"restrict {place}")


def make_place(path: str, *, folder: bool) -> None:
    if os.path.lexists(path):
        return
    os.makedirs(path if folder else os.path.dirname(path), 0o755, exist_ok=True)
    if not folder:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def main() -> NoReturn:
    how = json.loads(sys.argv[1])
    try:
        unshare(how)
        watched, alive = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(alive)
            inside(how, watched)
        os.close(watched)
        die_with_parent()
    except OSError as error:
        fail(error)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os._exit(exit_code(os.waitpid(child, 0)[1]))


def unshare(how: dict[str, Any]) -> None:
    user, group = os.geteuid(), os.getegid()
    # A keyring is inherited, and its keys can be read by whoever has it.
    libc.syscall(SYS_KEYCTL[os.uname().machine], 1, None)
    network = 0 if how["network"] else NEW_NET
    flags = NEW_USER | NEW_NS | NEW_PID | NEW_IPC | NEW_UTS | NEW_CGROUP | network
    must(libc.unshare(flags), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{how['user']} {user} 1")
    write("/proc/self/gid_map", f"{how['group']} {group} 1")
    if network:
        with socket.socket() as any_socket:  # its own loopback, for tests that talk to themselves
            fcntl.ioctl(any_socket, SET_INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", 0x41))


def inside(how: dict[str, Any], watched: int) -> NoReturn:
    """The first process of the sandbox. It ends with the program, and everything ends with it."""
    try:
        die_with_parent()
        if select.select([watched], [], [], 0)[0]:
            os._exit(1)  # whoever started it has died before it could be noticed
        os.close(watched)
        file_system(how)
        os.chdir(how["cwd"])
        drop_privileges()
    except OSError as error:
        fail(error)
    program = os.fork()
    if program == 0:
        run(sys.argv[2:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        ended, status = os.wait()
        if ended == program:
            os._exit(exit_code(status))


def file_system(how: dict[str, Any]) -> None:
    mount("none", "/", "", REC | PRIVATE)
    mount("tmpfs", BASE, "tmpfs", NO_SUID | NO_DEV, "mode=0755,size=4m")
    os.makedirs(f"{BASE}/old")
    os.makedirs(f"{BASE}/new")
    pivot(BASE, f"{BASE}/old")
    os.chdir("/")
    mount("tmpfs", "/new", "tmpfs", NO_SUID | NO_DEV, "mode=0755,size=4m")
    processes_and_devices()
    for place, kind, source, size in how["mounts"]:
        if kind == "tmpfs":
            make_place(f"/new{place}", folder=True)
            mount("tmpfs", f"/new{place}", "tmpfs", NO_SUID | NO_DEV, f"mode=0755,size={size}")
        elif kind == "link":
            make_place(os.path.dirname(f"/new{place}"), folder=True)
            os.symlink(source, f"/new{place}")
        else:
            only = READ_ONLY if kind == "readable" else 0
            bind(f"/old{source}", f"/new{place}", only | NO_SUID | NO_DEV)
    make_place(f"/new{how['cwd']}", folder=True)
    cover_proc(how["covered"])
    for place in ("/new/dev", "/new"):
        mount("none", place, "", REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEV)
    pivot("/new", "/new")  # the old one is now on top of the new one, and goes
    must(libc.umount2(b".", DETACH), "umount")
    os.chdir("/")


def processes_and_devices() -> None:
    make_place("/new/proc", folder=True)
    mount("proc", "/new/proc", "proc", NO_SUID | NO_DEV | NO_EXEC)
    make_place("/new/dev", folder=True)
    mount("tmpfs", "/new/dev", "tmpfs", NO_SUID, "mode=0755,size=1m")
    for name in DEVICES:
        bind(f"/old/dev/{name}", f"/new/dev/{name}", NO_SUID)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/new/dev/{name}")
    os.symlink("/proc/self/fd", "/new/dev/fd")
    os.makedirs("/new/dev/pts")
    mount("devpts", "/new/dev/pts", "devpts", NO_SUID | NO_EXEC, "newinstance,ptmxmode=0666")
    os.symlink("pts/ptmx", "/new/dev/ptmx")


def cover_proc(names: list[str]) -> None:
    # Namespaces of its own would give it capabilities there, and file systems without a bound.
    write("/new/proc/sys/user/max_user_namespaces", "0")
    for name in names:
        if os.path.lexists(f"/new/proc/{name}"):
            bind(f"/new/proc/{name}", f"/new/proc/{name}", READ_ONLY | NO_SUID | NO_DEV | NO_EXEC)


def pivot(new: str, put_old: str) -> None:
    os.chdir(new)
    number = SYS_PIVOT_ROOT[os.uname().machine]
    must(libc.syscall(number, os.fsencode(new), os.fsencode(put_old)), "pivot_root")


def drop_privileges() -> None:
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION_3, 0)
    must(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    die_with_parent()  # a change of capabilities has cleared it


def die_with_parent() -> None:
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")


def run(argv: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python has set them aside
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def fail(error: OSError) -> NoReturn:
    print(f"no sandbox: {error.strerror or error}", file=sys.stderr, flush=True)
    os._exit(125)


if __name__ == "__main__":
    main()
