"""Groups that have nothing to do with one another, packed by their folders. Pure."""

from __future__ import annotations

from fanwise.plan.split.groups import Groups


def pack(groups: Groups) -> None:
    """Join groups that fit together: those of one folder first, then those of the folder above.

    So groups that are near one another share a leaf, and there are few that are nearly empty.
    """
    open_: dict[int, dict[str, list[int]]] = {}
    for place in groups.alive():
        home = _home(groups.members[place])
        open_.setdefault(_depth(home), {}).setdefault(home, []).append(place)
    first = {place: min(groups.members[place]) for place in groups.alive()}  # stays the first
    for depth in range(max(open_, default=0), -1, -1):
        left = [place for folders in open_.values() for each in folders.values() for place in each]
        least = groups.least(left)
        folders = open_.pop(depth, {})
        for folder in sorted(folders, reverse=True):
            some = [place for place in folders[folder] if groups.has_room(place, least)]
            kept = _first_fit(groups, sorted(some, key=first.__getitem__))
            above = folder.rpartition("/")[0]
            if folder and kept:
                open_.setdefault(_depth(above), {}).setdefault(above, []).extend(kept)


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _first_fit(groups: Groups, places: list[int]) -> list[int]:
    kept: list[int] = []
    for place in places:
        for one in kept:
            if groups.may(one, place):
                groups.join(one, place)
                break
        else:
            kept.append(place)
    return kept


def _home(files: list[str]) -> str:
    """The deepest folder that has all of them."""
    first, last = min(files).split("/")[:-1], max(files).split("/")[:-1]
    count = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        count += 1
    return "/".join(first[:count])
