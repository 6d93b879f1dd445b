"""Mode `directory`: folders, those beside one another packed together while they fit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fanwise.plan.split.imports.python import shared
from fanwise.plan.split.rules import Rules, Sizes
from fanwise.plan.split.tree import SplitPart, leaf, whole


@dataclass
class Folder:
    """A folder with what is in it, in order of its names."""

    files: list[str] = field(default_factory=list)
    folders: dict[str, Folder] = field(default_factory=dict)
    count: int = 0
    tokens: int = 0

    def all(self) -> list[str]:
        """Every file below. Folders can be thousands deep: without recursion."""
        found, left = list[str](), [self]
        while left:
            folder = left.pop()
            found += folder.files
            left += folder.last_first()
        return found

    def last_first(self) -> list[Folder]:
        """The folders in it, in reverse order: as a stack gives them back."""
        return [self.folders[name] for name in sorted(self.folders, reverse=True)]


def by_directory(tokens: Sizes, rules: Rules) -> SplitPart:
    """Split files by their folders."""
    return without_small(_split(_folders(tokens), tokens, rules, 0), tokens, rules)


def _folders(tokens: Sizes) -> Folder:
    root = Folder()
    for path in sorted(tokens):
        *above, _ = path.split("/")
        place = root
        for name in ("", *above):
            place = place if not name else place.folders.setdefault(name, Folder())
            place.count += 1
            place.tokens += tokens[path]
        place.files.append(path)
    return root


def _split(folder: Folder, tokens: Sizes, rules: Rules, depth: int) -> SplitPart:
    while len(folder.folders) == 1 and not folder.files:  # a chain of folders is one step
        (folder,) = folder.folders.values()
    if rules.fits(folder.count, folder.tokens):
        return leaf(folder.all())
    if depth + 1 >= rules.max_depth:  # the last level: all that is below, side by side
        return whole(map(leaf, packed(_pieces(folder, rules), tokens, rules)))
    return whole(_beside(folder, tokens, rules, depth + 1))


def _beside(folder: Folder, tokens: Sizes, rules: Rules, depth: int) -> list[SplitPart]:
    """The parts of a folder: those that are too large, and packs of all others."""
    large = [
        each for _, each in sorted(folder.folders.items())
        if not rules.fits(each.count, each.tokens)
    ]  # fmt: skip
    small = [[path] for path in folder.files]
    small += [
        each.all() for _, each in sorted(folder.folders.items())
        if rules.fits(each.count, each.tokens)
    ]  # fmt: skip
    parts = list(map(leaf, packed(small, tokens, rules)))
    return parts + [_split(each, tokens, rules, depth) for each in large]


def _pieces(folder: Folder, rules: Rules) -> list[list[str]]:
    """Folders that fit, as they are; of the others what is in them."""
    found, left = list[list[str]](), [folder]
    while left:
        each = left.pop()
        if rules.fits(each.count, each.tokens):
            found.append(each.all())
        else:
            found += [[path] for path in each.files]
            left += each.last_first()
    return found


def packed(pieces: Iterable[Sequence[str]], tokens: Sizes, rules: Rules) -> list[list[str]]:
    """Pieces side by side, as few packs as it takes: each goes where the last one went, if it fits.

    If not, into the first pack with room, so that no half-empty ones stay behind.
    """
    packs: list[list[str]] = []
    sizes: list[int] = []
    last = 0
    for piece in pieces:
        size = sum(tokens[path] for path in piece)
        places = [last, *range(len(packs))] if packs else []
        for place in places:
            if rules.fits(len(packs[place]) + len(piece), sizes[place] + size):
                break
        else:
            place = len(packs)
            packs.append([])
            sizes.append(0)
        packs[place] += piece
        sizes[place] += size
        last = place
    return packs


def without_small(part: SplitPart, tokens: Sizes, rules: Rules) -> SplitPart:
    """The part, its small leaves put into the nearest that have room."""
    leaves = [list(each.files) for each in part.leaves()]
    sizes = [sum(tokens[path] for path in files) for files in leaves]
    for place, files in enumerate(leaves):
        if not files or len(files) >= rules.min_files:
            continue
        others = [
            n for n, each in enumerate(leaves)
            if n != place and each and rules.fits(len(each) + len(files), sizes[n] + sizes[place])
        ]  # fmt: skip
        if others:
            near = min(others, key=lambda n: (-shared(leaves[n][0], files[0]), len(leaves[n]), n))
            leaves[near] += files
            sizes[near] += sizes[place]
            leaves[place], sizes[place] = [], 0
    return _rebuilt(part, iter(leaves))


def _rebuilt(part: SplitPart, leaves: Iterator[list[str]]) -> SplitPart:
    """The same shape with other files; what has none is gone."""
    if not part.parts:
        return leaf(next(leaves))
    parts = [_rebuilt(each, leaves) for each in part.parts]
    return whole(each for each in parts if each.parts or each.files)
