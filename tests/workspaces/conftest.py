from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspaces.support import everything, git, make_repo, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pools of this test alone, found in one place."""
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path / "cache"))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    return tmp_path / "cache" / "workspaces"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Path]:
    """A user's repository in the middle of work. Whatever a test does, it is as before after it."""
    repo = make_repo(tmp_path / "user" / "project")
    write(repo / ".gitignore", "*.log\n__pycache__/\n")
    write(repo / "b.txt", "b\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "two")
    git(repo, "branch", "other")
    git(repo, "tag", "v1")
    write(repo / "a.txt", "stashed\n")
    git(repo, "stash")
    write(repo / "staged.txt", "staged\n")
    git(repo, "add", "staged.txt")
    write(repo / "a.txt", "changed\n")
    write(repo / "untracked.txt", "untracked\n")
    write(repo / "ignored.log", "ignored\n")
    (repo / "b.txt").unlink()
    for hook in ("post-checkout", "pre-commit", "post-index-change"):
        write(repo / ".git" / "hooks" / hook, f"#!/bin/sh\ntouch '{tmp_path}/hook-ran'\n")
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    before = everything(repo)
    yield repo
    assert everything(repo) == before
    assert not (tmp_path / "hook-ran").exists()
