"""Python values as a file would have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fanwise.core.budget import BudgetLike, as_budget
from fanwise.core.caps import Adaptive, CapsLike, Limit, Rate, Shared, as_caps
from fanwise.core.retry import RetryLike, as_retry
from fanwise.errors import UsageError
from fanwise.models.ask import worth_a_retry
from fanwise.models.connect import connect
from fanwise.models.names import Spec, shown


def plain(given: Any) -> Any:
    """Mappings as dicts and sequences as lists."""
    if isinstance(given, Mapping):
        return {key: plain(value) for key, value in given.items()}
    return [plain(each) for each in given] if isinstance(given, list | tuple) else given


def plain_fields(fields: Mapping[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, and further ones; None means not given."""
    return plain({**(fields or {}), **{k: v for k, v in given.items() if v is not None}})  # type: ignore[no-any-return]


def plain_model(given: Any, objects: dict[str, Any]) -> Any:
    """A model as a name or a mapping. A `Model` becomes its name, and is kept in `objects`."""
    if given is None or isinstance(given, str | Mapping):
        return plain(given)
    if isinstance(given, Spec):
        return shown(given)
    model = connect(given)
    objects[model.name] = model
    return model.name


def plain_limits(caps: CapsLike | None, budget: BudgetLike | None) -> dict[str, Any]:
    """`caps`, `rates` and `budget` as in a file; empty ones are left out."""
    found: dict[str, dict[str, Any]] = {"caps": {}, "rates": {}, "budget": {}}
    declared = as_caps(caps)
    for name, limits in ({} if declared is None else declared.limits).items():
        for limit in limits if isinstance(limits, list | tuple) else [limits]:
            kind = "rates" if isinstance(limit, Rate) else "caps"
            found[kind][name] = _plain_limit(name, limit)
    spent = as_budget(budget)
    found["budget"] = {} if spent is None else dict(spent.limits)
    return {kind: each for kind, each in found.items() if each}


def _plain_limit(name: str, limit: Limit | Any) -> Any:
    if isinstance(limit, Rate):
        minute = 60.0 / limit.per
        given = {"rpm": limit.requests, "tpm": limit.tokens}
        return {kind: most * minute for kind, most in given.items() if most is not None}
    if isinstance(limit, Adaptive):
        return {"start": limit.start, "least": limit.least, "most": limit.most}
    if isinstance(limit, Shared):
        return {"most": limit.most, "shared": limit.name}
    if not isinstance(limit, int):
        raise UsageError(
            f"cap {name!r} is {limit!r}", "Give a number, an Adaptive, a Shared or a Rate"
        )
    return limit


def plain_retry(retry: RetryLike) -> Any:
    """A retry of model calls, as a file has it. `UsageError` if no file could."""
    given = as_retry(retry)
    if given.on not in (None, worth_a_retry):
        raise UsageError(f"retry has on={given.on!r}", "Leave it out: calls know what may help")
    return {"times": given.times, "base": given.base_s, "most": given.most_s}


def importable(function: Callable[..., Any]) -> str:
    """The name of a function as `module:function`. `UsageError` if it has none."""
    name = f"{function.__module__}:{getattr(function, '__qualname__', '<object>')}"
    if "<" in name or function.__module__ == "__main__":
        raise UsageError(f"{name} cannot be imported", "A file names functions of modules")
    return name
