"""What can go wrong with a language model."""

from __future__ import annotations

from typing import Any

from fanwise.errors.base import FanwiseError, UsageError
from fanwise.errors.fanning import RateLimited


class UnknownModel(UsageError):
    """A model's name that says no known provider."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        super().__init__(f"{name!r} {problem}", next_step)


class ModelNotReady(UsageError):
    """A model whose key, extra or weights are missing.

    It names the variable and the extra, never a key. `step`: all that is missing, where it is
    neither of the two.
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
    """A budget counts dollars, and nobody knows what the call may cost: 0 would be a lie."""

    def __init__(self, kind: str, limit: float) -> None:
        self.kind = kind
        self.limit = limit
        super().__init__(
            f"a budget of {limit:g} {kind} cannot be kept: the price of this call is unknown",
            "Say the model's price, or give a budget of tokens",
        )


class NotRecorded(UsageError):
    """A replay was asked for what it did not record, or more often than it recorded it."""

    def __init__(self, path: str, difference: str) -> None:
        self.path = path
        self.difference = difference
        super().__init__(
            f"{path} has no such request: {difference}", "Record it anew, or ask what was recorded"
        )


class ModelError(FanwiseError):
    """A language model gave no reply that can be used.

    `input_tokens` (of these, `cached_tokens` from the provider's cache), `output_tokens` and `usd`
    are what the attempt cost all the same: 0 where the provider served nothing, None where nobody
    can know.
    """

    cached_tokens: int = 0
    """Also of an error in a recording that was made before there was this field."""

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
    """The provider said "too many requests": wait `retry_after` seconds, if it said so."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        if retry_after is not None:
            fields["next_step"] = f"Retry after {retry_after:g} s"
        ModelError.__init__(self, message, **fields)


class ModelOverloaded(ModelError):
    """The provider cannot serve the request now (5xx, 529). Worth a retry."""

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        self.retry_after = retry_after
        super().__init__(message, **fields)


class ModelUnreachable(ModelError):
    """There was no connection, or it broke before the reply was complete. Worth a retry."""


class ModelQuota(ModelError):
    """The account's credit or quota is used up. No retry helps."""


class ModelRejected(ModelError):
    """The provider rejects the request itself: malformed, wrong key, no such model."""


class ModelRefused(ModelError):
    """A content filter cut in, or the model would not answer."""


class ModelNotStarted(ModelError):
    """The server of a local model did not come up. `log` is the last that it said."""

    def __init__(self, name: str, problem: str, file: str, log: str) -> None:
        self.file = file
        self.log = log
        said = " and said: " + " | ".join(log.split("\n")) if log else ""
        super().__init__(
            f"{name} cannot be used: its server {problem}{said}",
            provider="local",
            model=name,
            input_tokens=0,
            output_tokens=0,
            usd=0.0,
            next_step=f"See that llama.cpp can load {file}, and that there is memory for it",
        )


class BadOutput(ModelError):
    """The reply does not parse, or does not match the schema. `text` is what the model said.

    The rest is as in a reply: it came, and was paid for, and may be worth a repair.
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
    """Weights could not be pulled. What was there before is as it was."""

    def __init__(self, name: str, problem: str, next_step: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"cannot pull {name}: {problem}", next_step)


class WrongDigest(PullFailed):
    """What came is not what was asked for; it was not kept."""

    def __init__(self, name: str, source: str, wanted: str, found: str) -> None:
        self.source = source
        self.wanted = wanted
        self.found = found
        super().__init__(
            name,
            f"what {source} has for it has the SHA-256 {found} and not {wanted}",
            "It was not kept. See where that file comes from",
        )
