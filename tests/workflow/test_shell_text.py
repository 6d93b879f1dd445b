"""Values in shell lines are data, wherever they stand: real shells, hostile values."""

from __future__ import annotations

import asyncio
import string
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadExpression, UsageError
from fanwise.processes.command import Command
from fanwise.processes.run import run_command
from fanwise.workflow import Workflow, run_workflow_sync, step
from fanwise.workflow.expressions import Text
from fanwise.workflow.expressions.text import MOST_ARGUMENT
from tests.marks import slow
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

EVALUATE = [
    "trap {{ x }} EXIT",
    'trap -- "{{ x }}" EXIT',
    "eval {{ x }}",
    "eval 'echo {{ x }}'",
    "let {{ x }}",
    "printf -v {{ x }} 1",
    "printf '-v{{ x }}' 1",
    "read {{ x }} <<< 1",
    "test -v {{ x }}",
    "[ -v {{ x }} ]",
    "if [ -v {{ x }} ]; then :; fi",
    "declare {{ x }}=1",
    "declare -a y={{ x }}",
    "f() { local {{ x }}=1; }; f",
    "f() { local -a y={{ x }}; }; f",
    "export PS4={{ x }}; set -x; :",
    'PS4="+ {{ x }}"; set -x; :',
    "RANDOM={{ x }}",
    "alias q={{ x }}",
    "y={{ x }}; echo ${!y}",
    'y={{ x }}; echo "${y@P}"',
    "echo ${!{{ x }}}",
    "mapfile -C {{ x }} -c 1 z <<< 1",
    "true && command trap {{ x }} EXIT",
    "A=1 builtin eval {{ x }}",
    "$(trap {{ x }} EXIT)",
    "(trap {{ x }} EXIT)",
    "case a in a) trap {{ x }} EXIT;; esac",
    "cat <<E\n$(trap {{ x }} EXIT)\nE",
    "sleep 0 & wait -p {{ x }} -n",
    "coproc eval {{ x }}",
    "jobs -x eval {{ x }}",
    "compgen -W {{ x }}",
    "compgen -C {{ x }}",
    "complete -C {{ x }} q",
    "enable -f {{ x }} q",
    "unset {{ x }}",
    "getopts a {{ x }} -a",
    "a=([{{ x }}]=1)",
    "function f { eval {{ x }}; }; f",
    "exec -c eval {{ x }}",
    "time -p eval {{ x }}",
    ". {{ x }}",
    "source {{ x }}",
    "BASH_ARGV0={{ x }}",
    "{{ x }} {{ x }}",
    "[ {{ x }} {{ x }} ]",
    "[[ -R {{ x }} ]]",
    "exit {{ x }}",
    "set {{ x }}",
    # through a variable
    "declare -i n; n={{ x }}",
    "typeset -i n=0; n={{ x }}",
    "f() { local -ri n={{ x }}; }; f",
    "integer n; n={{ x }}",
    "declare -n n; n={{ x }}; n=1",
    "y={{ x }}; echo $((y))",
    "y={{ x }}; echo $(( $y + 1 ))",
    'y="a {{ x }}"; z=$y; echo $((1 + z))',
    "z=$y; y={{ x }}; while :; do echo $((z)); z=$y; done",
    "y=$(echo {{ x }}); (( y > 1 ))",
    "y=({{ x }}); echo ${a[y]}",
    "y={{ x }}; echo ${a:y}",
    "y={{ x }}; a[y]=1",
    "y={{ x }}; a=([$y]=1)",
    "y={{ x }}; [[ $y -eq 1 ]]",
    "y={{ x }}; [[ 1 -lt y ]]",
    "y={{ x }}; let y+1",
    "y={{ x }}; let 'z = y'",
    "y={{ x }}; eval $y",
    'y={{ x }}; eval "echo $y"',
    "y={{ x }}; eval 'echo $((y))'",
    "y={{ x }}; trap 'echo $((y))' EXIT",
    'y={{ x }}; test -v "$y"',
    "y={{ x }}; unset $y",
    "for y in a {{ x }}; do echo $((y)); done",
    "read y <<< {{ x }}; echo $((y))",
    "echo {{ x }} | while read -r y; do echo $((y)); done",
    "printf -v y %s {{ x }}; echo $((y))",
    "set -- {{ x }}; echo $(( $1 ))",
    "f() { echo $(( $1 )); }; f {{ x }}",
    ': "${y:={{ x }}}"; echo $((y))',
    "cat <<E\n$(y={{ x }}; echo $((y)))\nE",
    "y={{ x }}; b=y; echo $((b))",
    "read -p 'a;' y <<< {{ x }}; echo $((y))",
    "v=y; read $v <<< {{ x }}; echo $((y))",
    "printf -vy %s {{ x }}; echo $((y))",
    "printf -v a[0] %s {{ x }}; echo $((a))",
    ': "${y[0]:={{ x }}}"; echo $((y))',
    "set -- -a {{ x }}; getopts a: o; echo $((OPTARG))",
    "[[ {{ x }} =~ (.*) ]]; echo $((BASH_REMATCH[1]))",
    "echo {{ x }}; echo $(( $_ ))",
    "echo {{ x }}; echo $((fanwise_1))",
    "y={{ x }}; z=$(cat <<E\n$y\nE\n); echo $((z))",
    "cd {{ x }}; y=${PWD##*/}; echo $((y))",
    'y={{ x }}; eval "echo \\$((y))"',
    "y={{ x }}; eval echo '$((' y '))'",
    "y=({{ x }}); echo ${y[@]@P}",
    "read PS4 <<< {{ x }}; set -x; :",
    "for RANDOM in {{ x }}; do :; done",
    "printf -v PS4 %s {{ x }}; set -x; :",
    'unset PS4; : "${PS4:={{ x }}}"; set -x; :',
    "mapfile -t -C eval -c 1 <<< {{ x }}",
    "echo {{ x }} | readarray -tC eval -c1 y",
    "cat <<E $(echo\n{{ x }}\nE\n)",
    "cat $(cat <<E)\n{{ x }}\nE",
    # what a command prints that is given one
    'eval "$(echo {{ x }})"',
    "eval `echo {{ x }}`",
    'eval "$(cat <<E\n{{ x }}\nE\n)"',
    'echo {{ x }} | { eval "$(cat)"; }',
    "echo {{ x }} | . /dev/stdin",
    "source /dev/stdin <<< {{ x }}",
    ". /dev/stdin <<E\n{{ x }}\nE",
    ". <(echo {{ x }})",
    "$(echo {{ x }})",
    "echo `echo \\`eval {{ x }}\\``",
    # a command whose name is not written out
    "v=eval; $v {{ x }}",
    "$'eval' {{ x }}",
    '$"eval" {{ x }}',
    "{eval,} {{ x }}",
    "ev\\\nal {{ x }}",
    "true; \\\neval {{ x }}",
    "alias q=eval\nq {{ x }}",
    "y={{ x }}; $y a",
    "set -- {{ x }}; $1",
    'f() { "$@"; }; f eval {{ x }}',
    'echo() { $1 "$2"; }; echo eval {{ x }}',
    "$NO eval {{ x }}",
    "$NO $NO2 printf -v {{ x }} 1",
    "command -p -- eval {{ x }}",
    # redirections, brackets and patterns in front of it
    ">/dev/null eval {{ x }}",
    "2> /dev/null eval {{ x }}",
    "<<< 1 read {{ x }}",
    "true &> /dev/null eval {{ x }}",
    "eval &> /dev/null {{ x }}",
    "eval @(a) {{ x }}",
    "echo a >&{{ x }}",
    "echo ${y[a[0]]:{{ x }}}",
    "a[b[{{ x }}]]=1",
    "o=-v; [ $o {{ x }} ]",
    "y={{ x }}; [ $y = 1 ]",
    '[[ " ]] " != {{ x }} && 1 -eq {{ x }} ]]',
    "(\\\n( {{ x }} ))",
    'echo "$(case a in a) eval {{ x }};; esac)"',
    "echo $(case a in (a) eval {{ x }};; esac)",
    "declare $(echo -i) n; n={{ x }}",
    "${ eval {{ x }}; }",
    "echo ${{ x }}",
]
"""Lines that make bash run what the value contains."""
HARMLESS = [
    'read -r y <<< {{ x }}; printf %s "$y"',
    'f() { local y={{ x }}; printf %s "$y"; }; f',
    'export Y={{ x }}; printf %s "$Y"',
    'printf -v y %s {{ x }}; printf %s "$y"',
    "printf '%s' {{ x }}",
    'a=(1 2); : "${!a[@]}"; printf %s {{ x }}',
    "trap : EXIT; printf %s {{ x }}",
    "read y < /dev/null || printf %s {{ x }}",
    "[ -v HOME ] && printf %s {{ x }}",
    'n=0; for y in {{ x }}; do n=$((n + 1)); done; printf %s "$y"',
    'y={{ x }}; trap \'rm -f "nothing$y"\' EXIT; printf %s "$y"',
    'y={{ x }}; n=$(( ${#y} + 1 )); printf %s "${y:0:$n}"',
    'y={{ x }}; declare -A m; declare -a l=(1); printf %s "$y"',
    'set -- {{ x }}; printf %s "$1"',
    '[ {{ x }} = {{ x }} ] && [ -z "" -o -n {{ x }} ] && printf %s {{ x }}',
    "y=$(($(echo 1) + 1)); printf %s {{ x }}",
    "command -v {{ x }}; type {{ x }} > /dev/null 2>&1; printf %s {{ x }} | cat",
    'case {{ x }} in "") ;; *) : ;; esac; echo "let it be {{ x }}" > /dev/null; printf %s {{ x }}',
    "exec 3< /dev/null; exec printf %s {{ x }}",
    "kill -0 $$ && cd . && printf %s {{ x }}",
    'if [ {{ x }} = 3 ] || [ "$PWD" = {{ x }} ]; then :; fi; printf %s {{ x }}',
    "if [[ {{ x }} = 3 || ( -n {{ x }} && {{ x }} < b ) ]]; then :; fi; printf %s {{ x }}",
    "n=$(ls | wc -l); (( n > 3 )) || printf %s {{ x }}",
    'set -eu; t=$(mktemp -u); trap "rm -f $t" EXIT; printf %s {{ x }}',
    "[ -e no ] && . ./no; eval 'n=1'; printf %s {{ x }}",
    'PRINT=; ${NO:-} true; "$PWD/no/printf" %s {{ x }} 2> /dev/null || printf %s {{ x }}',
    'a=({{ x }} b); for y in "${a[@]}"; do :; done; printf %s "${a[0]}"',
    'printf %s "$(case a in a) printf %s {{ x }};; esac)"',
    "printf %s {{ x }} 2> /dev/null",
    "(cat <<E) | cat; printf %s {{ x }} 2> /dev/null\nE",
    "$NO /usr/bin/printf %s {{ x }}",
    "read -r PS <<< a; printf %s {{ x }}",
    "printf '%*s' 0 {{ x }}",
    'v={{ x }}; printf -v 2> /dev/null; printf %s "$v"',
    ': "${NO:=5}"; : $((NO)); printf %s {{ x }}',
    "echo \\${{ x }} > /dev/null; printf %s {{ x }}",
]
"""Lines that only look like them; for bash."""


