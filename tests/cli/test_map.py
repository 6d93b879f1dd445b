"""`fanwise map`: what goes in comes out, in order, byte for byte, and runs nothing else."""

from __future__ import annotations

import json
import subprocess

import pytest

from fanwise.lines.spec.map_spec import KEEP
from tests.cli.support import COMMAND, DEADLINE_S, Place, end, eventually, numbers, release

PRINT_ARGUMENT = ["--", "printf", "%s|", "{}"]
NASTY = [
    b"two words",
    b"'single' \"double\"",
    b"; touch canary",
    b"$(touch canary)",
    b"`touch canary`",
    b"| touch canary &",
    b"back\\slash \\n",
    b"*",
    b"-n",
    b"--help",
    b"\xff\xfe not utf-8",
    b"~ $HOME ${PATH} %s {} {}",
    b"tab\there",
]


def test_outputs_come_in_input_order_whatever_finishes_first(place: Place) -> None:
    gate = place.fifo("gate")
    script = "if [ {} = 1 ]; then cat gate; fi; echo {}; echo {} >> ended; [ {} != 1 ] || :"
    process = place.start("map", "--cap", "4", "--", "sh", "-c", script, given=numbers(6))
    eventually(lambda: len(place.lines("ended")) == 5)
    release(gate)
    assert end(process) == (0, numbers(6), b"")
    assert place.lines("ended")[-1] == "1"


def test_an_output_is_written_as_soon_as_its_turn_has_come(place: Place) -> None:
    process = place.start("map", "--", "echo")
    assert process.stdin is not None and process.stdout is not None
    for number in (b"1\n", b"2\n"):  # the input has not ended, as with `tail -f`
        process.stdin.write(number)
        process.stdin.flush()
        assert process.stdout.readline() == number
    assert end(process) == (0, b"", b"")


@pytest.mark.parametrize("shell", [False, True])
def test_a_nasty_line_is_one_argument_as_it_is_and_runs_nothing(place: Place, shell: bool) -> None:
    command = ["--shell", "--", 'printf "%s|" {}'] if shell else PRINT_ARGUMENT
    done = place.run("map", *command, given=b"\n".join(NASTY))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"|".join(NASTY) + b"|"
    assert not (place.path / "canary").exists()


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (b"", [], []),
        (b"\n", [], [b""]),
        (b"a\n\nb", [], [b"a", b"", b"b"]),
        (b"a\r\nb\r\n", [], [b"a\r", b"b\r"]),
        (b"a\nb\0c\0", ["-0"], [b"a\nb", b"c"]),
        (b"x" * 100_000 + b"\ny\n", [], [b"x" * 100_000, b"y"]),
    ],
)
def test_each_line_is_an_item_without_its_separator(
    place: Place, given: bytes, options: list[str], words: list[bytes]
) -> None:
    done = place.run("map", *options, *PRINT_ARGUMENT, given=given)
    assert (done.returncode, done.stdout) == (0, b"".join(word + b"|" for word in words))


def test_without_a_placeholder_the_line_is_the_last_argument(place: Place) -> None:
    assert place.run("map", "echo", "-n", "hi", given=b"a").stdout == b"hi a"


def test_stdin_may_be_a_regular_file(place: Place) -> None:
    (place.path / "lines").write_bytes(numbers(60))
    with (place.path / "lines").open("rb") as file:
        done = subprocess.run(
            [*COMMAND, "map", "--", "true"],
            stdin=file,
            cwd=place.path,
            check=False,
            timeout=DEADLINE_S,
        )
    assert done.returncode == 0
    assert json.loads(place.run("runs", "--json").stdout)["runs"][0]["done"] == 60


def test_failures_are_told_with_line_and_cause_and_the_exit_code_is_1(place: Place) -> None:
    script = "echo out {}; [ {} != 2 ] || { echo broken >&2; exit 7; }"
    done = place.run("map", "--run", "r", "--", "sh", "-c", script, given=numbers(3))
    assert done.returncode == 1
    assert done.stdout == b"out 1\nout 2\nout 3\n"
    assert b"broken\n" in done.stderr
    assert b"line 2 (2): the command exited with code 7: broken" in done.stderr


def test_of_many_failures_ten_are_told_and_the_rest_is_counted(place: Place) -> None:
    done = place.run("map", "--run", "r", "--", "false", given=numbers(13))
    assert done.stderr.count(b"exited with code 1") == 10
    assert b"and 3 more: fanwise show r" in done.stderr


def test_halt_on_failure_ends_with_the_first_failure_in_line_order(place: Place) -> None:
    done = place.run(
        "map", "--halt", "failure", "--", "sh", "-c", "echo {}; [ {} -lt 4 ]", given=numbers(50)
    )
    assert (done.returncode, done.stdout) == (130, numbers(4))


def test_a_line_that_fails_is_tried_again(place: Place) -> None:
    script = "echo {} >> tries; [ $(wc -l < tries) -ge 2 ]"
    done = place.run("map", "--retry", "2", "--", "sh", "-c", script, given=b"x\n")
    assert done.returncode == 0, done.stderr
    assert place.lines("tries") == ["x", "x"]


def test_json_is_one_document_with_the_outputs_inside(place: Place) -> None:
    done = place.run("map", "--json", "--run", "r", *PRINT_ARGUMENT, given=b"a\n\xff\n")
    document = json.loads(done.stdout)
    assert (document["run"], document["counts"]["done"]) == ("r", 2)
    first, second = document["outcomes"]
    assert (first["input"], first["stdout"], first["status"]) == ("a", "a|", "done")
    assert (second["input_base64"], second["stdout_base64"]) == ("/w==", "/3w=")


def test_an_output_of_any_size_is_complete(place: Place) -> None:
    size = KEEP * 5 + 17
    script = f"head -c {size} /dev/zero | tr '\\0' {{}}"
    done = place.run("map", "--", "sh", "-c", script, given=b"a\nb\n")
    assert done.stdout == b"a" * size + b"b" * size


def test_the_same_line_twice_with_key_is_an_error(place: Place) -> None:
    done = place.run("map", "--key", "--", "true", given=b"a\nb\na\n")
    assert done.returncode == 2
    assert b"line 3 is the same as line 1: 'a'" in done.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly(place: Place) -> None:
    process = place.start("map", "--", "echo", given=numbers(5_000))
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.stdout.close()
    process.stdout = None
    code, _, err = end(process)
    assert (code, err) == (141, b"")
