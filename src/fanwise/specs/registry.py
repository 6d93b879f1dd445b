"""Finds systems by name: the built-in ones, and those that other packages register.

A system is imported when a file or a run needs it. Systems do not import each other; one that runs
another looks it up here.
"""

from __future__ import annotations

from typing import Any, cast

from fanwise.errors import BadSpec, UsageError
from fanwise.specs.document import Document
from fanwise.specs.nearest import did_you_mean
from fanwise.specs.system import System
from fanwise.system_names import BUILT_IN, homes, load, registered
from fanwise.system_options import Option


def names() -> list[str]:
    """The names of all systems, whether they can be loaded or not."""
    return sorted({*BUILT_IN, *registered()})


def system(name: str) -> System:
    """The system of that name. `UsageError` if there is none, or it cannot be loaded."""
    values = homes(name)
    if not values:
        raise UsageError(f"there is no system {name!r}{did_you_mean(name, names())}")
    if len(values) > 1:
        raise UsageError(
            f"two packages register a system {name!r}: {', '.join(sorted(values))}",
            "Uninstall one of them",
        )
    return _load(name, values.pop())


def system_of(document: Document) -> System:
    """The system whose name is a top-level key of the document. `BadSpec`."""
    known = names()
    found = [key for key in document.data if key in known]
    if len(found) > 1:
        message = f"a file is for one system, and `{found[0]}` stands there too"
        raise BadSpec(document.name, [document.problem((found[1],), message, key=True)])
    if not found:
        raise _nothing_known(document, known)
    try:
        return system(found[0])
    except UsageError as error:
        problem = document.problem((found[0],), str(error), key=True)
        raise BadSpec(document.name, [problem]) from error


def _nothing_known(document: Document, known: list[str]) -> BadSpec:
    for key in document.data:
        hint = did_you_mean(key, known)
        if "did you mean" in hint:
            problem = document.problem((key,), f"is not known here{hint}", key=True)
            return BadSpec(document.name, [problem])
    message = f"no top-level key says what to run; known: {', '.join(known)}"
    return BadSpec(document.name, [document.problem((), message)])


def _load(name: str, value: str) -> System:
    module = value.partition(":")[0]
    try:
        loaded = load(value)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and name in BUILT_IN:
            package = module.rpartition(".")[0]
            if error.name in (package, module):
                raise UsageError(f"this fanwise has no system {name!r} yet") from error
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"the system {name!r} ({value}) cannot be loaded: {why}") from error
    if getattr(loaded, "name", None) != name or not _is_system(loaded):
        raise UsageError(
            f"{value} is not a system named {name!r}",
            "It needs the name, `runnable` and `resume`: see the guide “Write a system”",
        )
    if not all(isinstance(each, Option) for each in getattr(loaded, "options", ())):
        raise UsageError(
            f"the `options` of {value} are not declared as `fanwise.specs.Option`",
            "Write, for instance: Option(name='colour', commands=['run'], help='The colour.')",
        )
    return cast("System", loaded)


def _is_system(loaded: Any) -> bool:
    return all(callable(getattr(loaded, method, None)) for method in ("runnable", "resume"))
