"""What is answered to an option that does not exist, and what a shell completes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from fanwise.cli.app import COMMANDS, command_line
from fanwise.cli.option_hints import ANY, MAP, option_hint
from tests.cli.support import DEADLINE_S, Place, numbers

FANWISE = str(Path(sys.executable).with_name("fanwise"))


def options(command: str) -> set[str]:
    group: Any = typer.main.get_command(command_line([command, "--help"]))
    return {name for each in group.commands[command].params for name in each.opts}


@pytest.mark.parametrize(
    ("args", "step"),
    [
        (["map", "--retries", "3"], "Write --retry N"),
        (["map", "--jobs", "3"], "Write -j N, or --cap N"),
        (["map", "-k"], "Not needed: outputs are in the order of the lines"),
        (["map", "-I", "{}"], "{} already stands for the line"),
        (
            ["map", "--colsep", ","],
            "A line is one value: split it in the command, with cut or awk",
        ),
        (["sample", "--dry-run"], "Use: fanwise check FILE"),
        (["runs", "--cpa"], "See: fanwise runs --help"),
        (["map", "--cpa", "3"], "Did you mean --cap?"),
        (["show", "--verbose"], "Use: fanwise show RUN --items"),
    ],
)
def test_an_option_that_does_not_exist_is_answered_by_its_meaning(
    place: Place, args: list[str], step: str
) -> None:
    done = place.run(*args, given=numbers(1))
    told = f"fanwise: fanwise {args[0]} has no option {args[1]}\n  {step}\n"
    assert (done.returncode, done.stderr.decode()) == (2, told)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("map --cap x -- true", "--cap must be a whole number\n  See: fanwise map --help"),
        ("sample hi -m sim:a --usd x", "--usd must be a number\n  See: fanwise sample --help"),
        ("sample hi -m sim:a --winner last", "--winner: 'last' is not one of 'fastest', 'first'"),
        ("run a.yaml --only", "Option '--only' requires an argument\n  See: fanwise run --help"),
    ],
)
def test_a_bad_value_is_named_in_plain_words(place: Place, args: str, said: str) -> None:
    done = place.run(*args.split(), given=numbers(1))
    assert (done.returncode, said in done.stderr.decode()) == (2, True), done.stderr


def test_what_is_only_spelt_alike_is_not_suggested() -> None:
    assert option_hint("resume", "--dry-run", ["--run"]) != "Did you mean --run?"
    assert option_hint("x", "--dryly", ["--run", "--try"]) is None


def test_every_answer_names_options_that_exist_and_asks_for_none_that_does() -> None:
    of = {command: options(command) for command in COMMANDS}
    for words, answer in MAP.items():
        assert not set(words.split()) & of["map"], words
        for named in re.findall(r"(?<![\w-])--?[a-z0-9][a-z-]*", answer):
            known = of["resume"] if "fanwise resume" in answer else of["map"]
            assert named in known, answer
    everywhere = set().union(*of.values())
    for answer in ANY.values():
        assert set(re.findall(r"--[a-z-]+", answer)) <= everywhere, answer


def completed(place: Place, line: str) -> list[str]:
    words = line.split(" ")
    env = {
        **os.environ, "_FANWISE_COMPLETE": "complete_bash", "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = subprocess.run(
        [FANWISE], capture_output=True, cwd=place.path, env=env, timeout=DEADLINE_S, check=False
    )
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_a_shell_completes_commands_options_and_runs(place: Place) -> None:
    place.run("map", "--run", "monday", "--", "true", given=b"a\n")
    assert completed(place, "fanwise ma") == ["map"]
    assert completed(place, "fanwise map --jo") == ["--journal", "--joblog"]
    assert completed(place, "fanwise show mon") == ["monday"]
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run(
        [FANWISE, "--show-completion", "bash"], env=named, capture_output=True, timeout=DEADLINE_S,
        check=False,
    )  # fmt: skip
    assert b"_FANWISE_COMPLETE=complete_bash" in shown.stdout


def test_completion_is_offered_and_costs_a_command_nothing() -> None:
    names = {o for each in typer.main.get_command(command_line([])).params for o in each.opts}
    assert {"--install-completion", "--show-completion"} <= names
    one = {o for each in typer.main.get_command(command_line(["runs"])).params for o in each.opts}
    assert "--install-completion" not in one