SHAPES = [
    "{b} {x}", "{b} -- {x}", "{b} a {x}", "{b} {x} a", "{b} {x} 2>&1", "{b} <<< {x}",
    "{b} -x eval {x}", "true & {b} -n -p {x}", "{b} {x} <<< 1",
]  # fmt: skip
HOSTILE_TO_BUILTINS = [
    "a[$(touch canary)]", "$(touch canary)", "a=a[$(touch canary)]", "touch canary",
    "-va[$(touch canary)]", "-pa[$(touch canary)]", "-Ctouch canary", "-v", "eval",
]  # fmt: skip


def run_in_bash(lines: list[str], folder: Path) -> list[str]:
    """Those that ran what a value contains."""
    script = """
    for line; do
        for value in "${VALUES[@]}"; do
            ( set -- "$value" "$value"; eval "$line" ) < /dev/null > /dev/null 2>&1
            if [ -e canary ]; then rm canary; printf '%s\\n' "$line"; fi
        done
    done
    """
    values = " ".join(f"$'{each}'" for each in HOSTILE_TO_BUILTINS)
    command = Command("bash", "-c", f"VALUES=({values})\n{script}", "bash", *lines, cwd=str(folder))
    result = asyncio.run(run_command(command))
    assert result.exit_code == 0, result
    return str(result.stdout.text).splitlines()


