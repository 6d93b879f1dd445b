"""What travels between the driver and a worker: functions, items, values, errors, as bytes.

Each is packed by itself, so that one that cannot be packed is the error of one item and not of
all that travel with it. Functions go by name where they can be imported, else by value.
"""

from __future__ import annotations

import asyncio
import pickle
import traceback
from itertools import pairwise
from typing import Any, NamedTuple

from fanwise.errors import FanwiseError, NotShippable, one_line
from fanwise.journal.codec import encode_error
from fanwise.journal.revive import revive_error
from fanwise.kernel.sent_calls import beside_files

MOST_CAUSES = 5
MOST_TRACEBACK = 4_000


def pack(thing: Any, what: str) -> bytes:
    """The bytes of a function, an item or a value. `what` names it in a `NotShippable`."""
    try:
        packed = pickle.dumps(thing, protocol=5)
    except Exception:
        return _by_value(thing, what)
    # What a script itself defines has a name that only means something in its own process.
    return _by_value(thing, what) if b"__main__" in packed else packed


def pack_work(work: Any) -> bytes:
    """The bytes of a function or a command; `NotShippable` before anything starts."""
    return _by_value(work, "the work")


def _by_value(thing: Any, what: str) -> bytes:
    # Ray brings cloudpickle with it, and a worker has the same one.
    from ray import cloudpickle

    while beside_files:
        cloudpickle.register_pickle_by_value(beside_files.pop())  # type: ignore[no-untyped-call]
    try:
        packed: bytes = cloudpickle.dumps(thing, protocol=5)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise NotShippable(what, one_line(error)) from error
    return packed


def unpack(packed: bytes, what: str) -> Any:
    """The thing itself. `NotShippable` names the module that is not there."""
    try:
        return pickle.loads(packed)
    except Exception as error:
        raise NotShippable(what, one_line(error)) from error


def pack_error(error: BaseException) -> bytes:
    """An error with its causes. One that cannot be packed goes as the journal would keep it."""
    if isinstance(error, asyncio.CancelledError):
        return pickle.dumps([asyncio.CancelledError()])
    if not isinstance(error, FanwiseError):
        lines = "".join(traceback.format_exception(error))[-MOST_TRACEBACK:]
        error.add_note(f"On the worker:\n{lines}")
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and len(chain) < MOST_CAUSES and each not in chain:
        chain.append(each)
        each = each.__cause__
    return pickle.dumps([_packed_alone(each) for each in chain])


def _packed_alone(error: BaseException) -> bytes | str:
    """Many classes can be packed, and are not what they were, or cannot be made, when unpacked."""
    for form in (error, _Parts(type(error), error.args, dict(vars(error)))):
        try:
            packed = _by_value(form, "the error")
            back = _whole(pickle.loads(packed))
        except Exception:
            continue
        if type(back) is type(error) and str(back) == str(error):
            return packed
    return encode_error(error)


class _Parts(NamedTuple):
    """An error whose constructor takes something else than its `args`."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    fields: dict[str, Any]


def _whole(packed: BaseException | _Parts) -> BaseException:
    if isinstance(packed, BaseException):
        return packed
    error = packed.kind.__new__(packed.kind, *packed.args)
    error.args = packed.args
    error.__dict__.update(packed.fields)
    return error


def unpack_error(packed: bytes) -> BaseException:
    found = [_error(each) for each in pickle.loads(packed)]
    for effect, cause in pairwise(found):
        effect.__cause__ = cause
    return found[0]


def _error(packed: bytes | str | BaseException) -> BaseException:
    if isinstance(packed, BaseException):
        return packed
    if isinstance(packed, str):
        return revive_error(packed)
    try:
        return _whole(pickle.loads(packed))
    except Exception as problem:  # its class is known on the worker only
        return NotShippable("the error", one_line(problem))
