"""A program: makes the calls of a benchmark once with line_profiler on the target, and tells lines.

line_profiler is the one package that is needed here beside the standard library, and only here.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

from .find_function import find
from .timing import TimedCalls, _exhausting, _function, _load

_PASSES = 20


def main() -> None:
    how = json.loads(sys.stdin.read())
    word = how.pop("word")
    told = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        answer = _profiled(how)
    except BaseException as error:
        answer = {"problem": f"{type(error).__name__}: {error}"[:2000]}
    with open(told, "w") as file:  # noqa: PTH123 - a number
        file.write(word + json.dumps(answer) + "\n")


def _profiled(how: dict[str, Any]) -> dict[str, Any]:
    try:
        from line_profiler import LineProfiler
    except ImportError:
        return {"missing": sys.executable}
    target = find(how["target"])
    recorded = "calls" in how
    function, _ = _function({**how, "recorded": recorded})
    lines = Path(how["calls"]).read_text().splitlines() if recorded else ["null"]
    subject = TimedCalls(function, [json.loads(line) for line in lines], _load)
    raw = getattr(target.raw, "__func__", target.raw)
    profiler = LineProfiler()
    profiler.add_function(raw if isinstance(raw, FunctionType) else target.own)
    subject.exhaust = _exhausting
    everything = list(range(subject.size))
    for function, args, kwargs in subject.direct(everything, _PASSES if recorded else 1):
        profiler.enable_by_count()
        try:
            function(*args, **kwargs)
        except Exception:
            pass
        finally:
            profiler.disable_by_count()
    stats = profiler.get_stats()
    timed = [list(line) for found in stats.timings.values() for line in found]
    return {"lines": timed, "unit": stats.unit}


if __name__ == "__main__":
    main()
