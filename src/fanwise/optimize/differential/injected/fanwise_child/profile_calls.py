"""Profiles a program, function by function: for `--hot`.

Time in a call to code that is not the project's (built-in or a library's) is counted for the
caller: a faster version of the caller could avoid that call. Time in another function of the
project is that function's own.
"""

from __future__ import annotations

import atexit
import cProfile
import json
import os
from typing import Any

_root = _folder = ""


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


def install(how: str) -> None:
    """Profile from now on, and write what was seen at the end. `how` is JSON."""
    global _root, _folder
    asked = json.loads(how)
    _root, _folder = asked["root"], asked["folder"]
    profile = cProfile.Profile()
    atexit.register(_write, profile, os.getpid())
    profile.enable()
