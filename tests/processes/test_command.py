from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import UsageError
from fanwise.processes import Command, CommandResult, require_success, run_command
from tests.processes.support import run
from tests.profiles import examples

HOSTILE = [
    "plain",
    "with  two spaces",
    "",
    "; touch canary ;",
    "$(touch canary)",
    "`touch canary`",
    "'; touch canary; '",
    '"; touch canary; "',
    "'\"$(touch canary)\"'",
    "a\ntouch canary\n",
    "| touch canary",
    "&& touch canary &",
    "> canary",
    "*",
    "~",
    "\\",
    "{}",
    "${1}",
    "a[$(touch canary)]",
    "-n",
]
LINES = [
    "printf %s {}",
    'printf %s "{}"',
    "printf %s '{}'",
    'x={}; printf %s "$x"',
    'printf %s "$(printf %s {})"',
    'printf %s "$(printf %s "{}")"',
    'printf %s "`printf %s {}`"',
    "(printf %s {}) | cat",
    'printf %s {} # don\'t "mind" this',
    "printf %s {} # {}",
    "printf %s",
]


def done(command: Command) -> CommandResult:
    return require_success(run(run_command(command)))


def test_the_placeholder_is_filled_wherever_it_stands() -> None:
    command = Command("convert", "{}", "out/{}.png", "{}{}").for_item("a b")
    assert command.argv == ("convert", "a b", "out/a b.png", "a ba b")


def test_without_a_placeholder_the_item_becomes_the_last_argument() -> None:
    assert Command("wc", "-l").for_item("x").argv == ("wc", "-l", "x")


def test_a_path_is_an_item() -> None:
    assert Command("cat").for_item(Path("a/b")).argv == ("cat", "a/b")


def test_filling_keeps_everything_else() -> None:
    command = Command("a", stdin=b"x", cwd="/", env={"A": "b"}, keep=7, check=False)
    filled = command.for_item("i")
    assert filled == Command("a", "i", stdin=b"x", cwd="/", env={"A": "b"}, keep=7, check=False)


def test_bytes_that_are_not_utf8_arrive_unchanged() -> None:
    item = bytes(range(1, 256))
    assert done(Command("printf", "%s").for_item(item)).stdout.data == item
    assert done(Command(b"printf", b"%s", b"<{}>").for_item(item)).stdout.data == b"<" + item + b">"
    assert done(Command.shell_line("printf %s {}").for_item(item)).stdout.data == item


@given(item=st.binary(max_size=30).filter(lambda item: b"\0" not in item))
@examples(2)
def test_any_bytes_make_the_round_trip_into_the_arguments(item: bytes) -> None:
    assert Command("p", "{}").for_item(item).exec_argv() == [b"p", item]


@pytest.mark.parametrize("item", HOSTILE)
def test_an_item_runs_nothing_without_a_shell(item: str, tmp_path: Path) -> None:
    command = Command("printf", "%s", "{}", cwd=str(tmp_path)).for_item(item)
    assert done(command).stdout.text == item
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("item", HOSTILE)
def test_an_item_runs_nothing_in_a_shell_and_stays_one_word(
    item: str, line: str, tmp_path: Path
) -> None:
    result = done(Command.shell_line(line, cwd=str(tmp_path)).for_item(item))
    # A command substitution drops the newlines at its end; that is the shell's own rule.
    wanted = item.rstrip("\n") if "$(" in line or "`" in line else item
    assert result.stdout.text == wanted
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line", ["echo $(( {} + 1 ))", 'echo "$(({}))"', "cat <<'E'\n{}\nE", "cat <<{}\nx"]
)
def test_the_item_is_refused_where_no_quoting_makes_it_safe(line: str) -> None:
    with pytest.raises(UsageError, match="stands inside"):
        Command.shell_line(line).for_item("x")


@pytest.mark.parametrize("item", ["a\0b", b"\0", 7, None, "\ud800"])
def test_an_item_that_cannot_be_an_argument_is_a_usage_error(item: str) -> None:
    with pytest.raises(UsageError):
        Command("echo").for_item(item)


def test_a_command_that_cannot_work_is_refused_when_it_is_written() -> None:
    bad: list[Callable[[], Command]] = [
        lambda: Command(),
        lambda: Command(""),
        lambda: Command("a\0"),
        lambda: Command("a", 1),  # type: ignore[arg-type]
        lambda: Command("a", env={"A=B": ""}),
        lambda: Command("a", env={"A": 1}),  # type: ignore[dict-item]
        lambda: Command("a", cwd="\0"),
        lambda: Command("a", keep=-1),
        lambda: Command("a", stdin="text"),  # type: ignore[arg-type]
    ]
    for make in bad:
        with pytest.raises(UsageError):
            make()
