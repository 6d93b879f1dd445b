"""An answer means one thing, or it is told why it means none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.optimize.propose.answers import MOST, NoCandidate, ReadAnswer, read_answer
from fanwise.optimize.propose.prompt import fenced
from tests.optimize.propose.asks import FAST, PATCH

DOC = f'def find(items):\n    """A fence:\n    ```\n    x\n    ```\n    """\n    return {1}\n'


@pytest.mark.parametrize(
    "text",
    [
        f"Sure!\n```python\n{FAST}```\nIt is faster.",
        f"```\n{FAST}```",
        f"~~~py\n{FAST}~~~",
        f"Now:\n```python\n{FAST}```\nUse it so:\n```python\nprint(find([1]))\n```",
        f"<think>maybe\n```python\n{FAST}```\nor not</think>\n```python\n{FAST}```",
    ],
)
def test_one_block_that_defines_the_target_is_taken_as_it_is(text: str) -> None:
    assert read_answer(text, "find") == ReadAnswer("function", FAST)


def test_a_method_in_its_class_or_indented_as_there_is_taken() -> None:
    for code in (
        "class A:\n    def find(self):\n        return 1\n",
        "    def find(self):\n        return 1\n",
    ):
        assert read_answer(f"```python\n{code}```", "find") == ReadAnswer("function", code)


@pytest.mark.parametrize("text", [PATCH, f"Here:\n```diff\n{PATCH}```", f"Here it is.\n{PATCH}"])
@pytest.mark.parametrize("function", ["find", ""])
def test_a_diff_is_taken_bare_or_in_a_block(text: str, function: str) -> None:
    assert read_answer(text, function) == ReadAnswer("patch", PATCH)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I cannot help with that.", "no code block"),
        (FAST, "no code block"),
        (f"```python\n{FAST}```\nor\n```python\n{FAST}```", "2 of its code blocks define `find`"),
        (f"```diff\n{PATCH}```\n```python\n{FAST}```", "2 of its code blocks"),
        ("```python\ndef find(:\n```", "does not parse"),
        ("```python\ndef other(): ...\ndef third(): ...\n```", "it defines other, third"),
        (f"```python\n{FAST}", "cut off"),
        (f"```python\n{FAST}\0```", "NUL"),
        ("```python\n" + "x" * MOST + "\n```", "characters long"),
        ("```python\n" + "-" * 100_000 + "1\n```", "nested too deeply"),
        ("```python\na" + ".b" * 100_000 + "\n```", "nested too deeply"),
        ("```python\n" + "(" * 1_000 + "\n```", "does not parse"),
    ],
)
def test_what_could_mean_two_things_or_none_is_said(text: str, why: str) -> None:
    with pytest.raises(NoCandidate, match=why):
        read_answer(text, "find")


def test_without_a_target_only_a_diff_is_a_candidate() -> None:
    with pytest.raises(NoCandidate, match="no unified diff"):
        read_answer(f"```python\n{FAST}```", "")
    with pytest.raises(NoCandidate, match="2 of its code blocks are diffs"):
        read_answer(f"```diff\n{PATCH}```\n```diff\n{PATCH}```", "")


def test_a_command_may_print_code_without_a_fence() -> None:
    assert read_answer(FAST, "find", bare=True) == ReadAnswer("function", FAST)
    with pytest.raises(NoCandidate, match="does not define"):
        read_answer("print(1)", "find", bare=True)
    with pytest.raises(NoCandidate, match="empty"):
        read_answer(" \n", "find", bare=True)


def test_a_fence_inside_the_code_needs_a_longer_one_around_it() -> None:
    assert read_answer(fenced(DOC, "python"), "find") == ReadAnswer("function", DOC)


@given(st.text(max_size=200), st.booleans())
def test_any_text_at_all_is_a_candidate_or_a_reason(text: str, bare: bool) -> None:
    with suppress(NoCandidate):
        assert read_answer(text, "find", bare=bare).content.endswith("\n")


@given(st.lists(st.sampled_from(["`", "~", "\n", " ", "x", "```", "```python\n"]), max_size=40))
def test_no_text_gets_out_of_its_fence(pieces: list[str]) -> None:
    text = "".join(pieces)
    lines = fenced(text).split("\n")
    assert lines[0] == lines[-1]
    assert all(lines[0] not in line for line in lines[1:-1])
