"""How each endpoint is asked to keep to a schema, and what was learnt about it.

Servers that speak as OpenAI does differ most here: some take a JSON schema, some only "JSON", some
only tools. A schema that is refused in one mode is asked for by the next, from then on; the refused
request is an attempt of its own, with its permits and its record (see `ask`). A mode is given up
for all schemas when two were refused and none was ever taken: one alone may be the schema's fault.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict

import msgspec

from fanwise.errors import ModelError, ModelRejected, SchemaModeRefused
from fanwise.models.names import SchemaMode
from fanwise.models.port import Request
from fanwise.models.wires.wire import MODES, Endpoint

_log = logging.getLogger(__name__)
_refused: defaultdict[tuple[Endpoint, SchemaMode], set[bytes]] = defaultdict(set)
_taken: set[tuple[Endpoint, SchemaMode]] = set()
_REFUSAL = {
    "json_schema": re.compile("response_format|schema|structured|grammar"),
    "json_object": re.compile("response_format|json_object|json mode"),
    "tool": re.compile("tool|function"),
}
"""What servers say when they do not take a schema so."""


def mode_for(request: Request, endpoint: Endpoint, first: SchemaMode) -> SchemaMode:
    """The mode that the spec names, otherwise the first that was not refused, from `first` on."""
    if endpoint.schema_mode or request.schema is None:
        return endpoint.schema_mode or first
    schema = _key(request)
    for mode in MODES[MODES.index(first) : -1]:
        refused = _refused.get((endpoint, mode), ())
        given_up = len(refused) > 1 and (endpoint, mode) not in _taken
        if schema not in refused and not given_up:
            return mode
    return MODES[-1]


def taken(request: Request, endpoint: Endpoint, mode: SchemaMode) -> None:
    """The server has answered a request in this mode."""
    if request.schema is not None:
        _taken.add((endpoint, mode))


def next_mode(
    request: Request, endpoint: Endpoint, mode: SchemaMode, error: ModelError
) -> SchemaModeRefused | None:
    """Remember that this error refuses the present mode; None if it does not."""
    if request.schema is None or endpoint.schema_mode or not isinstance(error, ModelRejected):
        return None
    if mode == MODES[-1]:
        for each in MODES:  # then it was about something else
            _refused[endpoint, each].discard(_key(request))
        return None
    if not _REFUSAL[mode].search(error.message.lower()):
        return None
    refused = _refused[endpoint, mode]
    if _key(request) not in refused:
        refused.add(_key(request))
        _log.warning("%s refuses a schema as %s, and is asked in another form", endpoint, mode)
    return SchemaModeRefused(
        error.message, provider=error.provider, model=error.model, status=error.status,
        input_tokens=0, output_tokens=0, usd=0.0,
    )  # fmt: skip


def _key(request: Request) -> bytes:
    return msgspec.json.encode(request.schema, order="sorted")
