"""`fanwise map` in the words of xargs and GNU parallel."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.lines.output.fd_writer import PIECE
from fanwise.lines.output.ordered_output import _tagged
from fanwise.lines.spec.command_template import CommandTemplate as Template
from fanwise.lines.spec.command_template import placeholders
from tests.cli.support import Place, end, eventually, numbers, release

PATHS = "a/b.tar.gz\nplain\n/top\n.hidden\ndir/\n"


def printed(place: Place, *args: str, lines: str) -> list[str]:
    done = place.run("map", *args, given=lines.encode())
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


# -- replacement strings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{}", ["a/b.tar.gz", "plain", "/top", ".hidden", "dir/"]),
        ("{.}", ["a/b.tar", "plain", "/top", "", "dir/"]),
        ("{/}", ["b.tar.gz", "plain", "top", ".hidden", ""]),
        ("{//}", ["a", ".", "/", ".", "."]),
        ("{/.}", ["b.tar", "plain", "top", "", ""]),
        ("{#}", ["1", "2", "3", "4", "5"]),
        ("{%}", ["1", "1", "1", "1", "1"]),
    ],
)
@pytest.mark.parametrize("shell", [False, True])
def test_replacement_strings_are_those_of_gnu_parallel(
    place: Place, written: str, values: list[str], shell: bool
) -> None:
    how = (
        ["--shell", "--", f"printf '<%s>\\n' {written}"]
        if shell
        else ["--", "echo", f"<{written}>"]
    )
    assert printed(place, "--cap", "1", *how, lines=PATHS) == [f"<{value}>" for value in values]


def test_a_command_with_any_of_them_is_not_given_the_line_as_well(place: Place) -> None:
    assert printed(place, "--", "echo", "{#}", lines="a\nb\n") == ["1", "2"]
    assert printed(place, "--shell", "--", "echo {#}-{/}", lines="a/b\n") == ["1-b"]


def test_no_value_runs_in_a_line_of_shell(place: Place) -> None:
    evil = "$(touch ran)/`touch ran`;touch ran.$(touch ran)\n"
    for written in ("{.}", "{/}", "{//}", "'{/.}'", '"{.}"'):
        printed(place, "--shell", "--", f"echo {written}", lines=evil)
    assert not (place.path / "ran").exists()


def test_what_the_shell_itself_writes_in_braces_is_left_alone(place: Place) -> None:
    assert printed(place, "--", "sh", "-c", "echo ${#} $1", "sh", lines="a\n") == ["1 a"]


def test_no_two_commands_have_the_same_slot_at_the_same_time(place: Place) -> None:
    gates = [place.fifo("gate-1"), place.fifo("gate-2")]
    process = place.start(
        "map", "-j", "2", "--shell", "--",
        "echo {} {%} >> slots; [ {} -gt 2 ] || cat gate-{}", given=numbers(4),
    )  # fmt: skip
    eventually(lambda: len(place.lines("slots")) == 2)
    release(gates[1])
    eventually(lambda: len(place.lines("slots")) == 4)
    release(gates[0])
    end(process)
    lines = dict(line.split() for line in place.lines("slots"))
    assert lines["3"] == lines["4"] == lines["2"], "the slot of the one that ended is taken again"
    assert {lines["1"], lines["2"]} == {"1", "2"}


# -- how many -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-j", "-P", "--cap", "-c"])
def test_the_cap_has_the_names_of_xargs_and_parallel(place: Place, option: str) -> None:
    place.run("map", option, "3", "--run", "r", "--", "true", given=numbers(5))
    detail = json.loads(place.run("show", "r", "--json").stdout)
    assert detail["fan_outs"][0]["cap"] == 3


@pytest.mark.parametrize("how", [[], ["{}"]])
def test_n_lines_are_arguments_of_one_command_as_with_xargs(place: Place, how: list[str]) -> None:
    got = printed(place, "-n", "2", "--", "printf", "[%s] ", "x", *how, "", lines="a\nb c\nd\n")
    assert got == ["[x] [a] [b c] [] [x] [d] [] "] if how else ["[x] [] [a] [b c] [x] [] [d] "]
    theirs = subprocess.run(
        ["xargs", "-d", "\n", "-n", "2", "echo"],
        input=b"a\nb c\nd\n",
        capture_output=True,
        check=True,
    )
    assert printed(place, "-n", "2", "--", "echo", lines="a\nb c\nd\n") == (
        theirs.stdout.decode().splitlines()
    )


def test_n_lines_are_words_in_a_line_of_shell(place: Place) -> None:
    line = 'for each in {}; do echo "{#} $each"; done'
    got = printed(place, "-n", "2", "--shell", "--", line, lines="a\nb c\n$(d)\n")
    assert got == ["1 a", "1 b c", "2 $(d)"]


def test_n_nul_separated_lines_are_told_apart(place: Place) -> None:
    got = printed(place, "-0", "-n", "2", "--", "printf", "<%s>", lines="a\nb\0c\0d\0")
    assert got == ["<a", "b><c><d>"]


def test_a_command_that_was_given_n_lines_is_named_and_resumed_as_one(place: Place) -> None:
    script = 'echo "$@" >> ran; [ "$1" != 3 ] || [ -e mended ]'
    args = ("--run", "r", "-n", "2", "--halt", "failure", "-j", "1", "--", "sh", "-c", script, "sh")
    halted = place.run("map", *args, given=numbers(7))
    assert halted.returncode == 130
    assert b"  command 2 (3\\n4): the command exited with code 1\n" in halted.stderr
    assert b"fanwise: halted at command 2: 2 commands not started\n" in halted.stderr
    assert b"command 2 (3\\n4): the command exited" in place.run("show", "r").stdout
    (place.path / "mended").touch()
    assert place.run("resume", "r", "--retry-failed").returncode == 0
    assert place.lines("ran") == ["1 2", "3 4", "3 4", "5 6", "7"]
    rows = [json.loads(line) for line in place.run("export", "r").stdout.splitlines()]
    assert [row["input"] for row in rows] == ["1\n2", "3\n4", "5\n6", "7"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["-n", "2", "--", "echo", "x{}"], b"{} is part of 'x{}', but with -n 2 commands get"),
        (
            ["-n", "2", "--", "echo", "{.}"],
            b"{.} needs a single line, but with -n 2 each command gets",
        ),
        (["-n", "0", "--", "echo"], b"-n is 0"),
        (["-j", "0", "--", "echo"], b"--cap is 0"),
        (["--halt", "soon,fail=10%", "--", "echo"], b"percentages are not supported"),
        (["--halt", "later", "--", "echo"], b"--halt 'later' is not a rule"),
        (["--joblog", "no/where", "--", "echo"], b"cannot write the job log"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(
    place: Place, args: list[str], told: bytes
) -> None:
    done = place.run("map", *args, given=numbers(3))
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in done.stderr
    assert not (place.path / ".fanwise").exists()


def test_with_n_lines_for_each_command_an_input_that_was_edited_is_named_by_its_lines(
    place: Place,
) -> None:
    args = ("--run", "r", "-n", "2", "--halt", "failure", "-j", "1", "--", "false")
    assert place.run("map", *args, given=numbers(5)).returncode == 130
    for lines, told in (
        (b"1\n2\n3\nx\n5\n", b"lines 3 to 4 of the input are not what was recorded"),
        (numbers(8), b"lines 5 to 6 of the input are not what was recorded"),
        (numbers(2), b"lines 3 to 4 of the input are missing; the run had 3 commands"),
    ):
        done = place.run("resume", "r", "--input", "-", given=lines)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


# -- --dry-run ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [["echo", "a {}", "{/.}"], ["-n", "2", "--", "echo", "{}"], ["--shell", "--", "echo {} '{#}'"]],
)
def test_a_dry_run_prints_what_would_run_and_starts_and_writes_nothing(
    place: Place, command: list[str]
) -> None:
    lines = "x y\n$(rm z)\nd/e.f\n"
    dry = printed(place, "--dry-run", *command, lines=lines)
    assert list(place.path.iterdir()) == []
    ran = [subprocess.run(["sh", "-c", line], capture_output=True).stdout.decode() for line in dry]
    assert "".join(ran).splitlines() == printed(place, *command, lines=lines)


def test_a_dry_run_is_a_document_too(place: Place) -> None:
    done = place.run("map", "--dry-run", "--json", "--", "echo", "{}", given=b"a b\nc\n")
    assert json.loads(done.stdout) == {
        "dry_run": True,
        "commands": [["echo", "a b"], ["echo", "c"]],
    }


# -- --tag --------------------------------------------------------------------------------------


def test_each_line_of_output_begins_with_its_line_of_input(place: Place) -> None:
    script = "echo one; echo two; echo bad >&2; printf end"
    done = place.run("map", "--tag", "-j", "1", "--shell", "--", f"{script} #{{}}", given=b"a\nb\n")
    assert done.stdout == b"a\tone\na\ttwo\na\tendb\tone\nb\ttwo\nb\tend"
    assert done.stderr == b"a\tbad\nb\tbad\n"


def test_a_long_output_is_tagged_and_goes_on_after_a_kill(place: Place) -> None:
    script = "seq 100000; [ {} = 1 ] || [ -e open ] || kill -9 $PPID; true"
    args = ("map", "--run", "r", "--tag", "-j", "1", "--", "sh", "-c", script)
    process = place.start(*args, given=numbers(2))
    code, first, _ = end(process)
    assert code != 0
    (place.path / "open").touch()
    rest = place.process("resume", "r").stdout
    whole = b"".join(b"%d\t%d\n" % (n, k) for n in (1, 2) for k in range(1, 100_001))
    # A kill between a write and its note repeats that one piece; nothing is ever left out.
    twice = len(first) + len(rest) - len(whole)
    assert twice in (0, PIECE)
    assert first == whole[: len(first)] and rest == whole[len(first) - twice :]


@given(
    st.lists(st.binary(max_size=5).map(lambda b: b.replace(b"x", b"\n")), max_size=6),
    st.integers(0, 40),
)
def test_tags_do_not_depend_on_how_an_output_is_cut(chunks: list[bytes], skip: int) -> None:
    whole = b"".join(chunks)
    lines = [line + b"\n" for line in whole.split(b"\n")]
    expected = b"".join(b"T:" + line for line in lines)[:-1].removesuffix(b"T:")
    assert b"".join(_tagged(iter(chunks), b"T:", skip)) == expected[skip:]


# -- --joblog -----------------------------------------------------------------------------------


def rows(place: Place, name: str = "log") -> list[list[str]]:
    head, *found = [line.split("\t") for line in place.lines(name)]
    assert head[:4] == ["Seq", "Host", "Starttime", "JobRuntime"]
    assert head[4:] == ["Send", "Receive", "Exitval", "Signal", "Command"]
    return found


def test_the_job_log_has_the_columns_of_gnu_parallel(place: Place) -> None:
    script = "printf abc; [ $1 != 2 ] || exit 7; [ $1 != 3 ] || kill -15 $$"
    args = ("map", "--joblog", "log", "-j", "1", "--", "sh", "-c", script, "sh")
    place.run(*args, given=numbers(3))
    found = rows(place)
    assert [row[0] for row in found] == ["1", "2", "3"]
    assert [row[4:8] for row in found] == [
        ["0", "3", "0", "0"], ["0", "3", "7", "0"], ["0", "3", "0", "15"],
    ]  # fmt: skip
    assert [float(row[2]) > 1e9 and float(row[3]) >= 0 for row in found] == [True] * 3
    assert found[0][8].startswith("sh -c 'printf abc;") and found[0][8].endswith("sh 1")


def test_a_resume_adds_to_the_job_log_what_is_missing(place: Place) -> None:
    args = ("map", "--run", "r", "--joblog", "log", "-j", "1", "--", "sh", "-c", "[ $0 != 2 ]")
    place.run(*args, given=numbers(3))
    log = place.path / "log"
    log.write_text(log.read_text().partition("3\t:")[0])
    place.run("resume", "r", "--retry-failed")
    found = sorted((row[0], row[6]) for row in rows(place))
    assert found == [("1", "0"), ("2", "1"), ("2", "1"), ("3", "0")]


def test_the_job_log_has_the_slot_that_a_command_had(place: Place) -> None:
    place.fifo("gate")
    script = "[ {} = 1 ] && cat gate || echo x > gate; echo {%}"
    args = ("--run", "r", "--joblog", "log", "-j", "2", "--", "sh", "-c", script)
    outputs = printed(place, *args, lines="1\n2\n")
    slots = [output for output in outputs if output != "x"]
    assert sorted(slots) == ["1", "2"]
    assert [row[8][-2] for row in sorted(rows(place))] == slots
    log = place.path / "log"
    log.write_text(log.read_text().partition("\n")[0] + "\n")
    place.run("resume", "r")
    assert [row[8].endswith("{%}'") for row in rows(place)] == [True] * 2, (
        "it is not known any more"
    )


def test_a_command_in_the_job_log_can_be_run_again(place: Place) -> None:
    command = ("--joblog", "log", "--shell", "--", "echo {} '{#}'")
    outputs = printed(place, *command, lines="x y\n$(z)\n")
    again = [subprocess.run(["sh", "-c", row[8]], capture_output=True) for row in rows(place)]
    assert sorted(done.stdout.decode().strip() for done in again) == sorted(outputs)


def test_a_job_log_that_takes_no_more_is_told(place: Place) -> None:
    done = place.run("map", "--joblog", "/dev/full", "--", "true", given=numbers(2))
    assert done.returncode == 2
    assert b"/dev/full" in done.stderr


# -- --quiet, --halt ----------------------------------------------------------------------------


def test_quietly_only_the_exit_code_tells_of_failures(place: Place) -> None:
    done = place.run("map", "--quiet", "--", "false", given=numbers(3))
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    halted = place.run("map", "-q", "--halt", "failure", "-j", "1", "--", "false", given=numbers(3))
    assert halted.stderr.startswith(b"fanwise: halted at line 1: 2 lines not started\n")


def test_soon_lets_what_is_in_flight_end_and_starts_nothing_more(place: Place) -> None:
    gate = place.fifo("gate")
    script = "echo {} >> ran; [ {} != 1 ] || cat gate; [ {} != 2 ]"
    process = place.start(
        "map", "--run", "r", "-j", "2", "--halt", "soon,fail=1", "--", "sh", "-c", script,
        given=numbers(9),
    )  # fmt: skip
    eventually(lambda: failed(place) == 1)
    release(gate)
    code, _, err = end(process)
    assert code == 130
    assert b"fanwise: halted after 1 failure: 7 lines not started\n" in err
    assert sorted(place.lines("ran")) == ["1", "2"]
    again = place.run("resume", "r")
    assert again.returncode == 130
    assert b"halted after 1 failure: 7 lines not started\n" in again.stderr
    assert sorted(place.lines("ran")) == ["1", "2"], (
        "a resume runs nothing before the failure is gone"
    )


def failed(place: Place) -> int:
    shown = place.run("show", "r", "--json")
    return int(json.loads(shown.stdout)["failed"]) if shown.returncode == 0 else 0


def test_now_ends_what_is_in_flight(place: Place) -> None:
    wait = "until grep -q 1 ran; do sleep 0.01; done"
    script = f"echo {{}} >> ran; [ {{}} != 1 ] || sleep 600; {wait}; false"
    done = place.run(
        "map", "-j", "2", "--halt", "now,fail=2", "--", "sh", "-c", script, given=numbers(9)
    )
    assert done.returncode == 130
    assert b"fanwise: cancelled after 2 failures: 6 lines not started, 1 line cancelled\n" in (
        done.stderr
    )
    assert sorted(place.lines("ran")) == ["1", "2", "3"]


@pytest.mark.parametrize("halt", ["failure", "soon,fail=1", "now,fail=2"])
def test_a_halt_at_the_last_line_left_nothing_out(place: Place, halt: str) -> None:
    count = "2" if halt.endswith("2") else "1"
    script = f"[ {{}} -le {4 - int(count)} ]"
    args = ("--run", "r", "-j", "1", "--halt", halt, "--", "sh", "-c", script)
    done = place.run("map", *args, given=numbers(4))
    assert (done.returncode, b"halted" in done.stderr) == (1, False), done.stderr
    detail = json.loads(place.run("show", "r", "--json").stdout)
    assert (detail["status"], detail["done"] + detail["failed"]) == ("done", 4)
    assert place.run("resume", "r").returncode == 1


def test_enough_successes_are_what_was_asked_for(place: Place) -> None:
    args = ("map", "--run", "r", "-j", "1", "--halt", "now,success=2", "--", "test", "1", "-lt")
    done = place.run(*args, given=numbers(9))
    assert (done.returncode, failed(place)) == (1, 1)
    detail = json.loads(place.run("show", "r", "--json").stdout)
    assert (detail["status"], detail["done"]) == ("done", 2)


# -- the template by itself ---------------------------------------------------------------------


@given(st.text(alphabet="ab./{}#%$ ", max_size=12), st.text(alphabet="ab./{}", min_size=1))
def test_a_line_is_never_looked_through_for_replacement_strings(argument: str, line: str) -> None:
    argv = Template(["cmd", argument]).fill([line], 1, 1)
    if placeholders(argument):
        (filled,) = argv[1:]
        assert filled.count(line) >= argument.count("{}")
    else:
        assert argv == ["cmd", argument, line]


def test_the_real_thing_agrees(place: Place) -> None:
    parallel = shutil.which("parallel")
    if (
        parallel is None
        or b"GNU"
        not in subprocess.run([parallel, "--version"], capture_output=True, check=False).stdout
    ):
        pytest.skip("GNU parallel is not installed")
    command = ["echo", "{.}", "{/}", "{//}", "{/.}", "{#}"]
    theirs = subprocess.run(
        [parallel, "-k", *command], input=PATHS.encode(), capture_output=True, check=True
    )
    ours = printed(place, "--", *command, lines=PATHS)
    assert ours == theirs.stdout.decode().splitlines()


def test_long_lines_of_a_dry_run_are_whole(place: Place, tmp_path: Path) -> None:
    long = "x" * 300_000
    assert printed(place, "--dry-run", "--", "echo", lines=f"{long}\n") == [f"echo {long}"]
