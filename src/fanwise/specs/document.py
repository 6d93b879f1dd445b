"""A file as plain data, with the position of every value."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fanwise.errors import BadSpec, FanwiseError, Problem

T = TypeVar("T")


class Document:
    """What `read` returns. `data` is plain, and must not be changed."""

    def __init__(
        self,
        name: str,
        folder: Path,
        data: dict[str, Any],
        text: str = "",
        places: Place | None = None,
        objects: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        """The name of the file, as it was given."""
        self.folder = folder
        """An absolute path; paths in the file are relative to it."""
        self.data = data
        self.objects = dict(objects or {})
        """What a program gave by a name that the data has: a model that it made itself."""
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self._text = text
        self._places = places

    @staticmethod
    def of_program(
        name: str,
        folder: str | os.PathLike[str],
        data: dict[str, Any],
        objects: Mapping[str, Any] | None = None,
    ) -> Document:
        """What a program gave instead of a file. `name`: what it called."""
        return Document(name, Path(folder).absolute(), data, objects=objects)

    def with_field(self, section: str, name: str, value: Any) -> Document:
        """The same document with another value in one of its sections. `BadSpec`."""
        fields = self.data[section]
        if not isinstance(fields, dict):
            raise self.at(section).bad(f"{name} needs a mapping to be in")
        data = {**self.data, section: {**fields, name: value}}
        return Document(self.name, self.folder, data, self._text, self._places, self.objects)

    def __repr__(self) -> str:
        return f"<Document {self.name}: {', '.join(self.data)}>"

    def at(self, *path: str | int) -> Where:
        """The place of a value, for errors about it."""
        return Where(self, path)

    def value(self, path: FieldPath) -> Any:
        """The value at `path`; `LookupError`."""
        found: Any = self.data
        for part in path:
            found = found[part]
        return found

    def problem(self, path: FieldPath, message: str, *, key: bool = False) -> Problem:
        """A problem with the value at `path`, or with its key."""
        line, column = self.position(path, key=key)
        return Problem(line, column, field(path), message)

    def position(self, path: FieldPath, *, key: bool = False) -> tuple[int | None, int | None]:
        """Line and column of a value; (None, None) when the file itself is gone."""
        if self._places is None:
            return None, None
        return line_and_column(self._text, find(self._places, path, key=key))

    def begins_below(self, path: FieldPath) -> bool:
        """Whether the value is a block of lines (`|`), that begins on the line below its place."""
        return self._places is not None and self._text[find(self._places, path)] == "|"

    # -- for a resume -----------------------------------------------------------------------------

    def keep(self) -> dict[str, Any]:
        """The document as plain data, so that a resume does not need the file."""
        return {"file": self.name, "folder": str(self.folder), "data": self.data}

    @staticmethod
    def again(kept: Mapping[str, Any]) -> Document:
        """What `keep` gave; without lines and columns, for the file may have changed."""
        return Document(kept["file"], Path(kept["folder"]), kept["data"])


class Where:
    """A place in a document, for errors about what is there."""

    def __init__(self, document: Document, path: FieldPath) -> None:
        self.document = document
        self.path = path

    def at(self, *path: str | int) -> Where:
        """A place inside it."""
        return Where(self.document, self.path + path)

    @property
    def field(self) -> str:
        """The place as text: `sample.requirements[2].check`."""
        return field(self.path)

    def bad(self, message: str, *, line: int | None = None) -> BadSpec:
        """An error at this place; `line`: the line within a multi-line text, from 1."""
        problem = self.document.problem(self.path, message)
        if line is not None and problem.line is not None and self.document.begins_below(self.path):
            problem = problem._replace(line=problem.line + line, column=None)
        return BadSpec(self.document.name, [problem])

    def making(self, make: Callable[[], T]) -> T:
        """Make something of what stands here. What is wrong with it is said with the place."""
        try:
            return make()
        except BadSpec:
            raise
        except FanwiseError as error:
            raise self.bad(str(error)) from error


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both counted from 1."""
    line = text.count("\n", 0, offset)
    return line + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


FieldPath = tuple[str | int, ...]
"""From the top of a file to a value in it: `("sample", "requirements", 2)`."""


class Branch:
    """The position of a mapping or list, and of everything in it: offsets into the text.

    Positions are kept apart from the values, which stay plain dicts, lists and scalars, so that any
    library accepts them. Line and column are computed when an error needs them.
    """

    __slots__ = ("at", "inside", "keys")

    def __init__(self, at: int, inside: dict[str, Place] | list[Place]) -> None:
        self.at = at
        self.inside: Any = inside
        self.keys: dict[str, int] = {}
        """The positions of the keys, if it is a mapping."""


Place = int | Branch


def offset(place: Place) -> int:
    """The offset at which it begins."""
    return place if isinstance(place, int) else place.at


def find(place: Place, path: Sequence[str | int], *, key: bool = False) -> int:
    """The offset of the value at `path`, or of its nearest parent that exists.

    `key`: the offset of its key instead.
    """
    for number, part in enumerate(path):
        if not isinstance(place, Branch) or not _has(place.inside, part):
            break
        if key and number == len(path) - 1 and isinstance(part, str):
            return place.keys[part]
        place = place.inside[part]
    return offset(place)


def _has(inside: dict[str, Place] | list[Place], part: str | int) -> bool:
    if isinstance(inside, dict):
        return part in inside
    return isinstance(part, int) and 0 <= part < len(inside)


def field(path: Sequence[str | int]) -> str:
    """A path as people write it: `sample.requirements[2].check`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
