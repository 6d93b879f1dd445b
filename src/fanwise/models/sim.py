"""A model that does not exist, with the latencies and failures of one: for simulation.

In virtual time it answers "how long, how much, what binds" without a provider. What it gives is
marked in every reply: the text begins with `[simulated]`, `finish_reason` is `simulated`.

Each reply depends on the seed, the request and how often that was asked, and on nothing else: so
a simulation is the same on every run, in whatever order its calls come.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from hashlib import sha256
from math import exp, log
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from fanwise.core.outcome import Usage
from fanwise.errors import ModelError, ModelOverloaded, ModelRateLimited, UsageError
from fanwise.kernel import meter
from fanwise.models.finish import finish
from fanwise.models.names import Price, Spec
from fanwise.models.port import Reply, Request, Tokens
from fanwise.models.prices import at_price, most_input

SIMULATED = "simulated"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the model behaves; in a name: `sim:slow?median_s=4&rate_limited=0.05`."""

    median_s: float = 1.0
    sigma: float = 0.5
    """Latency is lognormal: its median, and how far it spreads."""
    first_token: float = 0.3
    """The part of the latency that passes before the first token."""
    tokens: int = 200
    """Most output tokens; half of them at least."""
    errors: float = 0.0
    """How many of the replies are a 500 …"""
    rate_limited: float = 0.0
    """… or a 429, which comes at once, and asks for `retry_after` seconds."""
    retry_after: float = 1.0
    seed: int = 0


class SimModel:
    provider = "sim"
    key: str | None = None

    def __init__(self, name: str, profile: Profile, price: Price | None = None) -> None:
        self.name = name
        self.profile = profile
        self._price = price
        self._asked: Counter[bytes] = Counter()

    def __repr__(self) -> str:
        return f"<Simulated {self.name}>"

    def estimate(self, request: Request) -> Usage:
        tokens = Tokens(most_input(request), request.options.max_tokens or self.profile.tokens)
        return Usage(1, tokens.total or 0, self.dollars(tokens))

    def dollars(self, tokens: Tokens) -> float | None:
        """What they would cost at the price of its spec."""
        return at_price(tokens, self._price)

    async def reply(self, request: Request) -> Reply:
        profile, chance = self.profile, self._chance(request)
        kind, latency = chance.random(), self._latency(chance)
        if kind < profile.rate_limited:
            await asyncio.sleep(0)
            raise self._failure(ModelRateLimited, 429, retry_after=profile.retry_after)
        if kind < profile.rate_limited + profile.errors:
            await asyncio.sleep(latency)
            raise self._failure(ModelOverloaded, 500)
        await self._generate(latency)
        return finish(self, request, self._completed(request, chance, latency))

    async def _generate(self, latency: float) -> None:
        clock, first = asyncio.get_running_loop().time, latency * self.profile.first_token
        began = clock()
        try:
            await asyncio.sleep(latency)
        finally:  # also when it is cancelled: without a timer of its own, which would cost more
            if clock() - began >= first:
                meter.first_token(first)

    def _failure(self, kind: type[ModelError], status: int, **fields: Any) -> ModelError:
        return kind(
            f"{self.name}: {SIMULATED}", provider=self.provider, model=self.name, status=status,
            input_tokens=0, output_tokens=0, usd=0.0, **fields,
        )  # fmt: skip

    def _completed(self, request: Request, chance: Random, latency: float) -> Reply:
        most = min(self.profile.tokens, request.options.max_tokens or self.profile.tokens)
        written = chance.randint((most + 1) // 2, most)
        text = f"[{SIMULATED}] " + " ".join(["word"] * (written - 1))
        if request.schema is not None:
            text = msgspec.json.encode(made_up(request.schema, chance)).decode()
        tokens = Tokens(most_input(request) // 2, written)
        return Reply(
            text, self.name, None, tokens, self.dollars(tokens),
            latency * self.profile.first_token, latency, SIMULATED,
        )  # fmt: skip

    def _chance(self, request: Request) -> Random:
        asked = msgspec.json.encode(request, order="sorted")
        self._asked[asked] += 1
        text = f"{self.profile.seed}:{self.name}:{self._asked[asked]}:".encode() + asked
        return Random(sha256(text).digest())

    def _latency(self, chance: Random) -> float:
        return exp(chance.gauss(log(self.profile.median_s), self.profile.sigma))


def open_model(spec: Spec) -> SimModel:
    """`sim:NAME?median_s=2&sigma=0.4&seed=7`: all of it is optional."""
    query = spec.name.partition("?")[2]
    try:
        profile = msgspec.convert(dict(parse_qsl(query)), Profile, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(Profile.__struct_fields__)
        raise UsageError(f"{spec.name!r} cannot be read: {error}", f"Known: {known}") from None
    if not profile.median_s > 0 or profile.tokens < 1 or profile.sigma < 0:
        raise UsageError(f"{spec.name!r} has no possible latency or length", "Give numbers above 0")
    return SimModel(spec.name, profile, spec.price)


def made_up(schema: Any, chance: Random) -> Any:
    """A value that the schema allows; an unusual schema may not be met, as by a real model."""
    if not isinstance(schema, dict):
        return {}
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return made_up(chance.choice(schema[several]), chance)
    kind = schema.get("type", "object")
    return _of_kind(kind[0] if isinstance(kind, list) else kind, schema, chance)


def _of_kind(kind: str, schema: dict[str, Any], chance: Random) -> Any:
    if kind == "object":
        members = schema.get("properties", {})
        return {name: made_up(member, chance) for name, member in members.items()}
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [made_up(schema.get("items", {}), chance) for _ in range(count)]
    if kind in ("integer", "number"):
        least = schema.get("minimum", 0)
        number = chance.randint(int(least), max(int(least), int(schema.get("maximum", least + 10))))
        return number if kind == "integer" else float(number)
    if kind == "boolean":
        return chance.random() < 0.5
    return None if kind == "null" else "simulated".ljust(schema.get("minLength", 0), ".")
