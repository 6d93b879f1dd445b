from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from fanwise.plan.split import PlanFile
from fanwise.plan.split.files import file_of


def made(files: Mapping[str, str | int]) -> list[PlanFile]:
    """Files by their paths: with a text, or with a number of tokens."""
    return [
        file_of(path, text.encode()) if isinstance(text, str) else PlanFile(path, text, f"{text}")
        for path, text in files.items()
    ]


def write(top: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(text.encode() if isinstance(text, str) else text)
    return top


def git(repo: Path, *args: str) -> str:
    identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    done = subprocess.run(
        ["git", *identity, *args], cwd=repo, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit_all(repo: Path, message: str = "all") -> str:
    if not (repo / ".git").exists():
        git(repo, "init", "-q")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")