def accepted(lines: Iterable[str]) -> list[str]:
    found = []
    for line in lines:
        try:
            found.append(shell_words(Text.parse(line), {"x": "text"})[0])
        except UsageError:
            continue
    return found


def of_bash(kind: str) -> list[str]:
    said = subprocess.run(["bash", "-c", f"compgen -A {kind}"], capture_output=True, check=True)
    return said.stdout.decode().split()


@pytest.mark.parametrize(
    "letters", ["", pytest.param(string.ascii_letters, marks=slow("thousands of shells"))]
)
def test_no_builtin_that_takes_a_value_evaluates_it(letters: str, tmp_path: Path) -> None:
    """All of this bash's builtins, of which the code may not know one."""
    shapes = [*SHAPES, *(f"{{b}} -{letter} {{x}}" for letter in letters)]
    builtins = [each for each in of_bash("builtin") if each not in ("suspend", "logout")]
    lines = [shape.format(b=b, x="{{ x }}") for b in builtins for shape in shapes]
    taken = accepted(lines)
    assert {line.split("; ")[2].split()[0] for line in taken if "&" not in line} >= {
        "echo",
        "test",
        "cd",
        "printf",
    }
    assert run_in_bash(taken, tmp_path) == []
    assert run_in_bash(["eval {}".format('"$1"'), "unset $1"], tmp_path), "the values are hostile"


