from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import CommandFailed
from fanwise.processes import Capture, CommandResult, require_success

captures = st.builds(
    Capture,
    data=st.one_of(st.binary(), st.text().map(str.encode)),
    size=st.integers(0, 2**60),
    truncated=st.booleans(),
    path=st.none() | st.binary(min_size=1).map(lambda b: b.decode("utf-8", "surrogateescape")),
)
results = st.builds(
    CommandResult,
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    timed_out=st.booleans(),
    left_behind=st.booleans(),
    stdout=captures,
    stderr=captures,
)


@given(result=results)
def test_a_result_survives_json_to_the_byte(result: CommandResult) -> None:
    stored = json.dumps(result.to_json(), ensure_ascii=False).encode("utf-8")
    assert CommandResult.from_json(json.loads(stored)) == result


def test_text_is_stored_as_text() -> None:
    assert Capture(data="grün".encode(), size=5).to_json() == {"data": "grün", "size": 5}


def test_output_that_is_not_utf8_has_a_readable_text() -> None:
    assert Capture(data=b"a\xffb", size=3).text == "a\ufffdb"


@pytest.mark.parametrize(
    ("result", "summary"),
    [
        (CommandResult(3), "exited with code 3"),
        (CommandResult(None, signal=9), "killed by SIGKILL"),
        (CommandResult(None, signal=63), "killed by signal 63"),
        (CommandResult(None, signal=15, timed_out=True), "timed out"),
        (CommandResult(0, timed_out=True), "timed out"),
        (CommandResult(None), "exit code was taken"),
        (CommandResult(1, stderr=Capture(b"first\nthe cause\n\n", 17)), "code 1: the cause"),
    ],
)
def test_a_failure_says_in_one_line_how_it_ended(result: CommandResult, summary: str) -> None:
    with pytest.raises(CommandFailed, match=summary) as caught:
        require_success(result)
    assert caught.value.result is result
    assert "\n" not in str(caught.value)


def test_success_is_exit_code_0_in_time() -> None:
    result = CommandResult(0, left_behind=True)
    assert require_success(result) is result
