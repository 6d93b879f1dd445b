"""The tree of sub-plans. Pure: what it is made of is in `split`, what becomes of it in `state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec

Mode = Literal["directory", "independent", "dependency"]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-plan: a leaf, which has files, or one that was split, which has children."""

    id: str
    """A digest of goal, paths, contents and rules: the same on any machine, in any order."""
    title: str
    """What its files have in common, for people: `django/contrib/admin`."""
    depth: int = 0
    parent: str | None = None
    children: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Of a leaf: its files, in order, relative to the top of the repository. Of others: none."""
    tokens: int = 0
    """Of all files below it, about."""
    after: tuple[str, ...] = ()
    """Of a leaf: those whose changes it has to see. They have ended before it begins."""
    irreducible: str = ""
    """Why it is beyond the limits, if it is."""
    goal: str = ""
    """Of a task, or a sub-plan that another one returned: its own goal. Else that of the plan."""
    is_task: bool = False
    """It has no lease: it may change any file."""
    agent: str = ""
    """Who does it, if that is not the same for all."""


class FileNote(NamedTuple):
    """A remark about a file or a leaf."""

    path: str
    why: str


class Hub(NamedTuple):
    """A file that many others import."""

    path: str
    importers: int


class Tree(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Sub-plans: the root first, each before its children, children in order."""

    nodes: tuple[Node, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        return {node.id: node for node in self.nodes}

    @property
    def root(self) -> Node:
        """The plan itself."""
        return self.nodes[0]

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """In the order of the tree, which is the order in which they are merged."""
        return tuple(node for node in self.nodes if not node.children)

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """The id of the leaf that has each file."""
        return {path: leaf.id for leaf in self.leaves for path in leaf.files}

    def above(self, node: Node) -> Iterator[Node]:
        """Its parent, and so on up to the root."""
        while node.parent is not None:
            node = self.by_id[node.parent]
            yield node


class Scorecard(msgspec.Struct, frozen=True, kw_only=True):
    """How good a split is. Shares are between 0 and 1; None: there is nothing to take it of."""

    files: int
    tokens: int
    leaves: int
    depth: int
    balance: float
    """Tokens of the biggest leaf / of the mean one."""
    edges: int
    """Imports between files."""
    cut: float | None
    """Share of them that go from one leaf to another."""
    cut_without_hubs: float | None
    cyclic: float
    """Share of files in leaves that depend on one another in a circle."""
    speedup: float
    """By list scheduling of `after` at `max_parallel`, work being tokens."""
    max_parallel: int
    against: int = 0
    """In `dependency` mode: imports that go against `after`, because they would close a circle that
    is too large for a leaf. They stand in functions."""
    commits: int = 0
    """Past commits that were looked at."""
    commits_inside: float | None = None
    """Share of those that would have stayed inside one leaf."""


class Split(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A split of files into sub-plans, and what is known about it."""

    mode: Mode
    tree: Tree
    imports: dict[str, tuple[str, ...]]
    """Of each file, those that it imports; both in the plan."""
    hubs: tuple[Hub, ...] = ()
    unparsed: tuple[FileNote, ...] = ()
    """Files whose text is not UTF-8 nor in the encoding that they declare."""
    left_out: tuple[FileNote, ...] = ()
    """Files that match and are in no leaf: binary, generated."""
    scorecard: Scorecard
