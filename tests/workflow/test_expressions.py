"""Expressions by example: what spec-kit's files say, and what must be refused with words."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fanwise.errors import BadExpression, UsageError
from fanwise.workflow.expressions import Text, Value, parse, truth
from fanwise.workflow.expressions.parser import MOST_DEPTH
from fanwise.workflow.expressions.tree import Filter, Filtered, Literal, Path

ROOTS: dict[str, Any] = {
    "inputs": {
        "spec": "a login page",
        "n": 3,
        "dry": False,
        "empty": "",
        "tags": ["a", "b"],
        "people": [{"name": "Ann", "at": {"city": "Rome"}}, {"name": "Bob"}, "plain"],
    },
    "steps": {
        "run-tests": {"output": {"exit_code": 1, "stdout": "10\n", "stderr": ""}},
        "all:one:0": {"output": {"exit_code": 0}},
        "list": {"output": {"stdout": '[{"id": 1}, {"id": 2}]\n'}},
        "2nd": {"output": {"0": "zero"}},
    },
    "item": {"name": "x", "list": [[1, 2], [3]]},
    "fan_in": {"results": [1, 2]},
    "context": {"run_id": "r1", "workflow_dir": "/w"},
}


def value(expression: str) -> Any:
    return Text.parse("{{ " + expression + " }}").render(ROOTS)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("inputs.spec", "a login page"),
        ("steps.run-tests.output.exit_code", 1),
        ("steps.all:one:0.output.exit_code", 0),
        ("steps.2nd.output.0", "zero"),
        ("steps['run-tests'].output['exit_code']", 1),
        ("item.list[0][1]", 2),
        ("item.list[7]", None),
        ("item.name[0]", None),
        ("inputs.tags.name", None),
        ("inputs.no.such.thing", None),
        ("nothing_at_all", None),
        ("fan_in.results", [1, 2]),
        ("context.run_id", "r1"),
        ("context.workflow_dir", "/w"),
        ("'text'", "text"),
        ('"it\'s"', "it's"),
        ("'no \\n escape'", "no \\n escape"),
        ("42", 42),
        ("-42", -42),
        ("1.50", 1.5),
        ("True", True),
        ("FALSE", False),
        ("none", None),
        ("Null", None),
        ("[]", []),
        ("[1, 'two', [inputs.n], none]", [1, "two", [3], None]),
        ("[1, 2][1]", 2),
    ],
)
def test_names_and_literals(expression: str, wanted: Any) -> None:
    got = value(expression)
    assert got == wanted
    assert type(got) is type(wanted)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("inputs.n == 3", True),
        ("inputs.n==3", True),
        ("inputs.n == '3'", False),
        ("inputs.n != 3", False),
        ("inputs.dry == false", True),
        # texts that are numbers, as the output of a command is, compare as numbers
        ("steps.run-tests.output.stdout > 9", True),
        ("'10' < '9'", False),
        ("'b' > 'a'", True),
        ("'10' < 'a'", True),
        ("'-1.5' < 0", True),
        # what has no order is neither less nor more
        ("'a' < 1", False),
        ("'a' >= 1", False),
        ("none < 1", False),
        ("[1] < ['a']", False),
        ("inputs < inputs", False),
        ("'a' in inputs.tags", True),
        ("'a' not in inputs.tags", False),
        ("'login' in inputs.spec", True),
        ("'spec' in inputs", True),
        ("1 in '123'", False),
        ("[1] in inputs", False),
        ("1 in none", False),
        ("1 not in 5", True),
        ("not inputs.dry", True),
        ("not not inputs.dry", False),
        ("not inputs.n == 4", True),
        ("not 'a' in inputs.tags", False),
        # and before or; both give a truth, not an operand
        ("inputs.n or 0", True),
        ("inputs.spec and inputs.empty", False),
        ("true or false and false", True),
        ("(true or false) and false", False),
        ("'read and write' == 'read or write'", False),
        # the right side is not computed when the left decides
        ("false and ('x' | from_json)", False),
        ("true or 1 / 0", True),
    ],
)
def test_comparisons_and_logic(expression: str, wanted: bool) -> None:
    assert value(expression) is wanted


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("2 * 10 / 4 % 3", 2.0),
        ("inputs.n -1", 2),
        ("- inputs.n", -3),
        ("--inputs.n", 3),
        ("inputs.n - -1", 4),
        ("'a' + 'b'", "ab"),
        ("[1] + inputs.tags", [1, "a", "b"]),
        ("(steps.run-tests.output.stdout | from_json) + 1", 11),
        ("1 + 1 == 2", True),
    ],
)
def test_arithmetic(expression: str, wanted: Any) -> None:
    assert value(expression) == wanted


def test_a_minus_inside_a_word_belongs_to_the_word() -> None:
    assert parse("inputs.a-b") == Path("inputs", ("a-b",))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("inputs.no | default('x')", "x"),
        ("inputs.empty | default('x')", "x"),
        ("inputs.empty | default", ""),
        ("inputs.dry | default('x')", False),
        ("inputs.no | default(inputs.n)", 3),
        ("inputs.tags | join(', ')", "a, b"),
        ("[none, true, 1] | join('-')", "-True-1"),
        ("inputs.n | join(', ')", "3"),
        ("inputs.people | map('name')", ["Ann", "Bob", "plain"]),
        ("inputs.people | map('at.city')", ["Rome", None, "plain"]),
        ("inputs.n | map('name')", []),
        ("inputs.people | map('name') | join('|')", "Ann|Bob|plain"),
        ("inputs.tags | contains('a')", True),
        ("inputs.spec | contains('login')", True),
        ("'a,b,' | split(',')", ["a", "b", ""]),
        ("'Aü' | upper", "AÜ"),
        ("'AÜ' | lower", "aü"),
        (
            "inputs.people | to_json",
            '[{"at": {"city": "Rome"}, "name": "Ann"}, {"name": "Bob"}, "plain"]',
        ),
        ("[1, 2,]", [1, 2]),
        ("[1,] + ['a',]", [1, "a"]),
        ("inputs.n | contains('3')", False),
        ("steps.list.output.stdout | from_json", [{"id": 1}, {"id": 2}]),
        ("(steps.list.output.stdout | from_json)[1].id", 2),
        ("inputs.tags | length", 2),
        ("inputs.spec | length", 12),
        ("inputs | length", 6),
        ("inputs.no | length", 0),
        ("steps.run-tests.output.stdout | trim", "10"),
        ("inputs.spec | raw", "a login page"),
        # a filter takes all that stands before it, as in spec-kit
        ("inputs.n == 4 | default('x')", False),
        ("(inputs.no | default(5)) > 4", True),
        ("inputs.no | default('a|b, (c)')", "a|b, (c)"),
    ],
)
def test_filters(expression: str, wanted: Any) -> None:
    assert value(expression) == wanted


def test_a_chain_is_one_node() -> None:
    assert parse("x | trim | default(1)") == Filtered(
        Path("x"), (Filter("trim"), Filter("default", (Literal(1),)))
    )


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("inputs.", "a name is expected after the dot"),
        (".Names", "a value is expected, not `.`"),
        ("1 +", "a value is expected, not the end"),
        ("== 1", "a value is expected, not `==`"),
        ("a b", "an operator, `|` or the end is expected, not `b`"),
        ("a = 1", "equality is =="),
        ("a && b", "write `and`"),
        ("!a", "write `not`"),
        ("a < b < c", "comparisons do not chain"),
        ("(a", "`)` is expected, not the end"),
        ("a)", "an operator, `|` or the end is expected, not `)`"),
        ("[1 2]", "`,` or `]` is expected, not `2`"),
        ("a[-1]", "a whole number, or a key in quotes, is expected"),
        ("a[1.5]", "a whole number, or a key in quotes, is expected"),
        ("a[b]", "a whole number, or a key in quotes, is expected"),
        ("a | title", "a filter (default, join, map, contains, from_json, length, split, upper,"),
        ("a |", "a filter"),
        ("a | join", "`join` takes one argument, not 0"),
        ("a | join(',', 1)", "`join` takes one argument, not 2"),
        ("a | from_json('x')", "`from_json` takes no argument, not 1"),
        ("a | default(1, 2)", "`default` takes one argument or none, not 2"),
        ("a | default(0) > 1", "`>` comes after a filter"),
        ("a | default(0) and b", "`and` comes after a filter"),
        ("len(a)", "`len` cannot be called"),
        ("a.b()", "an operator, `|` or the end is expected, not `(`"),
        ("1abc", "neither a number nor a name"),
        ("9" * 40, "too large"),
        ("9" * 400 + ".0", "too large"),
        ("a ? b", "'?' means nothing here"),
        ("and", "a value is expected, not `and`"),
        ("x" * 10_001, "more than 10,000 characters"),
    ],
)
def test_what_does_not_parse_is_said(expression: str, told: str) -> None:
    with pytest.raises(BadExpression) as caught:
        Text.parse("{{ " + expression + " }}")
    assert told in str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value.position, int)


def test_the_position_is_that_in_the_whole_text() -> None:
    with pytest.raises(BadExpression) as caught:
        Text.parse("first {{ fine }}\nthen {{ a ? b }}")
    assert caught.value.position == len("first {{ fine }}\nthen {{ a ")
    assert str(caught.value).startswith("`then {{ a ? b }}`, line 2, character 11: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a {{ b", "{{ is not closed by }}"),
        ("{{ 'a }}", "the quote ' is not closed"),
        ("{{ }}", "nothing stands between"),
        ("{{}}", "nothing stands between"),
    ],
)
def test_braces_that_do_not_close_are_said(text: str, told: str) -> None:
    with pytest.raises(BadExpression, match="as it is") as caught:
        Text.parse(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("'a' + 1", "text and a number cannot be added"),
        ("1 + true", "a number and true or false cannot be added"),
        ("none - 1", "nothing and a number cannot be subtracted"),
        ("'a' * 3", "text and a number cannot be multiplied"),
        ("[1] * 3", "a list and a number cannot be multiplied"),
        ("[1] | join(5)", "`join` takes text, not a number"),
        ("1 | join(5)", "`join` takes text, not a number"),
        ("'a' | contains(5)", "`contains` takes text, not a number"),
        ("1 | upper", "`upper` takes text, not a number"),
        ("'a' | split('')", "a separator that is not empty"),
        ("1 / 0", "cannot be divided by zero"),
        ("1 % 0.0", "cannot be divided by zero"),
        ("-'a'", "text has no negative"),
        ("9000000000000000000 * 9", "too large a number"),
        ("1" + "0" * 308 + ".0 * 10", "too large a number"),
        ("inputs.n | from_json", "`from_json` takes text, not a number"),
        ("inputs.spec | from_json", "invalid JSON"),
        ("'NaN' | from_json", "NaN is no number"),
        ("'1e999' | from_json", "a number is too large"),
        (f"'{'9' * 5000}' | from_json", "a number is too large"),
        ("inputs.tags | map(1)", "`map` takes text, not a number"),
        ("inputs.n | length", "takes text, a list or a mapping, not a number"),
        ("inputs.tags | trim", "`trim` takes text, not a list"),
    ],
)
def test_what_cannot_be_computed_is_said(expression: str, told: str) -> None:
    with pytest.raises(BadExpression) as caught:
        value(expression)
    assert told in str(caught.value)
    assert caught.value.text == expression


def test_brackets_go_only_so_deep_and_chains_as_long_as_they_like() -> None:
    deep = MOST_DEPTH - 1
    assert value("(" * deep + "1" + ")" * deep) == 1
    for opening, closing in ("()", "[]"):
        with pytest.raises(BadExpression, match=f"more than {MOST_DEPTH} levels"):
            value(opening * 3000 + closing * 3000)
    assert value("+".join(["1"] * 2000)) == 2000
    assert value(" and ".join(["true"] * 1000)) is True
    assert value("not " * 2001 + "true") is False
    assert value("-" * 3001 + "1") == -1
    assert value("'x'" + "| trim" * 1000) == "x"


def test_values_that_are_nested_deeply_are_no_way_to_end_the_process() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    same = [deep[0]]
    roots = {"a": deep, "b": same, "text": "[" * 100_000}
    for expression in ("a == b", "text | from_json", "'x' + a", "a | join('')"):
        text = Text.parse("{{ " + expression + " }} ")
        try:
            text.render(roots)
        except BadExpression:
            continue
    while deep:  # or freeing it would be what overflows
        deep = deep[0]


def test_a_result_grows_only_so_large() -> None:
    roots = {"big": "x" * 5_000_000}
    with pytest.raises(BadExpression, match="more than 8,000,000"):
        Text.parse("{{ big + big }}").render(roots)
    with pytest.raises(BadExpression, match="more than 8,000,000"):
        Text.parse("{{ big }}{{ big }}").render(roots)
    with pytest.raises(BadExpression, match="more than 8,000,000"):
        Text.parse("{{ [big, big] | join('') }}").render(roots)


# -- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("no braces", "no braces"),
        ("", ""),
        ("  {{ inputs.tags }}\n", ["a", "b"]),
        ("n = {{ inputs.n }}", "n = 3"),
        ("{{ inputs.n }}{{ inputs.n }}", "33"),
        ("{{ inputs.n }} {{ inputs.n }}", "3 3"),
        ("[{{ inputs.no }}]", "[]"),
        ("[{{ inputs.dry }}]", "[False]"),
        ("[{{ 1.0 }}]", "[1.0]"),
        ("of {{ inputs.tags }}", 'of ["a","b"]'),
        ("of {{ inputs.people[0] }}", 'of {"name":"Ann","at":{"city":"Rome"}}'),
        ("{{ inputs.spec | contains('}}') }}", False),
        ("a {{ inputs.no | default('}}') }} b", "a }} b"),
        ("{{ '{{' }}", "{{"),
        ("{ not } braces }}", "{ not } braces }}"),
        ("{{inputs.n}}", 3),
        ("{{\n  inputs.n\n}}", 3),
    ],
)
def test_texts(text: str, wanted: Any) -> None:
    got = Text.parse(text).render(ROOTS)
    assert got == wanted
    assert type(got) is type(wanted)


def test_a_value_is_data_for_the_shell_unless_it_is_raw() -> None:
    text = Text.parse("echo {{ a }} {{ a | raw }} {{ b | trim }} {{ none }}")
    roots = {"a": "$(rm x); y", "b": " it's "}
    assert text.quoted_render(roots, shlex.quote) == (
        """echo '$(rm x); y' $(rm x); y 'it'"'"'s' ''"""
    )
    assert Text.parse("{{ raw }}").quoted_render({"raw": "; x"}, shlex.quote) == "'; x'"


def test_what_a_text_uses() -> None:
    text = Text.parse(
        "{{ steps.a.output.list[0] }} {{ inputs.x | default(inputs.y) }} {{ (item | from_json).k }}"
        "{{ [steps['b c'].output] | map(inputs.f) }}{{not (1 + inputs.z == -inputs.w and q or r) }}"
    )
    assert text.names() == {
        ("steps", "a", "output", "list", "0"), ("inputs", "x"), ("inputs", "y"), ("item",),
        ("steps", "b c", "output"), ("inputs", "f"), ("inputs", "z"), ("inputs", "w"), ("q",),
        ("r",),
    }  # fmt: skip
    assert {each.path for each in text.uses() if each.guarded} == {("inputs", "x")}
    assert Text.parse("a } b").names() == set()


def test_a_value_of_any_kind() -> None:
    source = {"args": "{{ inputs.n }}", "deep": [1, {"x": "n={{ inputs.n }}"}], "none": None}
    made = Value.parse(source)
    assert made.render(ROOTS) == {"args": 3, "deep": [1, {"x": "n=3"}], "none": None}
    assert made.names() == {("inputs", "n")}
    assert Value.parse([1, {"a": "b"}, None]).names() == set()
    with pytest.raises(BadExpression):
        Value.parse({"a": ["{{ ? }}"]})


@pytest.mark.parametrize("yes", [True, 1, "x", "0", "no", " True\n", "TRUE", [0], {"a": 1}, 0.1])
def test_true(yes: Any) -> None:
    assert truth(yes) is True


@pytest.mark.parametrize("no", [False, 0, "", "false", "False\n", " FALSE ", [], {}, None, 0.0])
def test_false(no: Any) -> None:
    assert truth(no) is False
