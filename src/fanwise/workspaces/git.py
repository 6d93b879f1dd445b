"""git, with nothing of its surroundings: no variables, hooks, prompts, daemons or network.

A caller may itself run inside a hook or a `git rebase --exec`, where GIT_DIR and GIT_INDEX_FILE
point at the user's own. And what we run shall be the same for everybody, whatever the user has
configured for the eyes (diff prefixes, renames, colours) or for speed (fsmonitor).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanwise.errors import GitFailed, UsageError

_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
_SET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.trustctime=true",  # a file's times can be forged, but this one cannot
    "core.checkStat=default",
    "core.quotePath=false",
    "credential.helper=",
    "submodule.recurse=false",
    "index.sparse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.renames=false",
    "diff.orderFile=/dev/null",
    "apply.whitespace=nowarn",
    "color.ui=false",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
)
NOBODY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "fanwise"), ("EMAIL", "fanwise@localhost"))
}
"""For commits that nobody shall be blamed for."""


class Git:
    """git in one place. A failure is a `GitFailed`.

    `held` are descriptors of locks. git inherits them: when we are killed, it may go on for a
    moment, and until it has ended nobody shall take the locks for free. `env` are variables for
    each command.
    """

    def __init__(
        self,
        cwd: Path,
        *,
        git_dir: Path | None = None,
        settings: Sequence[str] = (),
        held: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.cwd = cwd
        self._env = dict(env or {})
        where = [] if git_dir is None else [f"--git-dir={git_dir}", f"--work-tree={cwd}"]
        config = [word for each in (*_CONFIG, *settings) for word in ("-c", each)]
        self._argv = ["git", *config, *where]
        self._held = tuple(held)

    def __call__(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run it and return what it writes, as text."""
        return os.fsdecode(self.raw(*args, stdin=stdin, env=env)).strip()

    def raw(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Run it and return what it writes."""
        code, out, said = self.run(*args, stdin=stdin, env=env)
        if code != 0:
            raise GitFailed(f"git {args[0]}", said)
        return out

    def run(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        """Run it and return its exit code, what it wrote, and what it said on stderr."""
        try:
            done = subprocess.run(
                [*self._argv, *args],
                input=stdin,
                capture_output=True,
                check=False,
                cwd=self.cwd,
                env={**_environment(), **self._env, **(env or {})},
                pass_fds=self._held,
                start_new_session=True,  # Ctrl-C is for us: git shall end what it is at
            )
        except FileNotFoundError as error:
            if error.filename == "git":
                raise UsageError("git is not installed", "Install git 2.36 or newer") from None
            raise
        return done.returncode, done.stdout, os.fsdecode(done.stderr).strip()

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start it, to be talked to or waited for; what it says on stderr is dropped."""
        return subprocess.Popen(
            [*self._argv, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.cwd,
            env={**_environment(), **self._env},
            pass_fds=self._held,
            start_new_session=True,
        )

    def names(self, *args: str, env: Mapping[str, str] | None = None) -> list[str]:
        """Run it and return the names that it writes with a NUL after each."""
        return [os.fsdecode(name) for name in self.raw(*args, env=env).split(b"\0") if name]


def _environment() -> dict[str, str]:
    found = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    return {**found, **_SET}
