"""What changed in the user's repository during a run, other than by the run itself.

Workspaces are repositories of their own, but what runs in one may still reach the user's by its
path. Nothing prevents that without a sandbox, so the repository is compared before and after, and
every difference is an event of the run. `show` and the report read it from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from fanwise.errors import FanwiseError, one_line
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.workspaces.repository_state import differences, users_state

OUTSIDE = "outside"
"""The kind of event."""
OUTSIDE_TITLE = "changed in your repository during the run, not by fanwise"


class RepositoryWatch:
    """An `async with` block in which things run in workspaces; compares also if it is cut off.

    `path` is that of the fan-out: a run may have several, one inside another.
    """

    def __init__(self, repo: Path, run: Run, path: str) -> None:
        self._repo = repo
        self._run = run
        self._path = path
        self._before: Mapping[str, str] | None = None
        self.own: tuple[str, ...] = ()
        """What the names of the run's own refs begin with."""
        self.changed: tuple[str, ...] = ()
        """After the block: what has changed except `own`, in this execution and earlier ones."""

    async def begin(self) -> None:
        """Remember how the repository is now, if there is one."""
        self._before = await in_thread(users_state, self._repo)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        found: tuple[str, ...] = ()
        if self._run.journal is not None:
            found = await in_thread(recorded_changes, self._run.journal, self._run.id, self._path)
        if self._before is not None:
            changed = await in_thread(_changes, self._repo, self._before, self.own)
            if changed:
                self._run.note(OUTSIDE, {"path": self._path, "changed": changed})
            found += tuple(changed)
        self.changed = tuple(dict.fromkeys(found))


def recorded_changes(journal: Journal, run_id: str, path: str) -> tuple[str, ...]:
    """What was noticed during a fan-out, and during those inside it."""
    notes = [JSON.decode(event.data) for event in journal.events(run_id, OUTSIDE)]
    here = [note for note in notes if f"{note['path']}/".startswith(f"{path}/")]
    return tuple(dict.fromkeys(each for note in here for each in note["changed"]))


def outside_lines(changed: Collection[str]) -> list[str]:
    """These changes for a terminal."""
    return [f"{OUTSIDE_TITLE}:", *(f"  {each}" for each in changed)] if changed else []


def _changes(repo: Path, before: Mapping[str, str], own: tuple[str, ...]) -> list[str]:
    try:
        return differences(before, users_state(repo) or {}, without=own)
    except (FanwiseError, OSError) as error:
        return [f"it cannot be read any more: {one_line(error)}"]
