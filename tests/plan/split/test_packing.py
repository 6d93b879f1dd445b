"""How much work it is to pack groups of folders in folders."""

from __future__ import annotations

from collections import Counter

from fanwise.plan.split.grouping import Groups, pack
from fanwise.plan.split.rules import Rules

DEEP = 400


class Counted(Groups):
    asked = 0

    def may(self, one: int, other: int) -> bool:
        self.asked += 1
        return super().may(one, other)


def packed(members: list[list[str]], tokens: dict[str, int] | None = None) -> Counted:
    sizes = dict.fromkeys((path for each in members for path in each), 1) | (tokens or {})
    groups = Counted(members, sizes, Rules(max_files=3, max_tokens=100))
    pack(groups)
    return groups


def test_what_is_full_is_not_carried_up() -> None:
    folders = ["d/" * depth for depth in range(DEEP)]
    full = [[f"{each}{name}" for name in "abc"] for each in folders]
    assert packed(full).asked == 0
    two = packed([[f"{each}{name}" for name in "ab"] for each in folders])
    assert (two.asked, len(two.alive())) == (0, DEEP)
    alone = packed([[f"{each}a"] for each in folders])
    assert alone.asked < 3 * DEEP
    assert Counter(len(each) for each in alone.members if each) == {3: DEEP // 3, 1: 1}
    heavy = packed([[f"{each}a"] for each in folders], {f"{each}a": 51 for each in folders})
    assert (heavy.asked, len(heavy.alive())) == (0, DEEP)
