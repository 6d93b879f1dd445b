"""The text of a test while it is written: calls in order, and what they need."""

from __future__ import annotations

import inspect
import re
from typing import Any

from . import call_scripts
from .argument_kinds import StreamArgument
from .find_function import TargetFunction
from .value_source import SourceWriter, is_mutable

PAD = "    "
TAKEN = "#taken"
"""As the first line of an end: the streams of the test shall write down what is read of them."""
_STREAM = re.compile(r"^(\w+) = \(each for each in (.*)\)$")
_READING = (
    "def reading(items, taken):\n    for each in items:\n"
    '        taken.append(each)\n        yield each\n    taken.append("the end")'
)


class TestText:
    """Lines of a test; `writer` has the imports and helpers that they need."""

    def __init__(self, found: TargetFunction) -> None:
        self.found = found
        self.writer = SourceWriter()
        self.lines: list[str] = []
        self.calls: list[str] = []
        """Each call on one line, for people."""

    def call(
        self, args: list[Any], kwargs: dict[str, Any], *, named: bool = False, suffix: str = ""
    ) -> str:
        """The source of a call; with `named`, what can change is given a name before it."""
        writer = self.writer
        writer.share(*args, *kwargs.values())
        start = len(writer.lines)
        parts = [self._argument(each, f"arg_{i}{suffix}", named) for i, each in enumerate(args)]
        keys = [
            f"{name}={self._argument(each, f'{name}_given{suffix}', named)}"
            for name, each in kwargs.items()
        ]
        self.lines += writer.lines[start:]
        return self._call_text(parts, keys)

    def tell(self, args: list[Any], kwargs: dict[str, Any], before: str = "") -> None:
        """Add a call to the readable list."""
        writer = SourceWriter()
        parts = [writer.text(each) for each in args]
        keys = [f"{name}={writer.text(each)}" for name, each in kwargs.items()]
        self.calls.append(before + self._call_text(parts, keys))

    def names(self, args: list[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        """The arguments that can change, each with the name that `call` gave it."""
        given = [each for each in [*args, *kwargs.values()] if is_mutable(each)]
        return [
            (self.writer.text(each), each) for each in given if not isinstance(each, StreamArgument)
        ]

    def help(self, name: str) -> None:
        """Copy a helper of `call_scripts` into the test."""
        text = inspect.getsource(getattr(call_scripts, name))
        plain = re.sub(r'\n    """.*?"""', "", text, flags=re.S)
        plain = plain.replace("SPOILT", repr(call_scripts.SPOILT))
        self.writer.helpers[name] = re.sub(r": (Any|int)|\s*-> None", "", plain).rstrip()

    def whole(self, end: list[str]) -> str:
        """The whole test file, with these lines at its end."""
        lines = list(self.lines)
        if end[:1] == [TAKEN]:
            end = end[1:]
            lines = [
                "taken = []",
                *(_STREAM.sub(r"\1 = reading(\2, taken)", each) for each in lines),
            ]
            self.writer.helpers["reading"] = _READING
        text = "\n".join([*lines, *end])
        case = [f"def test_{self._name()}_does_what_it_did():"]
        case += [PAD + each for each in text.splitlines()]
        parts = ["\n".join(self._head(text)), *self._helpers(text), "\n".join(case)]
        return "\n\n\n".join(parts) + "\n"

    def _head(self, text: str) -> list[str]:
        everything = text + "".join(self._helpers(text))
        needed = sorted(self.writer.imports)
        head = [each for each in needed if re.search(rf"\b{each.split()[-1]}\b", everything)]
        return [*head, f"from {self.found.module.__name__} import {self._top()}"]

    def _helpers(self, text: str) -> list[str]:
        return [each for name, each in self.writer.helpers.items() if f"{name}(" in text]

    def _top(self) -> str:
        if inspect.isclass(self.found.owner):
            return self.found.owner.__qualname__.partition(".")[0]
        return self.found.name

    def _name(self) -> str:
        return re.sub(r"\W+", "_", self.found.name.lower()).strip("_") or "it"

    def _argument(self, value: Any, name: str, named: bool) -> str:
        text = self.writer.text(value)
        if not named or not is_mutable(value) or text.isidentifier():
            return text
        self.writer.lines.append(f"{name} = {text}")
        if not isinstance(value, StreamArgument):
            self.writer.name(value, name)
        return name

    def _call_text(self, parts: list[str], keys: list[str]) -> str:
        found = self.found
        if inspect.isclass(found.owner) and not isinstance(found.raw, staticmethod) and parts:
            owner, *rest = parts
            return f"{owner}.{found.name}({', '.join([*rest, *keys])})"
        name = found.name
        if inspect.isclass(found.owner):
            name = f"{found.owner.__qualname__}.{name}"
        return f"{name}({', '.join([*parts, *keys])})"
