"""How each endpoint is asked to keep to a schema, and what was learnt about it.

Servers that speak as OpenAI does differ most here: some take a JSON schema, some only "JSON", some
only tools. One that refuses a mode is asked by the next, from then on; the refused request is an
attempt of its own, with its permits and its record (see `ask`).
"""

from __future__ import annotations

import logging
import re

from fanwise.errors import ModelError, ModelRejected, SchemaModeRefused
from fanwise.models.names import SchemaMode
from fanwise.models.port import Request
from fanwise.models.wires.wire import MODES, Endpoint

_log = logging.getLogger(__name__)
_learnt: dict[Endpoint, SchemaMode] = {}
_REFUSAL = {
    "json_schema": re.compile("response_format|schema|structured|grammar"),
    "json_object": re.compile("response_format|json_object|json mode"),
    "tool": re.compile("tool|function"),
}
"""What servers say when they do not take a schema so."""


def mode_for(endpoint: Endpoint, first: SchemaMode) -> SchemaMode:
    """The mode that the spec names, otherwise the one that was learnt, otherwise `first`."""
    return endpoint.schema_mode or _learnt.get(endpoint, first)


def next_mode(
    request: Request, endpoint: Endpoint, mode: SchemaMode, error: ModelError
) -> SchemaModeRefused | None:
    """Remember the next mode if this error refuses the present one; None if it does not."""
    if request.schema is None or endpoint.schema_mode or not isinstance(error, ModelRejected):
        return None
    if mode == MODES[-1]:
        _learnt.pop(endpoint, None)  # then it was about something else
        return None
    if not _REFUSAL[mode].search(error.message.lower()):
        return None
    following = MODES[MODES.index(mode) + 1]
    if _learnt.get(endpoint, mode) == mode:
        _learnt[endpoint] = following
        _log.warning("%s takes no schema as %s: from now on as %s", endpoint, mode, following)
    return SchemaModeRefused(
        error.message, provider=error.provider, model=error.model, status=error.status,
        input_tokens=0, output_tokens=0, usd=0.0,
    )  # fmt: skip
