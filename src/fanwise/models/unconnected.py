"""What is known of a model without its key, its extra or its weights: for estimates.

Its name, its provider, the variable of its key, the most that a request may cost and the price of
tokens are all in the tables. So a file can be counted and simulated on a machine that could not
run it. Such a model cannot be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace

from fanwise.core.outcome import Usage
from fanwise.errors import FanwiseError, UsageError
from fanwise.models.clients import base_url_of, key_of, key_variable, server_of
from fanwise.models.connect import connect
from fanwise.models.local.model import LocalModel
from fanwise.models.local.settings import LocalFile, settings_of
from fanwise.models.names import BUILT_IN, PROVIDERS, Price, Spec, split
from fanwise.models.port import Request, Tokens
from fanwise.models.prices import dollars, largest, most
from fanwise.models.sim import SimModel
from fanwise.models.sim import open_model as simulated


class Unconnected:
    """A model to count with."""

    others: Sequence[Unconnected] = ()
    """The rest of its group: any of them may be asked in its place, so the dearest one counts."""

    def __init__(
        self,
        name: str,
        key: str | None,
        price: Price | None = None,
        known: LocalModel | SimModel | None = None,
        server: str | None = None,
    ) -> None:
        self.name = name
        self.provider, self._model = split(name)
        self.key = key
        self.server = server
        self.profile = known.profile if isinstance(known, SimModel) else None
        """How a simulated model behaves."""
        self._price = price
        self._known = known

    def __repr__(self) -> str:
        return f"<Unconnected {self.name}>"

    def estimate(self, request: Request) -> Usage:
        """The most that an attempt may cost, at it or at another of its group."""
        return largest(each._most(request) for each in (self, *self.others))

    def dollars(self, tokens: Tokens) -> float | None:
        """The most that these tokens would cost; None if a price is unknown."""
        each = [model._dollars(tokens) for model in (self, *self.others)]
        known = [usd for usd in each if usd is not None]
        return max(known) if len(known) == len(each) else None

    async def reply(self, request: Request) -> NoReturn:
        raise UsageError(f"{self.name} is not connected", "Use `connect`")

    def _most(self, request: Request) -> Usage:
        if self._known is not None:
            return self._known.estimate(request)
        return most(self.provider, self._model, request, self._price)

    def _dollars(self, tokens: Tokens) -> float | None:
        if self._known is not None:
            return self._known.dollars(tokens)
        return dollars(self.provider, self._model, tokens, self._price)


def unconnected(spec: Spec) -> Unconnected:
    """`UnknownModel` and `UsageError` for a bad name; a missing key is no error here."""
    if spec.models:
        first, *others = map(unconnected, spec.models)
        first.others = [*first.others, *(each for one in others for each in (one, *one.others))]
        return first
    spec = replace(spec, cache=None)  # an estimate takes nothing from it
    scheme, rest = split(spec.name)
    if scheme == "local":
        place = LocalFile(Path(rest.partition("?")[0]), settings_of(spec))
        return Unconnected(spec.name, None, spec.price, LocalModel(spec.name, place, spec.price))
    if scheme == "sim":
        return Unconnected(spec.name, None, spec.price, simulated(spec))
    if scheme in BUILT_IN:
        return _replayed(spec)
    return Unconnected(spec.name, _key(spec), spec.price, server=server_of(spec))


def _key(spec: Spec) -> str | None:
    """Its variable, unless it can do without and the variable is not set."""
    provider = PROVIDERS[split(spec.name)[0]]
    own = spec.base_url is not None or base_url_of(spec) != provider.base_url
    optional = provider.key_optional or (own and spec.api_key_env is None)
    return None if optional and key_of(spec) is None else key_variable(spec)


def _replayed(spec: Spec) -> Unconnected:
    """As the model that was recorded, where the recording is there."""
    try:
        recorded = connect(spec)
    except FanwiseError:
        return Unconnected(spec.name, None, spec.price)
    return Unconnected(recorded.name, recorded.key, spec.price)
