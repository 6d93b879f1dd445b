"""A model of its name. The only place that knows all kinds of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.kernel.in_thread import in_thread
from fanwise.models.group import ModelGroup
from fanwise.models.names import BUILT_IN, Spec, as_spec, split
from fanwise.models.port import Model
from fanwise.models.reply_cache import with_cache

ModelLike = str | Mapping[str, Any] | Spec | Model

_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Spec, Model]] = WeakKeyDictionary()


async def connected(given: ModelLike) -> Model:
    """`connect` without blocking the event loop. On one loop a name is the same model each time.

    So a replay goes on where it was, and a name that is asked a thousand times is read once.
    """
    if not isinstance(given, str | Mapping | Spec):
        return connect(given)
    spec = as_spec(given)
    here = _by_loop.setdefault(asyncio.get_running_loop(), {})
    if spec not in here:
        here.setdefault(spec, await in_thread(connect, spec))  # another may have been quicker
    return here[spec]


def connect(spec: ModelLike) -> Model:
    """`openai:gpt-5-mini`, `local:smollm2`, `replay:FILE`, `sim:…`, or a mapping.

    That is `{name, base_url, api_key_env, price, max_tokens_field, schema_mode, cache}`, or
    `{models: [a, b], on: [rate_limit, error, timeout], spread}` for several. Nothing is sent, and
    nothing is started. A missing key, extra or file is a `ModelNotReady` that says what to do.
    """
    if not isinstance(spec, str | Mapping | Spec):
        if not callable(getattr(spec, "reply", None)):
            raise UsageError(f"a model is {spec!r}", "Give a name such as 'openai:gpt-5-mini'")
        return spec
    found = as_spec(spec)
    if found.models:
        return _group(found)
    return with_cache(_single(found), found)


def _single(found: Spec) -> Model:
    scheme, _ = split(found.name)
    if scheme in BUILT_IN:
        model: Model = import_module(BUILT_IN[scheme]).open_model(found)
        return model
    from fanwise.models.providers import ProviderModel

    return ProviderModel(found)


def _group(found: Spec) -> Model:
    """Its cache is that of all members which have none of their own."""
    members = [
        connect(each if each.cache is not None else replace(each, cache=found.cache))
        for each in found.models
    ]
    return ModelGroup(found.title, members, found.on, spread=found.spread)
