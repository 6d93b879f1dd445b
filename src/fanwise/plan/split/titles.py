"""What files have in common, for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

MOST_NAMES = 3
ALL = "all files"
DEEP = 3
"""So many folders of a path are named where files have none in common."""


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
    """How many files are in each folder and below it; the top is the empty name."""
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
    """The most frequent ones, in order."""
    most = sorted(names, key=lambda name: (-names[name], name))
    shown = sorted(most[:count])
    more = [] if len(most) <= count else [f"{len(most) - count} more"]
    return shown[0] if len(most) == 1 else f"{{{', '.join([*shown, *more])}}}"
