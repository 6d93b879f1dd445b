"""What files declare, read once for all sub-plans: many import the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanwise.plan.work.signatures import signatures
from fanwise.workspaces import Workspace


class Declarations:
    """Remembers what was read, by the name of the content and the path."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Sequence[str]] = {}

    def reader(self, workspace: Workspace) -> Callable[[str], Sequence[str]]:
        """Return a function that gives what a file declares at the workspace's base."""
        before = workspace.files_at_base()

        def read(path: str) -> Sequence[str]:
            key = before.get(path, ("", ""))[1], path
            if key not in self._known:
                text = workspace.read_at_base([path]).get(path, b"").decode("utf-8", "replace")
                self._known[key] = signatures(path, text)
            return self._known[key]

        return read
