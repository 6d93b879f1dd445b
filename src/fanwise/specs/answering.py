"""How one system answers requests of another, inside its items: a matrix cell that samples."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from fanwise.models.names import Spec
    from fanwise.models.port import Model, Request
    from fanwise.specs.document import Where


class Asking(msgspec.Struct, frozen=True):
    """The most an answerer asks: `wide` chains at once, each up to `deep` samples."""

    wide: int
    deep: int
    judges: Sequence[Spec | None] = ()
    """The models that judge each sample; None: the model that is asked."""
    checked: bool = True
    """Whether a sample can fail; if not, each chain ends with its first sample."""
    passes: int = 1
    """The most calls that make one sample."""


Answerer = Callable[["Model", "Request"], Awaitable[dict[str, Any]]]
"""Answers a request. The result is JSON-able and has `text` and `value`."""


@runtime_checkable
class AnsweringSystem(Protocol):
    """A system that answers requests of other systems, inside their items."""

    def answerer(self, where: Where) -> Answerer:
        """An answerer as the mapping at that place in a document configures it. `BadSpec`."""

    def asking(self, where: Where, *, schema: bool) -> Asking:
        """The most that this answerer asks, without connecting to anything.

        `schema`: whether the request has a schema, which a sample may fail to match.
        """
