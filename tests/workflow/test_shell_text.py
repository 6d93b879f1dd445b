"""Values in shell lines are data, wherever they stand: real shells, hostile values."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadExpression, UsageError
from fanwise.processes.command import Command
from fanwise.processes.run import run_command
from fanwise.workflow.expressions import Text
from fanwise.workflow.expressions.text import MOST_ARGUMENT
from tests.workflow.support import shell_words

HOSTILE = [
    "plain", "", "two  words", "it's", "$(touch canary)", "`touch canary`", "'; touch canary; '",
    '"; touch canary; "', "a\ntouch canary\nb", "*", "~", "\\", "\\n", "${1}", "$fanwise_2", "EOF",
    "a[$(touch canary)]", "-n", "ü—✓", "# no comment", "))", "}}",
]  # fmt: skip

LINES = [
    "printf %s {{ x }}",
    'printf %s "{{ x }}"',
    "printf %s '{{ x }}'",
    'y={{ x }}; printf %s "$y"',
    'f() { printf %s {{ x }}; }; f other "$1"',
    'set -- a b; printf %s "{{ x }}"',
    'printf %s {{ x }} # {{ x }} isn\'t "closed" here',
    "# {{ x }}\nprintf %s {{ x }}",
    "sh -c 'printf %s \"$1\"' sh {{ x }}",
    'printf %s "$(cat <<EOF\n{{ x }}\nEOF\n)"',
    'printf %s "$(cat <<-EOF\n\t{{ x }}\n\tEOF\n)"',
    "if true; then printf %s {{ x }}; fi",
    'printf %s "$(cat <<EOF\n$(printf %s "{{ x }}")\nEOF\n)"',
    "printf %s \"$(cat <<EOF\n$(printf %s '{{ x }}')\nEOF\n)\"",
    'printf %s "$(cat <<EOF\n$(printf %s {{ x }})\nEOF\n)"',
    'printf %s "$(cat <<EOF\n`printf %s {{ x }}`\nEOF\n)"',
    ': $(( (1 + 2) << (3 - 1) )) "${HOME:-((}"; printf %s {{ x }}',
    ': "$(( 1 + $(echo 2) ))"; printf %s {{ x }}',
    "(: && (printf %s {{ x }}))",
    "((: a); printf %s {{ x }})",
    'unset NO; printf %s "${NO:-{{ x }}}"',
    "[ -n a ] && printf %s {{ x }}",
]


def output(text: str, folder: Path, **roots: Any) -> str:
    command = Command(*shell_words(Text.parse(text), roots), shell=True, cwd=str(folder))
    result = asyncio.run(run_command(command))
    assert result.exit_code == 0, result
    return str(result.stdout.text)


@pytest.mark.parametrize("line", LINES)
def test_a_value_runs_nothing_and_stays_one_word(line: str, tmp_path: Path) -> None:
    for value in HOSTILE:
        wanted = value.rstrip("\n") if "$(cat" in line else value
        assert output(line, tmp_path, x=value) == wanted
    assert list(tmp_path.iterdir()) == []


def test_each_value_goes_to_its_own_place(tmp_path: Path) -> None:
    line = (
        "printf '%s|' {{ a }} \"{{ b }}\" '{{ c }}' # {{ d }}\nprintf '%s' {{ d }} " + "{{ a }}" * 9
    )
    wanted = "1 2|b|c|d" + "1 2" * 9
    assert output(line, tmp_path, a="1 2", b="b", c="c", d="d") == wanted


def test_numbers_and_booleans_are_written_into_the_line(tmp_path: Path) -> None:
    assert shell_words(
        Text.parse("a $(( {{ n }} + 1 )) {{ t }} {{ f }}"), {"n": 3, "t": True, "f": 1.5}
    ) == ("a $(( 3 + 1 )) True 1.5",)
    assert output("printf %s $(( {{ n }} + 1 ))", tmp_path, n=-3) == "-2"


def test_the_author_s_own_parameters_are_none(tmp_path: Path) -> None:
    assert output('printf %s {{ x }}; printf "%s<$1>" $#', tmp_path, x="a") == "a0<>"


def test_raw_is_a_part_of_the_line_and_its_quotes_count(tmp_path: Path) -> None:
    assert output("{{ c | raw }} {{ x }}'", tmp_path, c="printf %s '", x="$HOME") == " $HOME"
    assert output("{{ c | raw }}", tmp_path, c="printf a; printf b") == "ab"


@pytest.mark.parametrize(
    "line",
    [
        "echo $(( {{ x }} ))",
        "(( {{ x }} ))",
        "cat <<'E'\n{{ x }}\nE",
        "cat <<{{ x }}\nx",
        "\\{{ x }}",
        "echo $(( ((1+2)) + {{ x }} ))",
        "echo $(( (1+2)*(3) + {{ x }} ))",
        "echo $(( $(echo 1) + {{ x }} ))",
        "echo $(( $(echo {{ x }}) ))",
        'echo "$(( 1 + $(echo ")") + {{ x }} ))"',
        'echo "$((1<<2 + {{ x }}))"',
        "echo $(( '{{ x }}' ))",
        "echo $[ {{ x }} ]",
        'echo "$[ a[1] + {{ x }} ]"',
        'echo "${a[{{ x }}]}"',
        "echo ${#a[{{ x }}]}",
        "echo ${a:{{ x }}}",
        "echo ${a:1:{{ x }}}",
        "echo ${a[{{ x }}]:1}",
        "a[{{ x }}]=1",
        "[[ {{ x }} -eq 1 ]]",
        "if [[ -n $b && 1 -lt {{ x }} ]]; then :; fi",
        "[[ -v {{ x }} ]]",
        "cat <<E\n$(( {{ x }} ))\nE",
        "cat <<E\n\\{{ x }}\nE",
    ],
)
def test_where_no_value_can_stand_it_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="a value stands inside"):
        shell_words(Text.parse(line), {"x": "text"})


def test_nothing_to_fill_is_the_line_itself() -> None:
    assert shell_words(Text.parse("echo $1 {} '"), {}) == ("echo $1 {} '",)


def test_what_cannot_be_computed_is_an_error_here_too() -> None:
    with pytest.raises(BadExpression):
        shell_words(Text.parse("echo {{ x + 1 }}"), {"x": "a"})


def test_a_nul_is_refused_wherever_it_comes_from() -> None:
    for text in ("echo \0 {{ x }}", "echo {{ nul | raw }} {{ x }}"):
        with pytest.raises(BadExpression, match="NUL"):
            shell_words(Text.parse(text), {"x": "a", "nul": "\0"})


def test_a_value_that_is_too_long_for_an_argument_is_named(tmp_path: Path) -> None:
    most = "ü" * (MOST_ARGUMENT // 2)
    assert output("printf %s {{ x }} | wc -c", tmp_path, x=most).strip() == str(MOST_ARGUMENT - 1)
    with pytest.raises(BadExpression, match=r"inputs\.large.*131,072 bytes.*to a file"):
        shell_words(
            Text.parse("wc -c {{ x }} {{ inputs.large }}"),
            {"x": "", "inputs": {"large": "x" * (MOST_ARGUMENT + 1)}},
        )
