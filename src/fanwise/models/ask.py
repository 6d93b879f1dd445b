"""One model call through the kernel: bounded, paid for, retried and recorded.

A model makes one attempt; this is where caps, rates, budget, time-out and retry come to it, from
the fan-out around. A call needs those of these caps that are declared there: `all`, the provider
(`openai`), the key's variable (`key:OPENAI_API_KEY`), the server (`gpu-1:8000`), the model
(`openai:gpt-5-mini`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec.structs import replace

from fanwise.core.caps import whole
from fanwise.core.outcome import Usage
from fanwise.core.retry import Retry, RetryLike, as_retry
from fanwise.errors import (
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelUnreachable,
    SchemaModeRefused,
)
from fanwise.kernel import meter
from fanwise.kernel.call import call
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.scope import declared_caps
from fanwise.kernel.user_call import FREE
from fanwise.models import pieces
from fanwise.models.connect import ModelGroup, ModelLike, connected
from fanwise.models.output import check_schema
from fanwise.models.port import (
    Model,
    Prompt,
    Reply,
    Request,
    Tokens,
    Tool,
    as_request,
    cap_names,
)
from fanwise.models.prices import counted, free
from fanwise.models.reply_cache import HIT, CachedModel
from fanwise.models.tools import answers, bound, check_choice

ROUNDS = 8
_log = logging.getLogger(__name__)


def worth_a_retry(error: BaseException) -> bool:
    """Whether the same request may go well later: too many, overloaded, no connection, too slow.

    Not: quota, rejected, refused. Nor bad output: that wants a repair, which is another request.
    """
    kinds = ModelRateLimited | ModelOverloaded | ModelUnreachable | TimeoutError
    return isinstance(error, kinds)


MODEL_RETRY = Retry(4, on=worth_a_retry)


async def ask(
    model: ModelLike,
    prompt: Prompt,
    *,
    tools: Iterable[Tool | Callable[..., Any]] = (),
    rounds: int = ROUNDS,
    retry: RetryLike = MODEL_RETRY,
    timeout: float | None = None,
    name: str | None = None,
) -> Reply:
    """The model's reply, within the caps, rates and budget around.

    `model`: a name such as "openai:gpt-5-mini", a mapping or a `Model`. `prompt`: a text, messages
    or a `Request`. `retry`: a `Retry`, or a number of attempts after the first, made where they
    may help. `timeout`: seconds for each attempt and each call of a tool. `name`: under which the
    attempts are recorded; default: the model's. `tools`: functions that are called for the model
    where it asks for them, at most `rounds` times; then the reply may have `calls` that nobody
    answered. A `Tool` without a function is not called: its calls come back in the reply.
    """
    retry = given = as_retry(retry, worth_a_retry)
    if pieces.are_heard():  # what was read cannot be taken back: then an error is an error
        retry = replace(given, on=lambda error: not pieces.begun() and given.wants(error, 1))
    model = await connected(model)
    offered, functions = bound(tools)
    request = as_request(prompt)
    request = replace(request, tools=(*request.tools, *offered)) if offered else request
    check_schema(request.schema)
    check_choice(request)
    reply = await _reply_of(model, request, retry, timeout, name)
    for _ in range(whole("rounds", rounds, least=0)):
        known = {tool.name for tool in request.tools} - functions.keys()
        if not reply.calls or any(each.name in known for each in reply.calls):
            break
        turns = (*request.messages, reply.message, *await answers(reply, functions, timeout))
        # A tool that must be called is called once: then the model may answer.
        free = replace(request.options, tool_choice=None)
        request = replace(request, messages=turns, options=free)
        pieces.next_reply()
        reply = await _reply_of(model, request, retry, timeout, name)
    return reply


async def _reply_of(
    model: Model, request: Request, retry: Retry, timeout: float | None, name: str | None
) -> Reply:
    if isinstance(model, ModelGroup):
        return await _ask_group(model, request, retry, timeout, name)
    if not isinstance(model, CachedModel) or not model.keeps(request):
        return await _ask(model, request, retry, timeout, name)
    async with model.turn(request):
        kept = await in_thread(model.find, request)
        if kept is None:
            reply = await _ask(model, request, retry, timeout, name)
            await in_thread(model.keep, request, reply)
            return reply
    pieces.emit(kept.text)
    return await call(_kept, kept, name=f"{HIT}{name or model.name}", **FREE)


async def _kept(reply: Reply) -> Reply:
    return reply


async def _ask_group(
    group: ModelGroup, request: Request, retry: Retry, timeout: float | None, name: str | None
) -> Reply:
    """Ask one member after the other. Only the last one is retried after a failure in `on`."""
    *others, last = group.order()
    once = replace(retry, on=lambda error: not group.goes_on(error) and retry.wants(error, 1))
    for place in others:
        try:
            with group.asking(place) as model:
                return await _reply_of(model, request, once, timeout, name)
        except Exception as error:
            if pieces.begun() or not group.goes_on(error):
                raise
    with group.asking(last) as model:
        return await _reply_of(model, request, retry, timeout, name)


async def _ask(
    model: Model, request: Request, retry: Retry, timeout: float | None, name: str | None
) -> Reply:
    estimate = model.estimate(request)
    model = model.model if isinstance(model, CachedModel) else model
    # Whoever listens to the pieces of a reply needs them here.
    travels = getattr(model, "travels", False) and not pieces.are_heard()
    while True:
        try:
            return await call(
                _reply,
                model,
                request,
                needs=caps_of(model),
                retry=retry,
                timeout=timeout,
                estimate=estimate,
                usage=partial(_settled, model.name, estimate),
                name=name or model.name,
                travels=travels,
            )
        except SchemaModeRefused:
            continue  # the model asks in another form now: at most four of them


async def _reply(model: Model, request: Request) -> Reply:
    """One attempt. A model that does not meter its first token has it in the reply."""
    reply = await model.reply(request)
    if reply.first_token_s is not None:
        meter.first_token(reply.first_token_s)
    return reply


def _settled(name: str, reserved: Usage, result: Any) -> Usage | None:
    """What was spent, with a warning if it is more than was reserved."""
    usage = spent(result)
    if usage is None and isinstance(result, ModelError):
        return free(reserved)
    if usage is not None and usage.tokens > reserved.tokens:
        _log.warning(
            "%s took %d tokens where at most %d were reserved, so a budget may be overspent. "
            "If it ignores max_tokens, choose another max_tokens_field for it",
            name, usage.tokens, reserved.tokens,
        )  # fmt: skip
    return usage


def caps_of(model: Model) -> list[str]:
    """The caps that a call needs: those of them that are declared around it."""
    declared = declared_caps()
    return [cap for cap in cap_names(model) if cap in declared]


def spent(result: Any) -> Usage | None:
    """What an attempt cost, by its reply or its error; None: nobody knows, so it may be all.

    A cancelled attempt is of that kind, for most providers say how much only at the end. Where it
    had been said, the model told the meter.
    """
    if isinstance(result, Reply):
        return counted(result.usage, result.usd)
    if isinstance(result, ModelError):
        tokens = Tokens(result.input_tokens, result.output_tokens, result.cached_tokens)
        return counted(tokens, result.usd)
    return None
