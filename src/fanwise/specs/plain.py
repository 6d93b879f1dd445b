"""What a program gives, as a file would have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.models.connect import connect
from fanwise.models.names import Spec, shown


def plain(given: Any) -> Any:
    """Mappings as dicts and sequences as lists."""
    if isinstance(given, Mapping):
        return {key: plain(value) for key, value in given.items()}
    return [plain(each) for each in given] if isinstance(given, list | tuple) else given


def plain_model(given: Any, objects: dict[str, Any]) -> Any:
    """A model as a name or a mapping. A `Model` becomes its name, and is kept in `objects`."""
    if given is None or isinstance(given, str | Mapping):
        return plain(given)
    if isinstance(given, Spec):
        return shown(given)
    model = connect(given)
    objects[model.name] = model
    return model.name
