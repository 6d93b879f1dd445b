"""What an SDK raises, as our errors, with what is worth knowing and without the key.

The original is not chained: SDK errors hold requests, headers and bodies, and the journal keeps
the fields of a cause. Its text is kept, and wherever the key stands in it, it is cut out: some
servers repeat the key that they reject.
"""

from __future__ import annotations

from typing import Any

from fanwise.errors import ModelError, ModelOverloaded, ModelRateLimited
from fanwise.models.port import Model, Tokens
from fanwise.models.wires.wire import Endpoint, ErrorFacts

HIDDEN = "[key]"
MOST_TEXT = 500
NOTHING = Tokens(0, 0)


def error_of(
    problem: ErrorFacts, model: Model, endpoint: Endpoint, tokens: Tokens, usd: float | None
) -> ModelError:
    """Our error. `tokens` and `usd`: what is known to be spent once the stream had begun."""
    if problem.unbilled:
        tokens, usd = NOTHING, 0.0
    fields: dict[str, Any] = {
        "provider": model.provider,
        "model": model.name,
        "status": problem.status,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cached_tokens": tokens.cached,
        "usd": usd,
    }
    if issubclass(problem.kind, ModelRateLimited | ModelOverloaded):
        fields["retry_after"] = problem.retry_after
    if "max_completion_tokens" in problem.text and endpoint.max_tokens_field is None:
        fields["next_step"] = "Set max_tokens_field: max_completion_tokens for this model"
    return problem.kind(f"{model.name}: {_hidden(problem.text, endpoint.key)}", **fields)


def _hidden(text: str, key: str | None) -> str:
    """The text without the key, and not too long."""
    if key:
        text = text.replace(key, HIDDEN)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " …"
