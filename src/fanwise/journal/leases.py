"""The book of shared caps: who holds which permits. All processes with one journal share it.

Permits are leased: a row says how many a holder has, and until when. The holder renews it; a row
that was not renewed in time, or whose process is known to be dead, is removed, and its permits are
free. (A session of PostgreSQL that is gone proves no death: its process may use them until then.)
How permits are divided is decided in `core/shares.py`; here it is done in one transaction at a
time, and those for whom something changed are told.

Rows are kept as JSON: they live for seconds, and nobody but this file reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from fanwise.core.shares import Due, Holding, exchange
from fanwise.journal.owner import current_owner, liveness
from fanwise.journal.port import Owner

LEASE_S = 15.0
"""How long permits stay with a process that falls silent."""
GRACE_S = 1.0
"""How long they stay with one that is dead: servers need a moment to see its connections end."""


class Offer(msgspec.Struct, frozen=True):
    """What a holder has, and could use."""

    most: int
    """The cap, as this holder declares it."""
    held: int
    """Permits that it keeps; fewer than before gives some back."""
    in_use: int
    demand: int
    unit: int = 1


class Lease(msgspec.Struct, frozen=True):
    """What a holder has from now on, counted from when it asked."""

    held: int
    due: Due
    lasts_s: float = 0.0


class LeaseRow(msgspec.Struct, frozen=True):
    """One lease in the book."""

    holder: str
    most: int
    held: int
    demand: int
    unit: int
    served: float
    seen: float
    until: float
    due: Due
    process: Owner
    """So that others on its machine can see whether it is alive."""
    address: str = ""
    """Where it is told of changes."""

    def served_at(self, now: float) -> float:
        return self.served + self.held * max(0.0, now - self.seen)

    def holding(self, now: float) -> Holding:
        return Holding(self.holder, self.held, self.demand, self.unit, self.served_at(now))


T = TypeVar("T")
Change = Callable[[bytes | None, float], tuple[bytes, T]]
"""What is kept, and the time; what is to be kept, and a result."""
News = Mapping[str, Due]
"""What changed for holders, by their ids."""


class LeaseBook(Protocol):
    """The port. `wake` may be called from any thread, the rest from one."""

    def exchange(self, name: str, holder: str, offer: Offer) -> Lease:
        """Renew the lease, with more or fewer permits. Raises `JournalError`."""

    def release(self, name: str, holder: str) -> None:
        """Give everything back."""

    def update(self, name: str, change: Change[T], *, lasting: bool) -> T:
        """Replace what is kept under a name by what `change` makes of it and the time, alone.

        `lasting`: it survives a crash of the machine, and the time is in seconds since 1970.
        """

    def wait(self, timeout: float) -> News:
        """Wait until something changed for a holder of this book, or `wake` is called."""

    def wake(self) -> None: ...

    def close(self) -> None: ...


class LeaseTable(Protocol):
    """The rows of one shared cap, while nobody else uses them."""

    now: float

    def rows(self) -> list[LeaseRow]: ...

    def save(self, row: LeaseRow) -> None: ...

    def remove(self, row: LeaseRow) -> None: ...


class SharedBook:
    """What all implementations have in common."""

    address = ""

    def __init__(self, lasts_s: float | None = None) -> None:
        self._lasts_s = LEASE_S if lasts_s is None else lasts_s
        self._process = current_owner()
        self._holders: set[str] = set()

    def exchange(self, name: str, holder: str, offer: Offer) -> Lease:
        self._holders.add(holder)
        with self.open(name) as table:
            rows = {row.holder: row for row in _alive(table)}
            old = rows.pop(holder, None)
            mine, told = self._divide(holder, offer, old, rows.values(), table.now)
            table.save(mine)
            for row in told:
                table.save(row)
            self.tell(name, told)
        return Lease(mine.held, mine.due, self._lasts_s)

    def release(self, name: str, holder: str) -> None:
        self.exchange(name, holder, Offer(_ANY, 0, 0, 0))
        with self.open(name) as table:
            for row in table.rows():
                if row.holder == holder:
                    table.remove(row)

    def open(self, name: str) -> AbstractContextManager[LeaseTable]:
        """The rows of a shared cap, in a transaction."""
        raise NotImplementedError

    def tell(self, name: str, rows: Sequence[LeaseRow]) -> None:
        """Tell these holders what is due, inside the transaction."""
        raise NotImplementedError

    def _divide(
        self,
        holder: str,
        offer: Offer,
        old: LeaseRow | None,
        others: Iterable[LeaseRow],
        now: float,
    ) -> tuple[LeaseRow, list[LeaseRow]]:
        """The new row, and those of others for whom something changed."""
        others = list(others)
        if old is None:  # new, or it came back too late: what it uses it has, and nothing else
            held = offer.in_use
            served = min((row.served_at(now) for row in others), default=0.0)
        else:
            held, served = min(offer.held, old.held), old.served_at(now)
        most = min([offer.most, *(row.most for row in others)])
        wanted = Holding(holder, held, offer.demand, offer.unit, served)
        granted, dues = exchange(most, wanted, [row.holding(now) for row in others])
        free = most - granted - sum(row.held for row in others)
        mine = LeaseRow(
            holder, offer.most, granted, offer.demand, offer.unit, served, now,
            now + self._lasts_s, dues[holder], self._process, self.address,
        )  # fmt: skip
        told = [
            replace(row, due=dues[row.holder])
            for row in others
            if dues[row.holder] != row.due
            or (free > 0 and row.held < min(row.demand, dues[row.holder].allowed))
        ]
        return mine, told


_ANY = 1 << 30
"""As a cap: it does not bound those of others."""
_SILENT_S = 0.2
"""The process of a row that is younger is not looked at."""


def _alive(table: LeaseTable) -> list[LeaseRow]:
    """The leases that hold; those of dead processes end soon."""
    found = []
    for row in table.rows():
        if row.until <= table.now:
            table.remove(row)
            continue
        soon, silent = table.now + GRACE_S, table.now - row.seen > _SILENT_S
        if row.until > soon and silent and liveness(row.process) == "dead":
            row = replace(row, until=soon)
            table.save(row)
        found.append(row)
    return found
