"""Public names of a package that are imported when they are first used.

The command line reads the options of every system before it knows which one a file is for. With
eager `__init__` files that would import all systems, and `fanwise show` would take a second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """A `__getattr__` for the package; `homes` has the names that each of its modules defines."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
