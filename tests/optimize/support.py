"""What the tests of optimize share: repositories, workspaces of them, and what must not change."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanwise.workspaces import Workspace, WorkspacePool
from tests.workspaces.support import everything, make_repo

__all__ = ["code", "everything", "make_repo", "new_workspace", "unchanged"]


def code(text: str) -> str:
    """Source as it stands in a test, without its indentation."""
    return textwrap.dedent(text).lstrip("\n")


@contextmanager
def unchanged(repo: Path, *, in_a_run: bool = False) -> Iterator[None]:
    """See that a user's repository is the same to the byte after the block.

    The tree with its modes, the index, refs, logs, stash, configuration, hooks and work trees; not
    objects that no ref leads to. `in_a_run`: there is a pool of it now, whose notes may change.
    """
    before = _of_the_user(repo) if in_a_run else everything(repo)
    yield
    after = _of_the_user(repo) if in_a_run else everything(repo)
    assert after.keys() == before.keys()
    for name, value in after.items():
        assert value == before[name], name


def _of_the_user(repo: Path) -> dict[str, object]:
    found = everything(repo)
    notes = found.pop("git")
    assert isinstance(notes, dict)
    found.pop("worktrees")
    own = {name: each for name, each in notes.items() if Path(name).parts[0] != "worktrees"}
    return {**found, "git": own}


@contextmanager
def new_workspace(repo: Path, **options: object) -> Iterator[Workspace]:
    with WorkspacePool(repo, slots=1, **options) as pool, pool.workspace() as workspace:  # type: ignore[arg-type]
        yield workspace
