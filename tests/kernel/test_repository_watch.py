"""What changed in the user's repository is an event of the run, by the place where it was seen."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing
from pathlib import Path

from fanwise import open_run
from fanwise.journal.open import open_journal
from fanwise.kernel.repository_watch import RepositoryWatch, recorded_changes
from tests.workspaces.support import git, make_repo


def test_changes_are_recorded_by_place_except_those_of_the_run(tmp_path: Path) -> None:
    repo, journal = make_repo(tmp_path / "repo"), tmp_path / "j.db"

    async def main() -> tuple[str, ...]:
        async with open_run("r", journal=journal) as run:
            outer = RepositoryWatch(repo, run, "steps/plan")
            outer.own = ("refs/heads/ours",)
            other = RepositoryWatch(repo, run, "steps/plan-b")
            async with outer:
                await outer.begin()
                git(repo, "tag", "v9")
                git(repo, "branch", "ours")
                async with other:
                    await other.begin()
                    git(repo, "tag", "v10")
            assert other.changed == ("refs/tags/v10 is new",)
            return outer.changed

    both = ("refs/tags/v10 is new", "refs/tags/v9 is new")
    assert asyncio.run(main()) == both
    with closing(open_journal(journal, read_only=True)) as opened:
        assert recorded_changes(opened, "r", "steps/plan") == both
        assert recorded_changes(opened, "r", "steps/plan-b") == both[:1]
        assert set(recorded_changes(opened, "r", "steps")) == set(both)
        assert recorded_changes(opened, "r", "plan") == ()


def test_a_repository_that_is_gone_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")

    async def main() -> tuple[str, ...]:
        async with open_run() as run:
            async with RepositoryWatch(repo, run, "plan") as watch:
                await watch.begin()
                shutil.rmtree(repo)
            return watch.changed

    (told,) = asyncio.run(main())
    assert told.startswith("it cannot be read any more: "), told
