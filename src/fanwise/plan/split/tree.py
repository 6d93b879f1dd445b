"""From groups of files to a tree of sub-plans: parts, titles, ids and links. Pure.

The id of a sub-plan is a digest of what it is: the same on any machine and for any order of its
files, another as soon as the goal, the rules, a path or a content changes. Other sub-plans do not
matter, so that one that is unchanged keeps its outcome when the plan is made again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from fanwise.plan.model.node import Node, Tree
from fanwise.plan.split.rules import Rules, Sizes

WIDTH = 4
"""Parts of a node, unless the tree would become too deep."""
LENGTH = 24
MOST_NAMES = 3
ALL = "all files"
DEEP = 3
"""So many folders of a path are named where files have none in common."""


@dataclass(frozen=True)
class SplitPart:
    """Files that stay together, or the parts that they were split into."""

    files: tuple[str, ...] = ()
    parts: tuple[SplitPart, ...] = ()
    why: str = ""
    """Why a leaf is beyond the limits, if it is."""

    def leaves(self) -> Iterator[SplitPart]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def leaf(files: Iterable[str], *, why: str = "") -> SplitPart:
    return SplitPart(files=tuple(sorted(files)), why=why)


def whole(parts: Iterable[SplitPart]) -> SplitPart:
    """One part of several; a single one stays as it is."""
    several = tuple(parts)
    return several[0] if len(several) == 1 else SplitPart(parts=several)


def nest(groups: Sequence[Sequence[str]], rules: Rules) -> SplitPart:
    """A tree over groups that keeps their order, so that neighbours share a node."""
    levels = 1
    while levels < rules.max_depth and WIDTH**levels < len(groups):
        levels += 1
    return _nested(groups, levels)


def _nested(groups: Sequence[Sequence[str]], levels: int) -> SplitPart:
    if levels <= 1 or len(groups) <= WIDTH:
        return whole(map(leaf, groups))
    bounds = [len(groups) * part // WIDTH for part in range(WIDTH + 1)]
    return whole(_nested(groups[start:end], levels - 1) for start, end in pairwise(bounds))


def with_reasons(part: SplitPart, tokens: Sizes, rules: Rules, *, alone: bool = True) -> SplitPart:
    """Add the reason to each leaf that is beyond the limits."""
    if part.parts:
        below = (with_reasons(each, tokens, rules, alone=False) for each in part.parts)
        return changed(part, parts=tuple(below))
    return changed(part, why=_why(part.files, tokens, rules, alone=alone))


def _why(files: tuple[str, ...], tokens: Sizes, rules: Rules, *, alone: bool) -> str:
    count, total = len(files), sum(tokens[path] for path in files)
    if rules.fits(count, total):
        if alone or count >= rules.min_files:
            return ""
        return f"{count} of at least {rules.min_files} files, and no other leaf can take them"
    if count == 1:
        return f"one file of {total:,} tokens; a leaf has at most {rules.max_tokens:,}"
    return (
        f"{count} files ({total:,} tokens) import one another in a circle; a leaf has at most "
        f"{rules.max_files} files and {rules.max_tokens:,} tokens"
    )


def id_of(goal: str, files: Iterable[str], digests: Mapping[str, str], rules: Rules) -> str:
    """The id of a sub-plan. Paths may contain any bytes, as in git."""
    told = hashlib.sha256()
    _tell(told, msgspec.json.encode(rules, order="sorted"))
    _tell(told, goal.encode("utf-8", "surrogateescape"))
    for path in sorted(files):
        _tell(told, path.encode("utf-8", "surrogateescape"))
        _tell(told, digests[path].encode())
    return told.hexdigest()[:LENGTH]


def _tell(told: hashlib._Hash, data: bytes) -> None:
    """Length first, so that `a`, `bc` differs from `ab`, `c`."""
    told.update(len(data).to_bytes(8, "big"))
    told.update(data)


def title_of(files: Sequence[str], folders: Mapping[str, int] | None = None) -> str:
    """A short name: the folder if it is all of it, else what of it.

    `django/contrib/admin`, `tests/{forms_tests, gis_tests}`, `a/b.py`. `folders`: how many files
    of the plan are in each.
    """
    if len(files) == 1:
        return files[0]
    split = [path.split("/") for path in files]
    common = _common(split)
    folder = "/".join(split[0][:common])
    if folders is not None and folders.get(folder) == len(files):
        return folder or ALL
    if folder or common + 1 == max(map(len, split)):
        inside = _few(Counter(path[common] for path in split))
        return f"{folder}/{inside}" if folder else inside
    return _few(Counter("/".join(path[: min(DEEP, len(path) - 1)]) or path[0] for path in split), 2)


def folder_counts(files: Iterable[str]) -> Counter[str]:
    """How many files each folder contains, at any depth; the top is the empty name."""
    counts: Counter[str] = Counter()
    for path in files:
        while path:
            path = path.rpartition("/")[0]
            counts[path] += 1
    return counts


def _common(split: Sequence[list[str]]) -> int:
    """How many folders they share."""
    first, last = min(split), max(split)
    least = min(len(path) for path in split) - 1
    for place in range(least):
        if first[place] != last[place]:
            return place
    return least


def _few(names: Counter[str], count: int = MOST_NAMES) -> str:
    most = sorted(names, key=lambda name: (-names[name], name))
    shown = sorted(most[:count])
    more = [] if len(most) <= count else [f"{len(most) - count} more"]
    return shown[0] if len(most) == 1 else f"{{{', '.join([*shown, *more])}}}"


class Grower:
    """Makes nodes of parts."""

    def __init__(self, goal: str, tokens: Sizes, digests: Mapping[str, str], rules: Rules) -> None:
        self._goal = goal
        self._tokens = tokens
        self._digests = digests
        self._rules = rules
        self._folders = folder_counts(tokens)

    def tree(self, root: SplitPart, order: Mapping[str, Sequence[str]]) -> Tree:
        """All of it. A leaf comes after those that `order` says it imports from."""
        nodes, _ = self._nodes(root, 0, None)
        tree = Tree(nodes=tuple(nodes))
        if not order:
            return tree
        place = {leaf.id: n for n, leaf in enumerate(tree.leaves)}
        after = {leaf.id: sorted(_after(leaf, tree, order), key=place.__getitem__)
                 for leaf in tree.leaves}  # fmt: skip
        return Tree(
            nodes=tuple(replace(each, after=tuple(after.get(each.id, ()))) for each in nodes)
        )

    def _nodes(self, part: SplitPart, depth: int, parent: str | None) -> tuple[list[Node], str]:
        files = tuple(sorted(path for each in part.leaves() for path in each.files))
        name = id_of(self._goal, files, self._digests, self._rules)
        below = [self._nodes(each, depth + 1, name) for each in part.parts]
        node = Node(
            id=name,
            title=title_of(files, self._folders),
            depth=depth,
            parent=parent,
            children=tuple(child for _, child in below),
            files=() if part.parts else files,
            tokens=sum(self._tokens[path] for path in files),
            irreducible=part.why,
        )
        return [node, *(each for nodes, _ in below for each in nodes)], name


def _after(leaf: Node, tree: Tree, order: Mapping[str, Sequence[str]]) -> set[str]:
    found = {tree.owners[other] for path in leaf.files for other in order.get(path, ())}
    return found - {leaf.id}
