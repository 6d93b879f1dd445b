"""A small repository, and leaves of it, done for real."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fanwise import fan_out
from fanwise.core.caps import Caps
from fanwise.plan.model.leaf_result import LeafResult
from fanwise.plan.model.node import Node
from fanwise.plan.work import LeafSettings, LeafWorker, do_leaf
from fanwise.workspaces import WorkspacePool
from tests.workspaces.support import git, write

FILES: Mapping[str, str] = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def one():\n    return 1\n",
    "pkg/b.py": "from pkg.a import one\n\n\ndef two():\n    return one() + 1\n",
    "pkg/c.py": "THREE = 3\n",
    "tests/test_a.py": "from pkg.a import one\n\n\ndef test_one():\n    assert one() == 1\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n*.log\n",
}
IMPORTS = {"pkg/b.py": ("pkg/a.py",), "tests/test_a.py": ("pkg/a.py",)}
OWNERS = {"pkg/a.py": "leaf-a", "pkg/b.py": "leaf-b", "tests/test_a.py": "leaf-t"}


def make_repository(path: Path, files: Mapping[str, str] = FILES) -> Path:
    """A user's repository with one commit."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    for name, text in files.items():
        write(path / name, text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "one")
    return path


def leaf(*files: str, name: str = "leaf-a", title: str = "pkg", **more: Any) -> Node:
    """A leaf with these files."""
    return Node(id=name, title=title, files=files or ("pkg/a.py",), **more)


def how(folder: Path, **more: Any) -> LeafSettings:
    """As a plan would say."""
    return LeafSettings(kept=folder / "kept", imports=IMPORTS, **{"retry": 0, **more})


async def done(
    pool: WorkspacePool,
    worker: LeafWorker,
    node: Node,
    how: LeafSettings,
    goal: str = "Do it",
    **more: Any,
) -> LeafResult:
    """One leaf, in an item of its own."""

    async def work(item: Node) -> LeafResult:
        return await do_leaf(
            item, goal=goal, worker=worker, pool=pool, how=how, owners=OWNERS, **more
        )

    outcomes = await fan_out(
        work, [node], needs=lambda _: "workspaces", caps=Caps(workspaces=len(pool))
    )
    return outcomes[0].unwrap()


def do(
    repo: Path, worker: LeafWorker, node: Node, how: LeafSettings, *, slots: int = 1, **more: Any
) -> LeafResult:
    """The same, for a plain test."""
    with WorkspacePool(repo, slots=slots) as pool:
        return asyncio.run(done(pool, worker, node, how, **more))


def blob(repo: Path, ended: LeafResult, path: str) -> str:
    """The text of a file of its change."""
    assert ended.change is not None
    found = ended.change.files[path]
    assert found is not None
    return git(repo, "cat-file", "blob", found.name)


def names(ended: LeafResult) -> Sequence[str]:
    """The files of its change."""
    return sorted(ended.change.files) if ended.change else []


def lives(told: str) -> bool:
    """Whether the process whose number was told is still there."""
    if not told.strip().isdigit():
        return False
    with suppress(OSError):
        state = Path(f"/proc/{told.strip()}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"
    return False
