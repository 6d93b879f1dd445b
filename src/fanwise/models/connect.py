"""A model of its name. The only place that knows all kinds of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from fanwise.models.names import BUILT_IN, Spec, as_spec, split
from fanwise.models.port import Model


def connect(spec: str | Mapping[str, Any] | Spec | Model) -> Model:
    """`openai:gpt-5-mini`, `local:smollm2`, `replay:FILE`, `sim:…`, or a mapping.

    That is `{name, base_url, api_key_env, price}`. Nothing is sent, and nothing is started. A
    missing key, extra or file is a `ModelNotReady` that says what to do.
    """
    if not isinstance(spec, str | Mapping | Spec):
        return spec
    found = as_spec(spec)
    scheme, _ = split(found.name)
    if scheme in BUILT_IN:
        model: Model = import_module(BUILT_IN[scheme]).open_model(found)
        return model
    from fanwise.models.providers import ProviderModel

    return ProviderModel(found)
