"""Groups of files while they grow: how large they are, and whether two may be one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanwise.plan.split.part import Sizes
from fanwise.plan.split.rules import Rules


class Groups:
    """Groups by the numbers of their first members."""

    def __init__(self, members: Iterable[Sequence[str]], tokens: Sizes, rules: Rules) -> None:
        self.members = [list(each) for each in members]
        self.tokens = [sum(tokens[path] for path in each) for each in self.members]
        self._rules = rules

    def may(self, one: int, other: int) -> bool:
        """Whether both together keep to the limits."""
        return self._rules.fits(
            len(self.members[one]) + len(self.members[other]),
            self.tokens[one] + self.tokens[other],
        )

    def least(self, places: Iterable[int]) -> tuple[int, int]:
        """The fewest files and the fewest tokens of some."""
        some = [(len(self.members[place]), self.tokens[place]) for place in places]
        return min((n for n, _ in some), default=0), min((n for _, n in some), default=0)

    def has_room(self, place: int, least: tuple[int, int]) -> bool:
        """Whether one can still take others, none of which is less."""
        files, tokens = least
        return self._rules.fits(len(self.members[place]) + files, self.tokens[place] + tokens)

    def join(self, one: int, other: int) -> None:
        """Make `other` a part of `one`."""
        self.members[one] += self.members[other]
        self.tokens[one] += self.tokens[other]
        self.members[other] = []
        self.tokens[other] = 0

    def alive(self) -> list[int]:
        return [place for place, members in enumerate(self.members) if members]
