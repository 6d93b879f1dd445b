"""Finds the function in a checkout, and says how it is called there."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class NotThere(Exception):
    """The function is not where it should be."""


class TargetFunction:
    """The target, looked up in its module."""

    def __init__(self, module: ModuleType, owner: Any, name: str) -> None:
        self.module = module
        self.owner = owner
        self.name = name
        self.raw = inspect.getattr_static(owner, name)

    @property
    def own(self) -> Callable[..., Any]:
        """As it was recorded: the class or the object is the first argument of a method."""
        return self._of_class if isinstance(self.raw, classmethod) else self._plain

    def _of_class(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(cls, self.name)(*args, **kwargs)

    def _plain(self, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.name)(*args, **kwargs)


def find(how: dict[str, Any]) -> TargetFunction:
    """Import the module as the tests did, and look the function up in it."""
    for each in reversed(how["path"]):
        if each not in sys.path:
            sys.path.insert(0, each)
    module = importlib.import_module(how["module"])
    here = os.path.realpath(module.__file__ or "")
    if here != os.path.realpath(how["file"]):
        raise NotThere(f"{how['module']} is imported from {here}, and not from {how['file']}")
    *path, name = how["name"].split(".")
    owner: Any = module
    try:
        for each in path:
            owner = getattr(owner, each)
        return TargetFunction(module, owner, name)
    except AttributeError:
        raise NotThere(f"{how['module']} has no {how['name']}") from None
