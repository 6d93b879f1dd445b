"""Real repositories, and all that must not change about them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

_ENV = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


def git(folder: Path, *args: str, stdin: str = "") -> str:
    """git as the user has it; hooks that run are not ours."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null", *args],
        cwd=folder, env={**os.environ, **_ENV}, input=stdin, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_repo(folder: Path, files: dict[str, str] | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in (files or {"a.txt": "a\n", "src/pkg/__init__.py": "WHO = 'base'\n"}).items():
        write(folder / name, text)
    commit(folder)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(folder: Path, message: str = "one") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def files(folder: Path) -> dict[str, str]:
    """Every file of a tree with its digest, git's own left out."""
    return {
        str(path.relative_to(folder)): _digest(path)
        for path in sorted(folder.rglob("*"))
        if ".git" not in path.relative_to(folder).parts and (path.is_file() or path.is_symlink())
    }


def everything(repo: Path) -> dict[str, object]:
    """All that the user has: the tree, the index to the byte, refs, logs, stash, config, hooks.

    Of `.git` everything but objects, which may be added.
    """
    inner = repo / ".git"
    return {
        "tree": files(repo),
        "git": {
            str(path.relative_to(inner)): _digest(path)
            for path in sorted(inner.rglob("*"))
            if "objects" not in path.relative_to(inner).parts
        },
        "worktrees": git(repo, "worktree", "list", "--porcelain"),
        "refs": git(repo, "for-each-ref"),
    }


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return "folder"
    return f"{oct(path.stat().st_mode)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
