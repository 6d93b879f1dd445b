"""Errors about language models."""

from __future__ import annotations

from typing import Any

from fanwise.errors.base import FanwiseError, UsageError
from fanwise.errors.fanning import RateLimited


class UnknownModel(UsageError):
    """A model name without a known provider."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        super().__init__(f"{name!r} {problem}", next_step)


class ModelNotReady(UsageError):
    """A model whose key, extra or weights are missing.

    The text names the variable and the extra, never a key. `step` replaces the extra if something
    else is missing.
    """

    def __init__(
        self, name: str, missing: str, variable: str | None, extra: str, *, step: str | None = None
    ) -> None:
        self.name = name
        self.missing = missing
        self.variable = variable
        self.extra = extra
        steps = [step or f"pip install 'fanwise[{extra}]'"]
        if variable is not None:
            steps.append(f"set {variable}")
        super().__init__(f"{name} cannot be used: {missing}", f"It needs: {'; '.join(steps)}")


class UnknownCost(UsageError):
    """A budget in dollars cannot be enforced, because the price of the call is unknown."""

    def __init__(self, kind: str, limit: float) -> None:
        self.kind = kind
        self.limit = limit
        super().__init__(
            f"a budget of {limit:g} {kind} cannot be enforced: the price of this call is unknown",
            "State the model's price, or set a budget in tokens",
        )


class NotRecorded(UsageError):
    """A replay got a request that was not recorded, or got it more often than recorded."""

    def __init__(self, path: str, difference: str) -> None:
        self.path = path
        self.difference = difference
        super().__init__(
            f"{path} does not contain this request: {difference}",
            "Record again, or send a request that was recorded",
        )


class ModelError(FanwiseError):
    """A language model gave no usable reply.

    `input_tokens` (including `cached_tokens`), `output_tokens` and `usd` are what the attempt
    still cost: 0 if the provider served nothing, None if that is unknown.
    """

    cached_tokens: int = 0
    """A class attribute, because older recordings lack the field."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int = 0,
        usd: float | None = None,
        next_step: str = "",
    ) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cached_tokens = cached_tokens
        self.usd = usd
        FanwiseError.__init__(self, message, next_step)  # not `super`: see ModelRateLimited


class ModelRateLimited(ModelError, RateLimited):
    """The provider said "too many requests". Retry after `retry_after` seconds, if given."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        if retry_after is not None:
            fields["next_step"] = f"Retry after {retry_after:g} s"
        ModelError.__init__(self, message, **fields)


class ModelOverloaded(ModelError):
    """The provider cannot serve the request now (5xx, 529). Worth retrying."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        super().__init__(message, **fields)


class ModelUnreachable(ModelError):
    """No connection, or it broke before the reply was complete. Worth retrying."""


class ModelQuota(ModelError):
    """The account's credit or quota is used up. Retrying does not help."""


class ModelRejected(ModelError):
    """The provider rejected the request: malformed, wrong key, or no such model."""


class SchemaModeRefused(ModelRejected):
    """The server does not take a schema in this form. The next request asks in another form."""


class ModelRefused(ModelError):
    """A content filter stopped the answer, or the model refused."""


class ReplyTooLong(ModelError):
    """The reply is longer than fanwise reads; the connection was closed. `limit`: characters."""

    def __init__(self, message: str, *, limit: int, **fields: Any) -> None:
        self.limit = limit
        super().__init__(message, **fields)


class ModelNotStarted(ModelError):
    """The server of a local model did not start. `log` is the end of its output."""

    def __init__(self, name: str, problem: str, file: str, log: str) -> None:
        self.file = file
        self.log = log
        said = "; its output: " + " | ".join(log.split("\n")) if log else ""
        super().__init__(
            f"{name} cannot be used: its server {problem}{said}",
            provider="local",
            model=name,
            input_tokens=0,
            output_tokens=0,
            usd=0.0,
            next_step=f"Check that llama.cpp can load {file} and that there is enough memory",
        )


class BadOutput(ModelError):
    """The reply does not parse or does not match the schema. `text` is what the model said.

    The other fields are those of a reply: it arrived, was paid for, and may be worth repairing.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str,
        first_token_s: float | None = None,
        ran_s: float = 0.0,
        finish_reason: str | None = None,
        **fields: Any,
    ) -> None:
        self.text = text
        self.first_token_s = first_token_s
        self.ran_s = ran_s
        self.finish_reason = finish_reason
        super().__init__(message, **fields)


class PullFailed(FanwiseError):
    """Weights could not be pulled. Files that were there before are unchanged."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"cannot pull {name}: {problem}", next_step)


class WrongDigest(PullFailed):
    """The downloaded file is not the expected one; it was not kept."""

    def __init__(self, name: str, source: str, wanted: str, found: str) -> None:
        self.source = source
        self.wanted = wanted
        self.found = found
        super().__init__(
            name,
            f"the file from {source} has the SHA-256 {found}, expected {wanted}",
            "It was not kept. Check where that file comes from",
        )
