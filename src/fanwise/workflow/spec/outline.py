"""Which steps a file has, and what is around each: as far as its data alone can tell.

For looking at a run, which must work without the project's own types of steps, and whatever the
rules for files have become since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NESTED = ("steps", "then", "else", "default", "step", "cases", "on_failure")
"""Fields that contain steps."""


class Outline:
    """The steps of a run's files, by their ids."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        data = spec["data"]
        self.top = [step["id"] for step in (*data["steps"], *data.get("on_end", ()))]
        self._types: dict[str, str] = {}
        self._around: dict[str, str] = {}
        for file in (spec, *spec.get("files", {}).values()):
            tops = [*(file["data"].get("steps") or ()), *(file["data"].get("on_end") or ())]
            for step, around in _steps(tops, ""):
                # Two files may have the same id: the first is the one that was run.
                self._types.setdefault(step["id"], str(step.get("type", "command")))
                self._around.setdefault(step["id"], around)

    def type(self, path: str) -> str:
        """The type of the step at that path."""
        return self._types.get(_split(path)[1], "")

    def around(self, path: str) -> str:
        """The path of the step around the one at that path; empty: none."""
        base, step, number = _split(path)
        around = self._around.get(step, "")
        # A fan-out, an item of it, an iteration and a file are in the path; all else is beside it.
        if not around or around in (base[-1:] or [""]) + (base[-2:-1] if _numbered(base) else []):
            return ":".join(base)
        return ":".join([*base, around, *number])


def _steps(given: Any, around: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(given, list):
        for each in given:
            yield from _steps(each, around)
    elif isinstance(given, dict) and isinstance(given.get("id"), str):
        yield given, around
        for key in NESTED:
            yield from _steps(given.get(key), given["id"])
    elif isinstance(given, dict):  # the cases of a switch
        for each in given.values():
            yield from _steps(each, around)


def _split(path: str) -> tuple[list[str], str, list[str]]:
    """What stands before the id of the step, the id, and the number behind it."""
    parts = path.split(":")
    number = [parts.pop()] if _numbered(parts) else []
    return parts[:-1], parts[-1], number


def _numbered(parts: list[str]) -> bool:
    return len(parts) > 1 and parts[-1].isdecimal()
