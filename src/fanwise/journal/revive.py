"""Restore recorded errors, so that `except` and `isinstance` work as in the first execution.

Only built-in exceptions and fanwise's own errors are restored. A name in a journal never causes an
import, and only built-in constructors are called. An error of any other class becomes a
`RecordedError` that is also an instance of its known base classes: what was a
`json.JSONDecodeError` is still a `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from fanwise.errors import FanwiseError, RecordedError
from fanwise.journal.codec import GROUP, KNOWN, MOST_TEXT, Recorded, encode_error, recorded_error


def revive_error(text: str) -> Exception:
    """A stored error, as an instance of its own class if that is known."""
    try:
        return _revive(recorded_error(text))
    except Exception:  # fanwise did not write this
        return RecordedError("unknown error", text[:MOST_TEXT])


class _Told:
    """An error whose text was recorded instead of being made from its arguments."""

    _recorded_text: str

    def __str__(self) -> str:
        return self._recorded_text

    def __reduce__(self) -> tuple[Any, ...]:
        return revive_error, (encode_error(self),)  # type: ignore[arg-type]


@lru_cache(128)
def _told_class(bases: tuple[type[Exception], ...]) -> Any:
    """A class with these bases, named after the first one."""
    first = bases[0]
    return type(first.__name__, (_Told, *bases), {"__module__": first.__module__})


def _revive(recorded: Recorded) -> Exception:
    kind = KNOWN.get(recorded.type)
    if recorded.type == GROUP and recorded.members:
        error = _group(recorded)
    elif kind is None:
        error = _unknown(recorded)
    elif issubclass(kind, FanwiseError):
        error = _own(kind, recorded)
    else:
        error = _built_in(kind, recorded)
    for note in recorded.notes:
        error.add_note(note)
    if recorded.cause is not None:
        error.__cause__ = _revive(recorded.cause)
    return error


def _unknown(recorded: Recorded) -> Exception:
    error: Exception = RecordedError(recorded.type, recorded.text, recorded.fields)
    own = dict(vars(error))
    bases = [KNOWN[name] for name in recorded.bases if name in KNOWN]
    if bases:
        error = _bare(_told_class((RecordedError, *bases)), str(error))
    _give_fields(error, recorded)
    error.__dict__.update(own)
    return error


def _own(kind: type[FanwiseError], recorded: Recorded) -> Exception:
    """An error of ours. Fields that JSON cannot hold are None."""
    error = kind.__new__(kind, recorded.text)
    error.args = (recorded.text,)
    _give_fields(error, recorded)
    error.next_step = str(recorded.fields.get("next_step", ""))
    error.message = recorded.text.removesuffix(f". {error.next_step}")
    return error


def _built_in(kind: type[Exception], recorded: Recorded) -> Exception:
    for args in _possible_arguments(recorded):
        with suppress(Exception):
            error = kind(*args)
            if str(error) == recorded.text:
                _give_fields(error, recorded)
                return error
    error = _bare(_told_class((kind,)), recorded.text)
    _give_fields(error, recorded)
    return error


def _group(recorded: Recorded) -> Exception:
    members = [_revive(member) for member in recorded.members]
    message = str(recorded.args[0]) if recorded.args else recorded.text
    error = ExceptionGroup(message, members)
    if str(error) == recorded.text:
        return error
    told: ExceptionGroup[Exception] = _told_class((ExceptionGroup,))(message, members)
    told.__dict__["_recorded_text"] = recorded.text  # it had more members than were recorded
    return told


def _possible_arguments(recorded: Recorded) -> Iterator[list[Any]]:
    if recorded.args is not None:
        yield recorded.args
        yield [_tuples(arg) for arg in recorded.args]
    yield [recorded.text]


def _tuples(value: Any) -> Any:
    """The value with tuples for lists: JSON has no tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _bare(kind: type[Exception], told: str) -> Exception:
    """An error with this text, made without calling the constructor."""
    error = kind.__new__(kind, told)
    error.args = (told,)
    error.__dict__["_recorded_text"] = told
    return error


def _give_fields(error: Exception, recorded: Recorded) -> None:
    for name, value in recorded.fields.items():
        if not name.startswith("_") and not hasattr(BaseException, name):
            with suppress(Exception):
                setattr(error, name, value)
