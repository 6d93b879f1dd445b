"""The name of a sub-plan: a digest of what it is. Pure.

The same for any order of its files, on any machine; another one as soon as the goal, the rules, a
path or a content is another. What other sub-plans are made of does not matter: so one that is
unchanged keeps its outcome when the plan is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from fanwise.plan.split.rules import Rules

LENGTH = 24


def id_of(goal: str, files: Iterable[str], digests: Mapping[str, str], rules: Rules) -> str:
    """Name a sub-plan. Paths may hold any bytes: they are written as git has them."""
    told = hashlib.sha256()
    _tell(told, msgspec.json.encode(rules, order="sorted"))
    _tell(told, goal.encode("utf-8", "surrogateescape"))
    for path in sorted(files):
        _tell(told, path.encode("utf-8", "surrogateescape"))
        _tell(told, digests[path].encode())
    return told.hexdigest()[:LENGTH]


def _tell(told: hashlib._Hash, data: bytes) -> None:
    """With its length first: `a`, `bc` is not `ab`, `c`."""
    told.update(len(data).to_bytes(8, "big"))
    told.update(data)
