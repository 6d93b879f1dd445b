"""Recorded errors are what they were: for `except`, for `isinstance`, for their fields."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import (
    AttemptTimeout,
    BudgetExceeded,
    CommandFailed,
    FanwiseError,
    ModelRateLimited,
    NestedCap,
    RateLimited,
    RecordedError,
    RunNotFound,
    StepFailed,
    UsageError,
)
from fanwise.journal.codec import KNOWN, encode_error
from fanwise.journal.revive import revive_error


def again(error: BaseException) -> Any:
    return revive_error(encode_error(error))


def raised(function: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


BUILT_IN = [
    ValueError("no"),
    ValueError(),
    ValueError(1, ["a", None]),
    KeyError("name"),
    KeyError(("a", 1)),
    TimeoutError(),
    ConnectionResetError(104, "reset"),
    StopAsyncIteration(3),
    ArithmeticError("x" * 7_000),
    raised(lambda: open("/no/such/file")),  # noqa: PTH123, SIM115
    raised(lambda: __import__("no_such_module")),
    raised(lambda: b"\xff".decode()),
    raised(lambda: "\udcff".encode()),
    raised(lambda: compile("a b", "file.py", "exec")),
    ValueError({1, 2}),
    KeyError(frozenset([1])),
    ValueError(b"bytes"),
]
OURS = [
    RateLimited("slow", retry_after=2.5),
    RateLimited("slow"),
    AttemptTimeout(3),
    BudgetExceeded("usd", 1.0, 0.5, 2.0),
    ModelRateLimited("slow", retry_after=1.0, provider="p", status=429),
    NestedCap("a", ["b"]),
    RunNotFound("r"),
    StepFailed("it failed"),
    UsageError("wrong", "Do it right"),
]


@pytest.mark.parametrize("error", [*BUILT_IN, *OURS], ids=lambda error: type(error).__name__)
def test_a_known_class_comes_back_with_its_text(error: Exception) -> None:
    found = again(error)
    assert isinstance(found, type(error))
    assert not isinstance(found, RecordedError)
    assert type(found).__name__ == type(error).__name__
    assert str(found) == str(error)
    assert str(again(found)) == str(error)
    assert str(pickle.loads(pickle.dumps(found))) == str(error)


@pytest.mark.parametrize("error", OURS, ids=lambda error: type(error).__name__)
def test_errors_of_fanwise_come_back_with_all_their_fields(error: FanwiseError) -> None:
    found = again(error)
    assert type(found) is type(error)
    private = {"_result"}
    assert {k: v for k, v in vars(found).items() if k not in private} == {
        k: v for k, v in vars(error).items() if k not in private
    }
    assert encode_error(found) == encode_error(error)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_known_class_can_be_made_again(name: str) -> None:
    found = revive_error(json.dumps({"type": name, "text": "told", "fields": {"code": 3}}))
    assert isinstance(found, KNOWN[name])
    assert str(found) == "told"
    assert found.code == 3  # type: ignore[attr-defined]
    with pytest.raises(KNOWN[name]):
        raise found


def test_what_built_in_exceptions_know_comes_back() -> None:
    missing = again(raised(lambda: open("/no/such/file")))  # noqa: PTH123, SIM115
    assert isinstance(missing, FileNotFoundError)
    assert (missing.errno, missing.filename) == (2, "/no/such/file")
    assert again(raised(lambda: __import__("no_such_module"))).name == "no_such_module"
    assert again(KeyError(("a", 1))).args == (("a", 1),)


def test_an_unknown_class_stays_a_recorded_error_that_is_what_its_class_derived_from() -> None:
    class Mine(ValueError, LookupError):
        def __init__(self) -> None:
            self.code = 7
            super().__init__("mine")

    class Slower(RateLimited):
        pass

    class Unreadable(UnicodeDecodeError):
        pass

    found = again(Mine())
    assert isinstance(found, RecordedError)
    assert found.type_name.endswith("Mine")
    assert (found.text, found.fields, found.code) == ("mine", {"code": 7}, 7)  # type: ignore[attr-defined]
    assert str(found).endswith("Mine: mine")
    assert isinstance(found, ValueError)
    assert isinstance(found, LookupError)
    assert encode_error(found) == encode_error(Mine())
    assert isinstance(pickle.loads(pickle.dumps(found)), LookupError)

    parse = again(raised(lambda: json.loads("{")))
    assert (parse.type_name, parse.lineno) == ("json.decoder.JSONDecodeError", 1)
    assert isinstance(parse, ValueError)
    slower = again(Slower("slow", retry_after=4.0))
    assert isinstance(slower, RecordedError)
    assert isinstance(slower, RateLimited)
    assert slower.retry_after == 4.0
    assert isinstance(again(Unreadable("utf-8", b"x", 0, 1, "no")), UnicodeDecodeError)

    class Plain(Exception):
        def __init__(self) -> None:
            self.code, self.text = 3, "its own"
            super().__init__("plain")

    plain = again(Plain())
    assert type(plain) is RecordedError
    assert (vars(plain)["code"], plain.text, plain.fields["text"]) == (3, "plain", "its own")


def test_a_group_comes_back_with_its_members_and_can_be_split() -> None:
    inner = ExceptionGroup("inner", [KeyError("k")])
    cause = ValueError("why")
    member = AttemptTimeout(3)
    member.__cause__ = cause
    found = again(ExceptionGroup("outer", [OSError(2, "no"), member, inner]))
    assert type(found) is ExceptionGroup
    assert str(found) == "outer (3 sub-exceptions)"
    timeouts, rest = found.split(AttemptTimeout)
    assert timeouts is not None
    assert rest is not None
    assert repr(timeouts.exceptions[0].__cause__) == "ValueError('why')"
    assert rest.subgroup(KeyError) is not None
    many = again(ExceptionGroup("many", [ValueError(str(n)) for n in range(1_000)]))
    assert str(many) == "many (1000 sub-exceptions)"
    assert len(many.exceptions) == 20


def test_groups_in_groups_do_not_fill_the_journal() -> None:
    group: Exception = ValueError("x" * 8_000)
    for _ in range(8):
        group = ExceptionGroup("g", [group] * 30)
    assert len(encode_error(group)) < 200_000
    assert isinstance(again(group), Exception)


def test_notes_and_causes_come_back_with_their_classes() -> None:
    error = ValueError("outer")
    error.add_note("at line 3")
    error.__cause__ = KeyError("inner")
    found = again(error)
    assert found.__notes__ == ["at line 3"]
    assert isinstance(found.__cause__, KeyError)


def test_what_is_no_exception_is_never_made_and_nothing_is_imported() -> None:
    names = [
        "eval", "type", "object", "print", "KeyboardInterrupt", "SystemExit", "BaseException",
        "BaseExceptionGroup", "ExceptionGroup", "GeneratorExit", "os.system", "antigravity.Error",
        "fanwise.errors.full_name", "fanwise.errors.Problem", "fanwise.errors.RecordedError",
        "fanwise.kernel.run.Run", "__main__.Mine", "", "builtins.ValueError",
    ]  # fmt: skip
    before = set(sys.modules)
    for name in names:
        hostile = {"type": name, "text": "x", "args": ["1+1"], "bases": names, "fields": {"a": 1}}
        found = revive_error(json.dumps(hostile))
        assert isinstance(found, RecordedError)
        assert found.type_name == name
    assert set(sys.modules) == before


def test_a_command_keeps_what_is_recorded_of_its_result() -> None:
    found = again(CommandFailed({"exit_code": 7, "thing": object()}, "exit code 7"))
    assert isinstance(found, CommandFailed)
    assert found.result is None or found.result["exit_code"] == 7


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from([*KNOWN, "ExceptionGroup", "x.Y", "__class__", "args", "add_note", "split"])
recorded: st.SearchStrategy[Any] = st.deferred(
    lambda: st.fixed_dictionaries(
        {"type": names},
        optional={
            "text": st.text(),
            "args": st.none() | st.lists(anything, max_size=5),
            "bases": st.lists(names, max_size=3),
            "fields": st.dictionaries(names | st.text(), anything, max_size=3),
            "notes": st.lists(st.text(), max_size=2),
            "cause": recorded,
            "members": st.lists(recorded, max_size=2),
        },
    )
)


@given(recorded | anything)
def test_whatever_a_journal_holds_is_an_error_that_can_be_told(data: Any) -> None:
    found = revive_error(json.dumps(data))
    assert isinstance(found, Exception)
    encode_error(found)
    repr(found)
    with pytest.raises(type(found)):
        raise found
