"""Several models as one: the next where one fails, or the one with the most room.

The group itself makes no call. `ask` asks its members, each within its own caps, so that the
journal has who was asked and who answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fanwise.core.outcome import Usage
from fanwise.errors import BadOutput, ModelError, ModelQuota, ModelRateLimited
from fanwise.kernel.scope import cap_limit
from fanwise.models.names import On
from fanwise.models.port import Model, Reply, Request
from fanwise.models.prices import largest


class ModelGroup:
    """`{models: [a, b], on: […]}`: in order. With `spread`: the one that is least busy first."""

    def __init__(
        self, name: str, models: Sequence[Model], on: Sequence[On], *, spread: bool
    ) -> None:
        self.name = name
        self.models = tuple(models)
        self.provider = models[0].provider
        self.key = models[0].key
        self._on = frozenset(on)
        self._spread = spread
        self._busy: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Models {self.name}>"

    def estimate(self, request: Request) -> Usage:
        """The most that any of them may cost."""
        return largest(model.estimate(request) for model in self.models)

    async def reply(self, request: Request) -> Reply:
        """One attempt at the first; going on is for `ask`."""
        return await self.order()[0].reply(request)

    def order(self) -> list[Model]:
        """Who is asked first, and who then."""
        if not self._spread:
            return list(self.models)
        return sorted(self.models, key=self._load)

    def _load(self, model: Model) -> float:
        """How busy it is with our calls, relative to its caps."""
        limits = [cap_limit(cap) for cap in (model.name, f"key:{model.key}", model.provider)]
        limit = min((each for each in limits if each is not None), default=1)
        return self._busy[model.name] / limit

    @contextmanager
    def asking(self, model: Model) -> Iterator[None]:
        """This one is busy with one more."""
        self._busy[model.name] += 1
        try:
            yield
        finally:
            self._busy[model.name] -= 1

    def goes_on(self, error: BaseException) -> bool:
        """Whether the next one is asked after this error."""
        if isinstance(error, ModelRateLimited | ModelQuota):
            return "rate_limit" in self._on
        if isinstance(error, TimeoutError):
            return "timeout" in self._on
        bad = isinstance(error, BadOutput)  # wants a repair, which is another request
        return isinstance(error, ModelError) and not bad and "error" in self._on
