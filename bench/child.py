"""One measurement in a process of its own.

What ran before leaves its mark on a process: a heap of 100,000 dead tasks slows the next
contender's garbage collections and hides its memory. So each measurement starts from nothing:
`python -m bench.child MODULE FUNCTION [VALUE …]` calls the function and prints what it returned
(seconds, usually), how much memory the process gained by it at most, and its peak.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
from pathlib import Path


def main() -> None:
    module, function, *values = sys.argv[1:]
    work = getattr(importlib.import_module(module), function)
    before = _peak_kb()
    answer = work(*(int(value) if value.isdigit() else value for value in values))
    peak = _peak_kb()
    found = {"answer": answer, "grew_mb": (peak - before) / 1024, "peak_mb": peak / 1024}
    print(json.dumps(found))


def _peak_kb() -> int:
    """The most memory that was resident.

    Not `ru_maxrss` where it can be avoided: Linux lets a child inherit its parent's.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // 1024 if sys.platform == "darwin" else peak
    return int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main()
