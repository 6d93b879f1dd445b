"""Finds the function in a checkout, and says how it is called there."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
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
        if isinstance(self.raw, property):
            return self._read
        return self._of_class if isinstance(self.raw, classmethod) else self._plain

    def _read(self, thing: Any, /) -> Any:
        return getattr(thing, self.name)

    def _of_class(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(cls, self.name)(*args, **kwargs)

    def _plain(self, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.name)(*args, **kwargs)


def enter_project(how: dict[str, Any]) -> None:
    """Put the folders of the project on the path. What we need later is imported before that.

    With asyncio only where it is needed: it takes as long to import as all the rest.
    """
    file = Path(how["file"])
    if not file.is_file() or b"async" in file.read_bytes():
        importlib.import_module("asyncio")
    given = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    for each in reversed([*how["path"], *given]):
        if each not in sys.path:
            sys.path.insert(0, each)


def find(how: dict[str, Any]) -> TargetFunction:
    """Import the module as the tests did, and look the function up in it."""
    enter_project(how)
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
