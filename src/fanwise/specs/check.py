"""Checks a document against a model: returns the model, or raises a `BadSpec` with all problems.

pydantic's errors expose its internals: paths contain names of union members, and one wrong value
gives an error for each member. Here paths are mapped back to the file, and of several errors on
the way to one value only the deepest is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fanwise.errors import BadSpec, FanwiseError, Problem
from fanwise.specs.document import Document, FieldPath
from fanwise.specs.nearest import did_you_mean

M = TypeVar("M", bound=BaseModel)
Error = Mapping[str, Any]
ABSENT = object()


def check(
    document: Document,
    kind: type[M],
    *at: str | int,
    on_unknown: Callable[[Problem], None] | None = None,
) -> M:
    """The document, or the value `at` a place in it, as a model. `BadSpec`.

    `on_unknown` is called with unknown keys, which are then ignored; without it they are errors.
    """
    data = document.value(at)
    while True:
        context: dict[str, Any] = {"known": {}, "document": document}
        try:
            return kind.model_validate(data, context=context)
        except ValidationError as error:
            found: list[Any] = error.errors(include_url=False)
        unknown = [each for each in found if each["type"] == "extra_forbidden"]
        relevant = unknown if on_unknown is not None and unknown else found
        wrong = BadSpec(document.name, _problems(document, at, relevant, context["known"]))
        if on_unknown is None or not unknown:
            raise wrong
        for problem in wrong.problems:
            on_unknown(problem)
        for path in {_path(data, each) for each in unknown}:
            data = _without(data, path)


def _without(data: Any, path: FieldPath) -> Any:
    """A copy without one key; everything off its path is shared."""
    if len(path) == 1:
        return {key: value for key, value in data.items() if key != path[0]}
    copied = data.copy()
    copied[path[0]] = _without(data[path[0]], path[1:])
    return copied


def _problems(
    document: Document, at: FieldPath, errors: list[Any], known: Mapping[int, set[str]]
) -> list[Problem]:
    placed: dict[FieldPath, list[Error]] = {}
    for error in errors:
        path = at + _path(document.value(at), error)
        placed.setdefault(path, []).append(error)
    return [
        document.problem(path, message, key=_about_key(here[0]))
        for path, here in placed.items()
        if not _better_below(path, here, placed)
        for message in _messages(document, path, here, known)
    ]


# -- the path ------------------------------------------------------------------------------------


def _path(data: Any, error: Error) -> FieldPath:
    """The parts of its `loc` that are in the data; the others are pydantic's own.

    The name of a union member may also be a key. So the path that leads to the value of the error
    is preferred; if there is none (it may have been converted), the first path that exists.
    """
    missing = error["type"] == "missing"
    for same in (True, False):
        for drop in range(len(error["loc"]) + 1):
            for path in _shorter(error["loc"], drop):
                if _fits(data, path, missing, error["input"] if same else ABSENT):
                    return path
    return ()


def _shorter(loc: tuple[Any, ...], drop: int) -> Iterator[FieldPath]:
    """`loc` without `drop` of its parts, earlier ones first."""
    if drop == 0:
        yield loc
        return
    for first in range(len(loc) - drop + 1):
        for rest in _shorter(loc[first + 1 :], drop - 1):
            yield (*loc[:first], *rest)


def _fits(data: Any, path: FieldPath, missing: bool, value: Any) -> bool:
    """Whether `value` is at the path (ABSENT: anything); if `missing`, whether its mapping is."""
    for part in path[:-1] if missing else path:
        data = _step(data, part)
    if data is ABSENT or (value is not ABSENT and data is not value):
        return False
    return not missing or (isinstance(data, dict) and path[-1:] != () and path[-1] not in data)


def _step(data: Any, part: Any) -> Any:
    try:
        return data[part] if isinstance(data, dict | list) else ABSENT
    except (LookupError, TypeError):
        return ABSENT


# -- the words -----------------------------------------------------------------------------------


def _about_key(error: Error) -> bool:
    return bool(error["type"] == "extra_forbidden" or error["loc"][-1:] == ("[key]",))


def _better_below(path: FieldPath, here: list[Error], placed: Mapping[FieldPath, Any]) -> bool:
    """Whether the errors here only say that the value is none of the other types it could be."""
    kinds = all(error["type"].endswith("_type") for error in here)
    return kinds and any(other != path and other[: len(path)] == path for other in placed)


def _messages(
    document: Document, path: FieldPath, here: list[Error], known: Mapping[int, set[str]]
) -> Iterator[str]:
    wanted: list[str] = []
    deeper = [error for error in here if not error["type"].endswith("_type")]
    for error in deeper or here:
        message = _message(document, path, error, known)
        if message.startswith("must be "):
            wanted.append(message.removeprefix("must be "))
        else:
            yield message
    if wanted:
        yield f"must be {' or '.join(dict.fromkeys(wanted))}, not {shown(here[0]['input'])}"


def _message(
    document: Document, path: FieldPath, error: Error, known: Mapping[int, set[str]]
) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        names = known.get(id(document.value(path[:-1])), set())
        return f"is not known here{did_you_mean(str(path[-1]), names)}"
    if kind in WANTED:
        return f"must be {WANTED[kind]}".format(**{k: _number(v) for k, v in context.items()})
    if kind == "literal_error":
        return f"must be {context['expected'].replace(chr(39), '`')}"
    if kind == "value_error" and isinstance(context.get("error"), Exception):
        return in_words(context["error"])
    message: str = error["msg"].replace("Input should be ", "must be ")
    return message[:1].lower() + message[1:]


WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "nothing",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "too_short": "at least {min_length} entries long",
    "too_long": "at most {max_length} entries long",
}


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def in_words(error: Exception) -> str:
    """An error as part of a message: what is wrong, and what to do."""
    if isinstance(error, FanwiseError) and error.next_step:
        return f"{error.message}. {error.next_step}"
    return str(error)


def shown(value: object) -> str:
    """A value for a message: short, and as in the file rather than in Python."""
    words = {None: "nothing", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, dict | list | tuple):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind} of {len(value)}" if value else f"an empty {kind}"
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
