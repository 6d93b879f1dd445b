from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import UsageError
from fanwise.plan.work.captured_output import mask_secrets
from fanwise.plan.work.words import VERIFY, WORK, check_line, fill, places_in
from tests.profiles import examples

ODD = st.text(st.sampled_from(list("ab $\"'`\\;|&(){}*\n-é")), min_size=1, max_size=8)


def words(line: str, **values: str | list[str]) -> list[str]:
    """What a program sees of the line, by a real shell."""
    text, given_values = fill(line, values)
    done = subprocess.run(
        ["/bin/sh", "-c", text, "sh", *given_values], capture_output=True, check=True
    )
    return done.stdout.decode().split("\0")[:-1]


SHOW = "printf '%s\\0'"


@examples(0.25)
@given(files=st.lists(ODD, min_size=1, max_size=3), goal=ODD)
def test_values_are_words_whatever_they_contain(files: list[str], goal: str) -> None:
    line = f"{SHOW} {{files}} {{goal}} \"{{goal}}\" '{{goal}}' --goal={{goal}}"

    assert words(line, files=files, goal=goal) == [*files, goal, goal, goal, f"--goal={goal}"]


def test_a_list_of_words_that_became_a_line_has_its_files_as_words() -> None:
    line = shlex.join(["printf", "%s\\0", "{files}", "--goal", "{goal}"])

    assert words(line, files=["a b", "c"], goal="x y") == ["a b", "c", "--goal", "x y"]


def test_other_braces_stay() -> None:
    line = f"files=mine; {SHOW} ${{files}} '{{other}}' {{}}"

    assert words(line, files=["a"]) == ["mine", "{other}", "{}"]


def test_which_names_a_line_has() -> None:
    assert places_in("pytest -q {tests} ${files}", VERIFY) == {"tests"}


@pytest.mark.parametrize(
    "line", ["echo $(( {id} + 1 ))", "echo 'a\0b'", "cat <<'X'\n{prompt}\nX\n"]
)
def test_a_place_where_no_value_can_stand_is_refused_before_anything_runs(line: str) -> None:
    with pytest.raises(UsageError):
        check_line(line, WORK)


def test_secrets_are_known_by_the_names_of_their_variables() -> None:
    variables = {
        "OPENAI_API_KEY": "sk-1234567890", "DB_PASSWORD": "hunter22", "MY_TOKEN": "tok-abcdef",
        "PWD": "/home/me/project", "HOME": "/home/me", "SHORT_KEY": "abc", "KEYBOARD": "us-intl",
    }  # fmt: skip
    text = " ".join(variables.values())

    assert mask_secrets(text, variables) == "••• ••• ••• /home/me/project /home/me abc us-intl"


def test_a_secret_that_is_a_part_of_another_leaves_nothing_of_it() -> None:
    assert mask_secrets("abcdef-ghijkl", {"A_TOKEN": "abcdef", "B_TOKEN": "abcdef-ghijkl"}) == "•••"
