"""The root of the tree, and errors as one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FanwiseError(Exception):
    """The base class of every error that fanwise raises.

    `next_step` says what to do about it, and is part of the text.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        self.message = message
        self.next_step = next_step
        end = "" if message.endswith(("?", ".")) else "."
        super().__init__(f"{message}{end} {next_step}" if next_step else message)

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
    """The caller passed something that cannot work.

    Arguments are checked before anything runs or is written. The results of `key`, `needs` and
    predicates are checked item by item; if one is wrong, everything in flight is cancelled first.
    """


class MissingExtra(UsageError):
    """A feature whose packages are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(
            f"{feature} needs packages that are not installed", f"pip install 'fanwise[{extra}]'"
        )


class RecordedError(FanwiseError):
    """An error read back from the journal whose class is yours or a library's.

    `type_name` names the class; `text` and `fields` are kept, and fields are attributes too
    unless a name is taken. It is an instance of the built-in exceptions and fanwise errors that
    its class derived from. Errors of those classes themselves come back unchanged.
    """

    def __init__(self, type_name: str, text: str, fields: dict[str, Any] | None = None) -> None:
        self.type_name = type_name
        self.text = text
        self.fields = fields or {}
        super().__init__(f"{type_name}: {text}" if text else type_name)


def fields_of(error: BaseException) -> Mapping[str, Any]:
    """The fields of an error, whether just raised or read back from a journal."""
    return error.fields if isinstance(error, RecordedError) else vars(error)


def full_name(cls: type) -> str:
    """The name to import a class by; for our errors that is `fanwise.errors.NAME`."""
    ours = cls.__module__.startswith("fanwise.errors.")
    return f"{'fanwise.errors' if ours else cls.__module__}.{cls.__qualname__}"


def one_line(error: BaseException) -> str:
    """Class and text in one line, the same whether just raised or read back from a journal.

    A group becomes its distinct members.
    """
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(one_line(each) for each in error.exceptions))
    if isinstance(error, RecordedError):
        kind, text = error.type_name.rpartition(".")[2], error.text
    else:
        kind, text = type(error).__name__, str(error)
    return " ".join(f"{kind}: {text}".split()) if text else kind
