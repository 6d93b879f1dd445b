"""Makes a model of a name, or one of several models."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from fanwise.core.outcome import Usage
from fanwise.errors import BadOutput, ModelError, ModelQuota, ModelRateLimited, UsageError
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.scope import cap_use
from fanwise.models.names import BUILT_IN, On, Spec, as_spec, split
from fanwise.models.port import Model, Reply, Request, cap_names
from fanwise.models.prices import largest
from fanwise.models.reply_cache import with_cache

ModelLike = str | Mapping[str, Any] | Spec | Model

_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Spec, Model]] = WeakKeyDictionary()


async def connected(given: ModelLike) -> Model:
    """`connect` without blocking the event loop. On one loop a name is the same model each time.

    So a replay goes on where it was, and a name that is asked a thousand times is read once.
    """
    if not isinstance(given, str | Mapping | Spec):
        return _model(given)
    spec = as_spec(given)
    here = _by_loop.setdefault(asyncio.get_running_loop(), {})
    if spec not in here:
        here.setdefault(spec, await in_thread(connect, spec))  # another may have been quicker
    return here[spec]


def _model(given: Model) -> Model:
    if not callable(getattr(given, "reply", None)):
        raise UsageError(f"a model is {given!r}", "Give a name such as 'openai:gpt-5-mini'")
    return given


def connect(spec: ModelLike) -> Model:
    """`openai:gpt-5-mini`, `local:smollm2`, `replay:FILE`, `sim:…`, or a mapping.

    That is `{name, base_url, api_key_env, price, max_tokens_field, schema_mode, cache}`, or
    `{models: [a, b], on: [rate_limit, error, timeout], spread}` for several. Nothing is sent, and
    nothing is started. A missing key, extra or file is a `ModelNotReady` that says what to do.
    """
    if not isinstance(spec, str | Mapping | Spec):
        return _model(spec)
    found = as_spec(spec)
    if found.models:
        return _group(found)
    return with_cache(_single(found), found)


def _single(found: Spec) -> Model:
    scheme, _ = split(found.name)
    if scheme in BUILT_IN:
        model: Model = import_module(BUILT_IN[scheme]).open_model(found)
        return model
    from fanwise.models.attempt import ProviderModel

    return ProviderModel(found)


def _group(found: Spec) -> Model:
    """Members without a cache of their own use the cache of the group."""
    members = [
        connect(each if each.cache is not None else replace(each, cache=found.cache))
        for each in found.models
    ]
    return ModelGroup(found.title, members, found.on, spread=found.spread)


class ModelGroup:
    """Several models as one: the next where one fails; with `spread` the one with most room first.

    It makes no call itself. `ask` calls its members, each within its own caps, so the journal has
    who was asked and who answered.
    """

    def __init__(
        self, name: str, models: Sequence[Model], on: Sequence[On], *, spread: bool
    ) -> None:
        self.name = name
        self.models = tuple(models)
        self.provider = models[0].provider
        self.key = models[0].key
        self._on = frozenset(on)
        self._spread = spread
        self._busy: Counter[int] = Counter()
        """Our calls, by the place of the model: deployments of one model have the same name."""
        caps = [cap_names(model) for model in models]
        shared = set(caps[0]).intersection(*caps)
        self.others: list[Model] = [
            one for each in models for one in getattr(each, "others", [each])
        ]
        """All that may be asked, also by the groups among its models."""
        self._own_caps = [[cap for cap in each if cap not in shared] for each in caps]

    def __repr__(self) -> str:
        return f"<Models {self.name}>"

    def estimate(self, request: Request) -> Usage:
        return largest(model.estimate(request) for model in self.models)

    async def reply(self, request: Request) -> Reply:
        """One attempt at the first model; `ask` goes on to the next."""
        return await self.models[self.order()[0]].reply(request)

    def order(self) -> list[int]:
        """The places of the models, in the order in which they are asked."""
        places = range(len(self.models))
        return sorted(places, key=self._load) if self._spread else list(places)

    def _load(self, place: int) -> tuple[bool, float, int]:
        """Whether its own caps have no free permit, how full they are, and how many calls it has.

        A call that looks into the cache first does not wait for its permit yet, but counts.
        """
        busy = self._busy[place]
        uses = [use for cap in self._own_caps[place] if (use := cap_use(cap)) is not None]
        # Of a shared cap this process may have no permit for now.
        load = max((max(use.wanted, busy) / max(1, use.limit) for use in uses), default=0.0)
        return load >= 1 or not all(use.free for use in uses), load, busy

    @contextmanager
    def asking(self, place: int) -> Iterator[Model]:
        self._busy[place] += 1
        try:
            yield self.models[place]
        finally:
            self._busy[place] -= 1

    def goes_on(self, error: BaseException) -> bool:
        """Whether the next model is asked after this error."""
        if isinstance(error, ModelRateLimited | ModelQuota):
            return "rate_limit" in self._on
        if isinstance(error, TimeoutError):
            return "timeout" in self._on
        bad = isinstance(error, BadOutput)  # wants a repair, which is another request
        return isinstance(error, ModelError) and not bad and "error" in self._on
