"""Python imports a module of this name at its start, from the first folder that has one.

It starts the recorder if the environment asks for it, and hands on to the `sitecustomize` that
would have been found without us.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def _record() -> None:
    how = os.environ.get("FANWISE_RECORD")
    if how:
        from fanwise_child.recorder import install  # type: ignore[import-not-found]

        install(how)


def _hand_on() -> None:
    others = [each for each in sys.path if os.path.abspath(each) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _record()
    _hand_on()
