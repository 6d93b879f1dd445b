"""What earlier executions of a run recorded, as needed before the first item starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord
from fanwise.kernel.run import Run
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.state.replay import items_of
from fanwise.specs.nearest import did_you_mean
from fanwise.workspaces.git import Git
from fanwise.workspaces.results import branches

BRANCH = "refs/heads/"


class EarlierItems(msgspec.Struct, frozen=True, kw_only=True):
    """Empty for a new run."""

    failed: frozenset[str] = frozenset()
    """Leaves that had failed."""
    lost: frozenset[str] = frozenset()
    """Keys of items whose objects are not in the repository any more: done anew."""
    records: tuple[ItemRecord, ...] = ()
    """All others."""

    def without(self, leaf: str) -> EarlierItems:
        """The same, as if a sub-plan had not been done."""
        keys = {f"leaf:{leaf}", f"again:{leaf}"}
        return EarlierItems(
            failed=self.failed - {leaf},
            lost=self.lost | keys,
            records=tuple(each for each in self.records if each.key not in keys),
        )


def leaf_named(tree: Tree, name: str) -> Node:
    """The sub-plan with this title, or whose id begins so. `UsageError`."""
    found = [leaf for leaf in tree.leaves if leaf.title == name]
    found = found or [leaf for leaf in tree.leaves if leaf.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} sub-plans are called {name!r}", "Give the id of one")
    near = did_you_mean(name, [leaf.title for leaf in tree.leaves])
    raise UsageError(f"there is no sub-plan {name!r}{near}", "See `fanwise show RUN --items`")


def read_earlier_items(run: Run, git: Git, path: str) -> EarlierItems:
    """Look into the journal, and whether git still has what it speaks of: nothing else names it.

    `path` is that of the plan's fan-out in the run.
    """
    if run.journal is None or not run.resumed:
        return EarlierItems()
    items = list(items_of(run.journal, run.id, path))
    failed = () if run.retries_failed else (each for each in items if each.status == "failed")
    named = {
        each.key: set(_names(JSON.decode(each.value)))
        for each in items
        if each.status == "done" and each.value
    }
    gone = missing(git, {name for names in named.values() for name in names})
    gone |= {name for name in named.get("result", ()) if name.startswith(BRANCH)} - _branches(git)
    lost = frozenset(key for key, names in named.items() if names & gone)
    return EarlierItems(
        failed=frozenset(leaf for each in failed if (leaf := _leaf(each.key))),
        lost=lost,
        records=tuple(each for each in items if each.key not in lost),
    )


def missing(git: Git, names: Iterable[str]) -> set[str]:
    asked = sorted(name for name in names if not name.startswith(BRANCH))
    if not asked:
        return set()
    told = git("cat-file", "--batch-check", stdin="".join(f"{each}\n" for each in asked).encode())
    return {line.split()[0] for line in told.splitlines() if line.endswith(" missing")}


def _leaf(key: str) -> str:
    kind, _, leaf = key.partition(":")
    return leaf if kind == "leaf" else ""


def _names(value: Mapping[str, Any]) -> Iterator[str]:
    """The objects that a record speaks of: contents of a change, commits."""
    change = value.get("change")
    if change:
        yield from (blob["name"] for blob in change["files"].values() if blob is not None)
    if value.get("commit"):
        yield value["commit"]
    if value.get("branch"):
        yield f"{BRANCH}{value['branch']}"


def _branches(git: Git) -> set[str]:
    return {f"{BRANCH}{name}" for name in branches(git)}