def test_no_variable_that_takes_a_value_evaluates_it(tmp_path: Path) -> None:
    after = "; set -x; : ${NAME}; f() { :; }; f; getopts a o -a; shopt -s expand_aliases; :"
    names = {*of_bash("variable"), "EPOCHSECONDS", "SRANDOM", "PS0", "PS4", "COMP_WORDBREAKS"}
    lines = [f"{name}={{{{ x }}}}{after.replace('NAME', name)}" for name in sorted(names)]
    taken = accepted(lines)
    assert len(taken) > 20 and len(taken) < len(lines)
    assert run_in_bash(taken, tmp_path) == []


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


@pytest.mark.parametrize("line", HARMLESS)
def test_what_looks_like_evaluation_is_not_refused(line: str, tmp_path: Path) -> None:
    for value in (each for each in HOSTILE if "\n" not in each):
        words = shell_words(Text.parse(line), {"x": value})
        command = Command("bash", "-c", words[0], "bash", *words[1:], cwd=str(tmp_path))
        assert asyncio.run(run_command(command)).stdout.text == value
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("quoted", ["{{ x }}", '"{{ x }}"', "'{{ x }}'", '""{{ x }}'])
def test_a_format_is_no_option(quoted: str, tmp_path: Path) -> None:
    words = shell_words(Text.parse(f"printf {quoted} 1"), {"x": "-va[$(touch canary)]"})
    for shell in ("bash", "sh"):
        command = Command(shell, "-c", words[0], shell, *words[1:], cwd=str(tmp_path))
        said = asyncio.run(run_command(command)).stdout.text
        assert said == "-va[$(touch canary)]"
    assert list(tmp_path.iterdir()) == []


def test_the_advice_for_a_comparison_runs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="from_json") as caught:
        shell_words(Text.parse("[[ {{ x }} -eq 1 ]]"), {"x": "1"})
    assert "variable" not in str(caught.value)
    assert output("[ 1 -eq {{ x | from_json }} ] && echo same", tmp_path, x="1") == "same\n"
    with pytest.raises(BadExpression):
        shell_words(Text.parse("[[ {{ x | from_json }} -eq 1 ]]"), {"x": "a[$(touch canary)]"})


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("[ $(grep -c {{ x }} f) -gt 0 ]", 'put "…" around it'),
        ('printf "%s $HOME" {{ x }}', "write `%s` in it"),
        ("n=$(grep -c {{ x }} f); echo $((n + 1))", "compute with `expr`"),
        ("[[ {{ x }} -gt 3 ]]", "compare with `[ ]`"),
        ("for PS4 in {{ x }}; do :; done", "choose another name"),
    ],
)
def test_an_ordinary_line_that_is_refused_says_what_to_do(line: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        shell_words(Text.parse(line), {"x": "text"})
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        '[ "$(printf %s {{ x }} | wc -l)" -gt 5 ]',
        'printf "%s %s" "$HOME" {{ x }}',
        'n=$(printf %s {{ x }} | wc -l); expr "$n" + 1',
        "[ {{ x }} -gt 3 ]",
    ],
)
def test_what_the_advice_says_is_taken_and_runs_nothing(line: str, tmp_path: Path) -> None:
    assert run_in_bash(accepted([line]), tmp_path) == []
    assert accepted([line])


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
        *EVALUATE,
    ],
)
def test_where_no_value_can_stand_it_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="a value stands inside"):
        shell_words(Text.parse(line), {"x": "text"})


def test_a_variable_of_env_that_holds_a_value_is_not_evaluated(tmp_path: Path) -> None:
    env = {"N": "{{ inputs.n }}", "HOW": "plain"}
    made = Workflow(
        steps=[step("a", "shell", env=env, run="echo $((N + 1)) $HOW")],
        inputs={"n": {"type": "string"}},
    )
    done = run_workflow_sync(made, n="2", project=tmp_path)
    assert done.steps["a"].output["stdout"] == "3 plain\n"
    refused = run_workflow_sync(made, n="a[$(touch canary)]", project=tmp_path)
    assert "a value stands inside arithmetic" in refused.failures["a"]
    assert list(tmp_path.iterdir()) == []


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
