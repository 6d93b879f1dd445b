"""What pydantic-ai raises, as our errors, with what is worth knowing and without the key.

The original is not chained: SDK errors hold requests, headers and bodies, and the journal keeps
the fields of a cause. Its text is kept, and wherever the key stands in it, it is cut out: some
servers repeat the key that they reject.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.errors import (
    ModelError,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
)
from fanwise.models.finish import FILTERED
from fanwise.models.port import Tokens

HIDDEN = "[key]"
MOST_TEXT = 500
NOTHING = Tokens(0, 0)


class Failure:
    """Translates the errors of one model."""

    def __init__(self, provider: str, name: str, key: str | None) -> None:
        self._provider = provider
        self._name = name
        self._key = key

    def of(self, error: Exception, tokens: Tokens, usd: float | None) -> ModelError | None:
        """Our error for it; None for one that is not the provider's doing.

        `tokens` and `usd`: what is known to be spent once the stream had begun.
        """
        from pydantic_ai import exceptions as theirs

        if isinstance(error, theirs.ContentFilterError) or _filtered(error):
            kind: type[ModelError] = ModelRefused
        elif isinstance(error, theirs.ModelAPIError | theirs.UnexpectedModelBehavior):
            kind = _kind(error)
        else:
            return None
        if _served_nothing(error):
            tokens, usd = NOTHING, 0.0
        return self._make(kind, error, tokens, usd)

    def hidden(self, text: str) -> str:
        """The text without the key, and not too long."""
        if self._key:
            text = text.replace(self._key, HIDDEN)
        return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " …"

    def _make(
        self, kind: type[ModelError], error: Exception, tokens: Tokens, usd: float | None
    ) -> ModelError:
        fields: dict[str, Any] = {
            "provider": self._provider,
            "model": self._name,
            "status": getattr(error, "status_code", None),
            "input_tokens": tokens.input,
            "output_tokens": tokens.output,
            "cached_tokens": tokens.cached,
            "usd": usd,
        }
        if issubclass(kind, ModelRateLimited | ModelOverloaded):
            fields["retry_after"] = getattr(error, "retry_after", None)
        return kind(f"{self._name}: {self.hidden(_text(error))}", **fields)


def _kind(error: Exception) -> type[ModelError]:
    from pydantic_ai import exceptions as theirs

    table: list[tuple[type[Exception], type[ModelError]]] = [
        (theirs.ModelQuotaExceededError, ModelQuota),
        (theirs.ModelRateLimitError, ModelRateLimited),
        (theirs.ModelUnavailableError, ModelOverloaded),
        (theirs.ModelServerError, ModelOverloaded),
        (theirs.ModelConnectionError, ModelUnreachable),
        (theirs.ModelRequestTimeout, ModelUnreachable),
        (theirs.ModelRequestRejectedError, ModelRejected),
    ]
    for their_kind, kind in table:
        if isinstance(error, their_kind):
            return kind
    return _by_status(getattr(error, "status_code", None))


def _filtered(error: Exception) -> bool:
    return getattr(error, "provider_error_code", None) == FILTERED


def _by_status(status: int | None) -> type[ModelError]:
    """For what has no category. Without a status: a stream that made no sense."""
    if status is None:
        return ModelUnreachable
    if status == 429:
        return ModelRateLimited
    return ModelOverloaded if status >= 500 or status == 408 else ModelRejected


def _served_nothing(error: Exception) -> bool:
    """An error in place of an answer is not billed; nor is a request that was never sent."""
    if getattr(error, "in_stream", False):
        return False
    sent = getattr(error, "phase", None) not in ("pool", "connect")
    return getattr(error, "status_code", None) is not None or not sent


def _text(error: Exception) -> str:
    """The provider's own words, if it had some."""
    body = _parsed(getattr(error, "body", None))
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message) if message else str(getattr(error, "message", error))


def _parsed(body: object) -> object:
    """Mistral's comes as it was sent."""
    if not isinstance(body, str):
        return body
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
