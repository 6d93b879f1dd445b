"""The root of the tree, and how an error is told in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FanwiseError(Exception):
    """The root of the tree."""

    def __init__(self, message: str, next_step: str = "") -> None:
        self.message = message
        self.next_step = next_step
        super().__init__(f"{message}. {next_step}" if next_step else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(
    cls: type[FanwiseError], args: tuple[Any, ...], fields: dict[str, Any]
) -> FanwiseError:
    """Let errors travel between processes although their constructors differ."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class UsageError(FanwiseError, ValueError):
    """What the caller gave cannot work.

    Arguments are checked before anything is run or written; what `key`, `needs` or a predicate
    says of an item, when that item comes: then everything in flight is ended first.
    """


class RecordedError(FanwiseError):
    """An error read back from the journal whose class is not known there: yours, or a library's.

    `type_name` names the class; `text` and `fields` remain, the latter as attributes too, where
    the names are free. It is an instance of the built-in
    exceptions and errors of fanwise that its class derived from. Errors of those classes
    themselves come back as what they were.
    """

    def __init__(self, type_name: str, text: str, fields: dict[str, Any] | None = None) -> None:
        self.type_name = type_name
        self.text = text
        self.fields = fields or {}
        super().__init__(f"{type_name}: {text}" if text else type_name)


def fields_of(error: BaseException) -> Mapping[str, Any]:
    """The fields of an error that was just raised, or of one that was read back."""
    return error.fields if isinstance(error, RecordedError) else vars(error)


def full_name(cls: type) -> str:
    """The name by which a class can be imported; of ours, not the file that it is written in."""
    ours = cls.__module__.startswith("fanwise.errors.")
    return f"{'fanwise.errors' if ours else cls.__module__}.{cls.__qualname__}"


def one_line(error: BaseException) -> str:
    """Kind and text, the same for an error that was just raised as for one that was read back.

    Of a group, what is in it, each once.
    """
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(one_line(each) for each in error.exceptions))
    if isinstance(error, RecordedError):
        kind, text = error.type_name.rpartition(".")[2], error.text
    else:
        kind, text = type(error).__name__, str(error)
    return " ".join(f"{kind}: {text}".split()) if text else kind
