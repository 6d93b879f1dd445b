"""Which leaves the check fails with: what to leave out, one question after the other. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


class Blame:
    """Ask `next` what to leave out, check that, `tell` what came of it; until `next` is None.

    `needs`: a leaf that is left out takes with it all that need it.
    """

    def __init__(self, leaves: Sequence[str], needs: Mapping[str, Collection[str]]) -> None:
        self._leaves = tuple(leaves)
        self._needs = needs
        self._kept: tuple[str, ...] = ()
        self._asked: tuple[str, ...] | None = None
        self._place = -1
        self.found: tuple[str, ...] | None = None
        """Those to leave out, in order; None: it fails without any of them, too."""

    def next(self) -> tuple[str, ...] | None:
        """The leaves to leave out of the next check; None: it is known who is to blame."""
        if self._place < 0:
            return self._leaves
        while self._place < len(self._leaves):
            leaf = self._leaves[self._place]
            if set(self._needs.get(leaf, ())) & set(self._leaves) <= set(self._kept):
                kept = {*self._kept, leaf}
                return tuple(each for each in self._leaves if each not in kept)
            self._place += 1
        return None

    def tell(self, passed: bool) -> None:
        """What came of the check without those that `next` named."""
        if self._place >= 0 and passed:
            self._kept += (self._leaves[self._place],)
        if self._place < 0 and not passed:
            self._place = len(self._leaves)
            return
        self._place += 1
        self.found = tuple(each for each in self._leaves if each not in self._kept)
