"""Files that so many others import that every split cuts them off from most. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fanwise.plan.model.node import Hub

LEAST = 10
SHARE = 100
"""One of so many files has to import it."""
MOST = 30


def hubs_of(imports: Mapping[str, Sequence[str]], files: int) -> tuple[Hub, ...]:
    """Those with the most importers, the greatest first."""
    importers = Counter(other for others in imports.values() for other in others)
    least = max(LEAST, -(-files // SHARE))
    found = [Hub(path, count) for path, count in importers.items() if count >= least]
    return tuple(sorted(found, key=lambda hub: (-hub.importers, hub.path))[:MOST])
