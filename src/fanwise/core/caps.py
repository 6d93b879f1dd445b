"""The limits that users declare by name: fixed, adaptive and exclusive caps, and rates.

Two fan-outs that are given the same `Caps` object share its permits. Its `Ledger` does the
bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fanwise.core.ledger import Ledger
from fanwise.core.rate import Adaptation, Bucket, Pace
from fanwise.core.resource import Resource
from fanwise.core.shared_amounts import SharedBucket
from fanwise.core.shares import Leased
from fanwise.core.stats import TOTAL
from fanwise.core.turns import Turns
from fanwise.errors import BadCap, BadPredicate, UnknownCap, UsageError

I = TypeVar("I")  # noqa: E741 - the item, as in DESIGN: work(I) -> T


class Rate(msgspec.Struct, frozen=True):
    """The most per minute: requests, tokens or both. `per`: another period, in seconds.

    Bursts are small (about a second's worth of requests), so that no window of `per` seconds
    sees more than `requests`. `shared`: a name, such as that of an API key, under which all
    processes with the same journal share it; it needs a durable run, as for `Shared`.
    """

    requests: float | None = None
    tokens: float | None = None
    per: float = 60.0
    shared: str | None = None


class Adaptive(msgspec.Struct, frozen=True):
    """A cap that adjusts itself between `least` and `most`.

    It halves when a server answers "too many requests" (`RateLimited`), waits as long as the
    server asks, and grows while it is fully used without refusals. From refusals that say how long
    to wait it also learns how many requests a second the server allows, and starts no more.
    """

    start: int = 8
    least: int = 1
    most: int = 256


class Exclusive(msgspec.Struct, frozen=True):
    """A cap of which some items need a part and others all, such as `{"cpu": 4}` of `Exclusive(4)`.

    An item that needs all of it runs alone. The two kinds take turns, so neither waits forever
    behind the other. When an item that needs all is next, no more parts are given out; after it,
    at least four times the cap in parts may start before the next item that needs all.
    """

    permits: int


class Shared(msgspec.Struct, frozen=True):
    """A cap that all processes with the same journal share: `Shared(50, name="team-key")`.

    `most`: the most in flight over all of them. Where they do not agree on it, the smallest number
    counts. `name`: what is shared, such as an API key; the same in all of them. It needs a durable
    run, because the journal is where they meet: a file for the processes of one machine, a
    PostgreSQL server for several machines.
    """

    most: int
    name: str


Limit = int | Rate | Adaptive | Exclusive | Shared
Needs = str | Iterable[str] | Mapping[str, int] | None


class Caps:
    """Named caps: `Caps(openai=4, gpu=1)`; names that are not identifiers go in a mapping.

    A name may have several limits: `Caps(openai=(Adaptive(8), Rate(requests=500)))`.
    """

    def __init__(
        self,
        limits: Mapping[str, Limit | Iterable[Limit]] | None = None,
        /,
        **named: Limit | Iterable[Limit],
    ) -> None:
        every = {**(limits or {}), **named}
        self.limits = {name: _at_hand(limit) for name, limit in every.items()}
        """The limits as declared."""
        self.ledger = Ledger(resource(name, limit) for name, limit in self.limits.items())

    @classmethod
    def over(cls, ledger: Ledger) -> Caps:
        """A `Caps` for an existing ledger."""
        found = cls()
        found.ledger = ledger
        return found

    @property
    def names(self) -> list[str]:
        """The declared names."""
        return list(self.ledger.resources)

    @property
    def in_use(self) -> dict[str, int]:
        """Permits taken at this moment."""
        return {name: r.in_use for name, r in self.ledger.resources.items()}

    @property
    def peak(self) -> dict[str, int]:
        """The most permits that were ever taken at once."""
        return {name: r.peak for name, r in self.ledger.resources.items()}

    @property
    def current(self) -> dict[str, int | None]:
        """The limits right now, as adaptive and shared caps move. None: there is only a rate."""
        return {
            name: r.most if r.leased is not None and r.leased.owner is None else r.limit
            for name, r in self.ledger.resources.items()
        }

    def __repr__(self) -> str:
        return f"Caps({', '.join(f'{n}={limit}' for n, limit in self.current.items())})"


def _at_hand(limit: Any) -> Any:
    """An iterator can be read only once, so keep it as a tuple."""
    return tuple(limit) if isinstance(limit, Iterator) else limit


CapsLike = Caps | Mapping[str, Limit | Iterable[Limit]]


def as_caps(given: CapsLike | None) -> Caps | None:
    """Accept a `Caps` or a mapping: `{"openai": 4, "gpu": (2, Rate(requests=60))}`."""
    if given is None or isinstance(given, Caps):
        return given
    if isinstance(given, Mapping):
        return Caps(given)
    raise UsageError(f"caps is {given!r}", 'Give Caps(openai=4) or {"openai": 4}')


def resource(name: str, limits: Limit | Iterable[Limit]) -> Resource:
    """Check a declared cap and make its `Resource`."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"a cap's name is {name!r}", "Use a word, such as the provider's name")
    if name == TOTAL:
        raise UsageError(f"{TOTAL!r} is the name of a fan-out's own cap", "Choose another name")
    found = Resource(name)
    parts = (limits,) if isinstance(limits, Limit) else limits
    if isinstance(parts, str | bytes) or not isinstance(parts, Iterable):
        raise BadCap(f"cap {name!r}", limits)
    for part in parts:
        _add_limit(found, part)
    if found.limit is None and not found.buckets:
        raise BadCap(f"cap {name!r}", limits)
    return found


def _add_limit(found: Resource, part: Any) -> None:
    if isinstance(part, Rate):
        found.buckets += _buckets(found.name, part)
    elif found.limit is not None:
        raise UsageError(
            f"cap {found.name!r} has two caps", "Give one number, Adaptive, Exclusive or Shared"
        )
    elif isinstance(part, Adaptive):
        for field in ("least", "start", "most"):
            whole(f"{field} of cap {found.name!r}", getattr(part, field))
        if not part.least <= part.start <= part.most:
            raise BadCap(f"cap {found.name!r}", part, "least <= start <= most")
        found.limit = part.start
        found.most = part.most
        found.adaptation = Adaptation(part.least, part.most)
        found.pace = Pace()
    elif isinstance(part, Exclusive):
        found.limit = found.most = whole(f"permits of cap {found.name!r}", part.permits)
        found.turns = Turns(part.permits)
    elif isinstance(part, Shared):
        found.limit = 0  # until the first lease
        found.most = whole(f"most of cap {found.name!r}", part.most)
        if not isinstance(part.name, str) or not part.name:
            raise BadCap(f"the name of the shared cap {found.name!r}", part.name, "a text")
        found.leased = Leased(part.name)
    else:
        found.limit = found.most = whole(f"cap {found.name!r}", part)


def _buckets(name: str, rate: Rate) -> Sequence[Bucket]:
    for field in ("requests", "tokens", "per"):
        given = getattr(rate, field)
        if given is None:
            continue
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not 0 < given < float("inf"):
            raise BadCap(f"{field} of the rate of {name!r}", given, "a number above 0")
    if rate.requests is None and rate.tokens is None:
        raise BadCap(f"the rate of {name!r}", rate, "requests, tokens or both")
    buckets: list[Bucket] = []
    if rate.requests is not None:
        buckets.append(Bucket.of_requests(rate.requests, rate.per))
    if rate.tokens is not None:
        buckets.append(Bucket.of_tokens(rate.tokens, rate.per))
    if rate.shared is None:
        return buckets
    if not isinstance(rate.shared, str) or not rate.shared:
        raise BadCap(f"the name of the shared rate of {name!r}", rate.shared, "a text")
    return [SharedBucket(rate.shared, each) for each in buckets]


def whole(name: str, given: object, least: int = 1) -> int:
    """Return a whole number of at least `least`, or raise `BadCap`. True is not a number here."""
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise BadCap(name, given, f"a whole number of at least {least}")
    return given


def parse_needs(needs: Needs, known: Mapping[str, Resource], index: int) -> dict[str, int]:
    """Read `"gpu"`, `["gpu", "openai"]` or `{"gpu": 2}`; `UnknownCap` for undeclared names."""
    if needs is None:
        return {}
    if isinstance(needs, str):
        if needs not in known:
            raise UnknownCap(needs, known)
        return {needs: 1}
    if isinstance(needs, Mapping):
        found = {n: whole(f"the need for {n!r} of item {index}", u) for n, u in needs.items()}
    elif isinstance(needs, Iterable):
        found = {}
        for name in needs:
            if not isinstance(name, str):  # ("gpu", 2) where {"gpu": 2} is meant
                raise BadPredicate("needs", index, f"gave {needs!r} ({_NEEDS})")
            found[name] = found.get(name, 0) + 1
    else:
        raise BadPredicate("needs", index, f"gave {needs!r} ({_NEEDS})")
    for name in found:
        if not isinstance(name, str):
            raise BadPredicate("needs", index, f"gave {needs!r} ({_NEEDS})")
        if name not in known:
            raise UnknownCap(name, known)
    return found


_NEEDS = "use a name, a list of names or {name: units}"
