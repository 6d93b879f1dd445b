"""Dollars for tokens, and the most that a request may cost before it is sent.

Prices are those of `genai-prices`, whose data lies in the package: no network is asked. A model
that it does not know has no price, and None is said, once; 0 would make a budget that is never
reached. Who knows better gives a `Price` in the model's spec.

The estimate has to be an upper bound, or a budget could be overspent:

- input: a token for every 2 bytes, and 16 for each message around its text. Real texts have 3 to
  4 bytes a token; only strings of rare symbols come near 2. A document has as many as bytes.
- output: `max_tokens`; without it the model's context window, where the price list knows it, else
  131,072. That is far more than most replies have, and it is reserved: so give `max_tokens`
  wherever a budget or a rate of tokens counts.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from fanwise.core.outcome import Usage
from fanwise.models.names import PROVIDERS, Price
from fanwise.models.port import File, Request, Tokens

BYTES_A_TOKEN = 2
TOKENS_A_MESSAGE = 16
TOKENS_AN_IMAGE = 40_000
"""Most providers take 2,000 at most; gpt-4o-mini counts 37,000 for a large one."""
MOST_OUTPUT = 131_072

_log = logging.getLogger(__name__)


def dollars(provider: str, model: str, tokens: Tokens, price: Price | None = None) -> float | None:
    """What these tokens cost; None if the price or a count is unknown."""
    if price is not None:
        return at_price(tokens, price)
    if tokens.total is None:
        return None
    found = _listed(provider, model)
    if found is None:
        _warn_unpriced(provider, model)
        return None
    from genai_prices import Usage as Counted

    told = Counted(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cached,
        cache_write_tokens=tokens.cache_written,
    )
    return float(found.calc_price(told, _provider(provider)).total_price)


def at_price(tokens: Tokens, price: Price | None) -> float | None:
    """What these tokens cost at a given price; None if it or a count is unknown."""
    if price is None or tokens.input is None or tokens.output is None:
        return None
    return (tokens.input * price.input + tokens.output * price.output) / 1_000_000


def counted(tokens: Tokens, usd: float | None) -> Usage | None:
    """What an attempt cost; None where the provider did not say how many tokens it took."""
    if tokens.total is None:
        return None
    return Usage(1, tokens.total, usd, tokens.input, tokens.output, tokens.cached)


def free(most: Usage) -> Usage | None:
    """An attempt whose tokens nobody counted. What may cost nothing at most has cost nothing.

    Of its tokens only the bound is known, which is what a budget counts then.
    """
    return Usage(1, most.tokens, 0.0) if most.usd == 0 else None


def largest(usages: Iterable[Usage]) -> Usage:
    """The largest of several estimates; the dollars are unknown if one of them is."""
    each = list(usages)
    known = [usage.usd for usage in each if usage.usd is not None]
    usd = max(known) if len(known) == len(each) else None
    return Usage(1, max(usage.tokens for usage in each), usd)


def most(provider: str, model: str, request: Request, price: Price | None = None) -> Usage:
    sent = most_input(request)
    written = sent if request.options.prompt_cache else 0
    tokens = Tokens(sent, most_output(provider, model, request), cache_written=written)
    assert tokens.total is not None
    return Usage(1, tokens.total, dollars(provider, model, tokens, price))


def most_input(request: Request, bytes_a_token: int = BYTES_A_TOKEN) -> int:
    """An upper bound for the tokens of the messages, the files, the tools and the schema."""
    texts = [message.content for message in request.messages]
    if request.schema is not None:
        texts.append(msgspec.json.encode(request.schema).decode())
    texts += [msgspec.json.encode(tool).decode() for tool in request.tools]
    turns = [[m.calls, m.provider_state] for m in request.messages if m.calls]
    texts += [msgspec.json.encode(turn).decode() for turn in turns]
    size = sum(len(text.encode()) for text in texts)
    files = sum(_most_of(file) for message in request.messages for file in message.files)
    return -(-size // bytes_a_token) + TOKENS_A_MESSAGE * len(texts) + files


def _most_of(file: File) -> int:
    if file.media_type.startswith("image/"):
        return TOKENS_AN_IMAGE
    return MOST_OUTPUT if file.data is None else len(file.data)


def most_output(provider: str, model: str, request: Request) -> int:
    """What `max_tokens` allows; without it, what the model can hold at all."""
    if request.options.max_tokens is not None:
        return request.options.max_tokens
    found = _listed(provider, model)
    window = None if found is None else found.context_window
    return window or MOST_OUTPUT


@functools.cache
def _listed(provider: str, model: str) -> Any | None:
    try:
        from genai_prices.data_snapshot import get_snapshot

        _, found = get_snapshot().find_provider_model(model, None, _listed_as(provider), None)
    except (ImportError, LookupError):
        return None
    return found


@functools.cache
def _warn_unpriced(provider: str, model: str) -> None:
    """Once for each model, because this is cached."""
    missing = importlib.util.find_spec("genai_prices") is None
    why = "genai-prices is missing" if missing else "dollars are not counted"
    _log.warning("the price of %s:%s is unknown: %s", provider, model, why)


@functools.cache
def _provider(provider: str) -> Any:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot().find_provider(None, _listed_as(provider), None)


def _listed_as(provider: str) -> str:
    known = PROVIDERS.get(provider)
    return provider if known is None or known.prices is None else known.prices
