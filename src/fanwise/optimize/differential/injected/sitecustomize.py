"""Python imports a module of this name at its start, from the first folder that has one.

It starts the recorder or the profiler if the environment asks for it, and hands on to the
`sitecustomize` that would have been found without us.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def _watch(program: str, how: str | None) -> None:
    if how:
        path, known = sys.path, set(sys.modules)
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path = [_HERE, *(each for each in path if each not in given)]
        try:
            install = import_module(f"fanwise_child.{program}").install
        finally:
            sys.path = path
        _forget_shadowed(set(sys.modules) - known, given)
        install(how)


def _forget_shadowed(ours: set[str], given: list[str]) -> None:
    """Let the tests import their own modules of these names, as they would without us."""
    for name in ours:
        top = name.partition(".")[0]
        if top != "fanwise_child" and PathFinder.find_spec(top, given) is not None:
            del sys.modules[name]


def _hand_on() -> None:
    others = [each for each in sys.path if os.path.abspath(each) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _watch("recorder", os.environ.get("FANWISE_RECORD"))
    _hand_on()
    _watch("profile_calls", os.environ.get("FANWISE_PROFILE"))
