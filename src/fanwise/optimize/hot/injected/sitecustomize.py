"""Python imports a module of this name at its start: it profiles the program.

Runs in the user's interpreter and imports the standard library alone. Time in a call to code that
is not the project's (built-in or a library's) is counted for the caller: a faster version of the
caller could avoid that call. Time in another function of the project is that function's own.
"""

from __future__ import annotations

import atexit
import cProfile
import json
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
_root, _folder = os.environ.get("FANWISE_HOT_ROOT", ""), os.environ.get("FANWISE_HOT_FOLDER", "")


def _place(code: Any) -> tuple[str, str] | None:
    """The file and the function that time is counted for; None: it is not the project's."""
    name = getattr(code, "co_filename", "")
    if not name.startswith(_root + os.sep):
        return None
    function = getattr(code, "co_qualname", code.co_name).split(".<locals>")[0]
    return os.path.relpath(name, _root), function


def _write(profile: Any, pid: int) -> None:
    if os.getpid() != pid:
        return
    profile.disable()
    found: dict[tuple[str, str], list[float]] = {}
    for entry in profile.getstats():
        place = _place(entry.code)
        if place is None:
            continue
        others = [call for call in entry.calls or () if _place(call.code) is None]
        row = found.setdefault(place, [0, 0.0])
        row[0] += entry.callcount
        row[1] += entry.inlinetime + sum(call.totaltime for call in others)
    rows = [[*place, *row] for place, row in found.items()]
    with open(os.path.join(_folder, f"{pid}.json"), "w") as file:  # noqa: PTH118, PTH123
        json.dump(rows, file)


def _start() -> None:
    profile = cProfile.Profile()
    atexit.register(_write, profile, os.getpid())
    profile.enable()


def _hand_on() -> None:
    others = [each for each in sys.path if os.path.abspath(each) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _hand_on()
    if _root and _folder:
        _start()
