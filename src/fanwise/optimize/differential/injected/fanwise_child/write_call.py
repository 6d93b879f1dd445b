"""A program: writes the calls of a plan down as Python source, on one line, for people."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from .find_function import TargetFunction, find
from .pickling import load_call
from .value_source import NoSource, SourceWriter

_AFTER = {
    "again": "twice, with the same arguments",
    "spoilt": "after its first result and arguments were changed",
    "edited": "again, after its arguments were changed",
    "thread": "in two threads",
    "used": "and what comes back is used",
    "fed": "and then of what it returned",
    "inside": "again, while it reads its first stream",
}


def main() -> None:
    how = json.loads(sys.stdin.read())
    rows = [json.loads(line) for line in Path(how["plan"]).read_text().splitlines()]
    out, sys.stdout = sys.stdout, sys.stderr
    found = find(how)
    try:
        told = {"call": "; ".join(write(found, row) for row in rows)}
    except NoSource as missing:
        told = {"call": "", "missing": str(missing)}
    out.write(json.dumps(told) + "\n")


def write(found: TargetFunction, row: dict[str, Any]) -> str:
    """One call, and what is done with it if it is not made just once."""
    args, kwargs = load_call(row)
    after = _AFTER.get(row["script"], "")
    return _text(found, args, kwargs) + (f" ({after})" if after else "")


def _text(found: TargetFunction, args: list[Any], kwargs: dict[str, Any]) -> str:
    writer = SourceWriter()
    parts = [writer.text(each) for each in args]
    keys = [f"{name}={writer.text(each)}" for name, each in kwargs.items()]
    name = found.name
    if inspect.isclass(found.owner):
        owner = found.owner.__qualname__
        if not isinstance(found.raw, staticmethod) and parts:
            owner = parts.pop(0)
        name = f"{owner}.{name}"
    if isinstance(found.raw, property):
        return name
    return f"{name}({', '.join([*parts, *keys])})"


if __name__ == "__main__":
    main()
