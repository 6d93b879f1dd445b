"""The parser and the evaluator against a straightforward reference, and against any text at all.

The reference evaluates a description that hypothesis made, with Python's own operators; the same
description is printed as an expression, with as few or as many brackets and spaces as chance will
have, and parsed. A wrong precedence, a lost operand or a filter on the wrong part is seen here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import BadExpression, FanwiseError
from fanwise.workflow.expressions import Text, Value, parse, truth
from fanwise.workflow.expressions.filters import FILTERS
from fanwise.workflow.expressions.kinds import kind_of
from fanwise.workflow.expressions.values import MOST_NUMBER, Impossible, kind
from tests.profiles import examples
from tests.workflow.support import shell_words

ROOTS: dict[str, Any] = {
    "inputs": {"n": 3, "z": 0, "t": "ten", "num": "10\n", "l": [1, "a", None], "flag": True},
    "steps": {"a-b": {"output": {"rows": [{"k": 1}, {"k": "v"}, 7]}}},
    "item": {"deep": {"json": '{"x": [1, 2]}'}},
}
PATHS = [
    "inputs.n", "inputs.z", "inputs.t", "inputs.num", "inputs.l", "inputs.l[1]", "inputs.flag",
    "inputs['t']", "steps.a-b.output.rows", "steps.a-b.output.rows[0].k", "item.deep.json",
    "item", "inputs.missing", "inputs.l[3]", "item.deep.json.x", "nowhere.at.all",
]  # fmt: skip

# How tight each kind of expression binds: an operand must be tighter than what it stands in.
PIPE, OR, AND, NOT, COMPARE, ADD, MULTIPLY, SIGN, ATOM = range(9)


class Refused(Exception):
    """The reference has no value for it."""


class Case(NamedTuple):
    """An expression as text, how tightly it binds, and what the reference makes of it."""

    text: str
    level: int
    value: Callable[[], Any]

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


# -- the reference --------------------------------------------------------------------------------


def looked_up(path: str) -> Any:
    value: Any = ROOTS
    for part in (
        path.replace("['", ".").replace("']", "").replace("]", "").replace("[", ".#").split(".")
    ):
        try:
            value = value[int(part[1:])] if part.startswith("#") else value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def arithmetic(left: Any, sign: str, right: Any) -> Any:
    if sign == "+" and {type(left), type(right)} in ({str}, {list}):
        return left + right
    if not (is_number(left) and is_number(right)) or (sign in "/%" and right == 0):
        raise Refused
    made = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
            "/": lambda: left / right, "%": lambda: left % right}[sign]()  # fmt: skip
    if not math.isfinite(made) or (isinstance(made, int) and abs(made) > MOST_NUMBER):
        raise Refused
    return made


def numeric(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            return value
    return value


def comparison(left: Any, sign: str, right: Any) -> bool:
    if sign in ("==", "!="):
        return bool(left == right) is (sign == "==")
    if sign in ("in", "not in"):
        try:
            found = left in right
        except TypeError:
            found = False
        return bool(found) is (sign == "in")
    numbers = numeric(left), numeric(right)
    if all(isinstance(each, int | float) for each in numbers):
        left, right = numbers
    try:
        order = {"<": lambda: left < right, "<=": lambda: left <= right,
                 ">": lambda: left > right, ">=": lambda: left >= right}  # fmt: skip
        return bool(order[sign]())
    except TypeError:
        return False


def filtered(value: Any, name: str, argument: Any) -> Any:
    if name == "default":
        return argument if value is None or value == "" else value
    if name == "contains":
        if isinstance(value, str):
            if not isinstance(argument, str):
                raise Refused
            return argument in value
        return isinstance(value, list) and argument in value
    if name == "map":
        if not isinstance(argument, str):
            raise Refused
        if not isinstance(value, list):
            return []
        return [each.get(argument) if isinstance(each, dict) else each for each in value]
    if name == "length":
        if value is not None and not isinstance(value, str | list | dict):
            raise Refused
        return len(value or "")
    if name == "trim":
        if value is not None and not isinstance(value, str):
            raise Refused
        return value if value is None else value.strip()
    if name == "from_json":
        try:
            return json.loads(value)
        except (TypeError, ValueError):
            raise Refused from None
    return value


# -- the cases ------------------------------------------------------------------------------------


def literal(value: Any) -> Case:
    if isinstance(value, str):
        quote = '"' if "'" in value else "'"
        return Case(f"{quote}{value}{quote}", ATOM, lambda: value)
    text = (
        {True: "true", False: "False", None: "none"}.get(value)
        if value in (True, False, None) and not is_number(value)
        else repr(value)
    )
    return Case(str(text), ATOM if not is_number(value) or value >= 0 else SIGN, lambda: value)


def listed(entries: list[Case], space: str) -> Case:
    text = f",{space}".join(entry.text for entry in entries)
    return Case(f"[{text}]", ATOM, lambda: [entry.value() for entry in entries])


def joined(parts: list[Case], word: str) -> Case:
    level = {"or": OR, "and": AND}[word]
    test = any if word == "or" else all
    text = f" {word} ".join(part.at(level + 1) for part in parts)
    return Case(text, level, lambda: test(bool(part.value()) for part in parts))


def computed(first: Case, rest: list[tuple[str, Case]], space: str) -> Case:
    """Of one level: `+ -`, or `* / %`."""
    level = ADD if rest[0][0] in "+-" else MULTIPLY
    # A minus that follows a name would be a part of it.
    text = first.at(level + 1) + "".join(f" {s}{space}{p.at(level + 1)}" for s, p in rest)

    def value() -> Any:
        made = first.value()
        for sign, part in rest:
            made = arithmetic(made, sign, part.value())
        return made

    return Case(text, level, value)


def compared(left: Case, sign: str, right: Case) -> Case:
    text = f"{left.at(ADD)} {sign} {right.at(ADD)}"
    return Case(text, COMPARE, lambda: comparison(left.value(), sign, right.value()))


def denied(of: Case) -> Case:
    return Case(f"not {of.at(NOT)}", NOT, lambda: not of.value())


def negative(of: Case) -> Case:
    def value() -> Any:
        made = of.value()
        if not is_number(made):
            raise Refused
        return -made

    return Case(f"-{of.at(SIGN)}", SIGN, value)


def piped(of: Case, name: str, argument: Case) -> Case:
    takes = FILTERS[name].most == 1
    text = f"{of.at(PIPE)} | {name}" + (f"({argument.text})" if takes else "")
    return Case(text, PIPE, lambda: filtered(of.value(), name, argument.value() if takes else None))


SPACE = st.sampled_from(["", " ", "\n  "])
LITERALS = st.one_of(
    st.sampled_from([True, False, None]),
    st.integers(-(10**6), 10**6),
    st.floats(0.5, 1000).map(lambda number: round(number, 2)),
    st.sampled_from(["10", "9", "-1.5", " 7\n", "1.2.3"]),
    st.text("abc 10.|&<}{)(,#", max_size=6),
).map(literal)
LEAVES = LITERALS | st.sampled_from(PATHS).map(
    lambda path: Case(path, ATOM, lambda: looked_up(path))
)


def larger(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    sums = st.lists(st.tuples(st.sampled_from("+-"), inner), min_size=1, max_size=3)
    products = st.lists(st.tuples(st.sampled_from("*/%"), inner), min_size=1, max_size=3)
    several = st.lists(inner, min_size=2, max_size=3)
    signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
    names = st.sampled_from(["default", "map", "contains", "from_json", "length", "trim", "raw"])
    return st.one_of(
        st.builds(computed, inner, sums, SPACE),
        st.builds(computed, inner, products, SPACE),
        st.builds(joined, several, st.sampled_from(["and", "or"])),
        st.builds(compared, inner, signs, inner),
        st.builds(denied, inner),
        st.builds(negative, inner),
        st.builds(piped, inner, names, inner),
        st.builds(listed, st.lists(inner, max_size=3), SPACE),
    )


CASES = st.recursive(LEAVES, larger, max_leaves=14)


@given(case=CASES)
@examples(10)
def test_an_expression_has_the_value_that_the_reference_gives_it(case: Case) -> None:
    text = Text.parse("{{ " + case.text + " }}")
    try:
        wanted = case.value()
    except Refused:
        with pytest.raises(BadExpression):
            text.render(ROOTS)
        return
    got = text.render(ROOTS)
    assert (got, type(got)) == (wanted, type(wanted)), case.text


@given(case=CASES, hidden=st.sets(st.sampled_from(["inputs", "steps", "item"])))
@examples(4)
def test_a_kind_that_is_known_before_is_that_of_the_value(case: Case, hidden: set[str]) -> None:
    """So a check refuses nothing that could be computed; `hidden`: roots of which it knows none."""

    def known(path: tuple[str, ...]) -> str | None:
        value: Any = ROOTS.get(path[0])
        for part in path[1:]:
            if isinstance(value, list):
                value = value[int(part)] if part.isdecimal() and int(part) < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        return None if path[0] in hidden else kind(value)

    text = Text.parse("{{ " + case.text + " }}")
    try:
        found = kind_of(text.expressions[0].tree, known)
    except Impossible:
        with pytest.raises(BadExpression):
            text.render(ROOTS)
        return
    try:
        got = text.render(ROOTS)
    except BadExpression:
        return
    assert found in (None, kind(got)), case.text


PIECES = st.sampled_from(
    ["inputs", ".", "n", "[", "]", "(", ")", "0", "1.5", "'", '"', "|", ",", "==", "<", "not", "in",
     "and", "or", "+", "-", "*", "/", "%", "default", "join", "map", "from_json", " ", "\n", "none",
     "true", "{", "}", "{{", "}}", "\\", "é", "²", "٣", "\0", "\ud800", "=", "!", "steps.a-b", ":"]
)  # fmt: skip
NOISE = st.text(max_size=60) | st.lists(PIECES, max_size=40).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(noise=NOISE, value=JSON)
@examples(10)
def test_any_text_is_a_value_or_our_error(noise: str, value: Any) -> None:
    roots = {"inputs": {"n": value}, "steps": ROOTS["steps"]}
    for text in (noise, "{{ " + noise + " }}", "{{ inputs.n | " + noise + " }} x"):
        try:
            made = Text.parse(text)
            made.names()
            truth(made.render(roots))
            shell_words(made, roots)
        except FanwiseError:
            continue  # anything else is what this test is about


@given(text=NOISE)
@examples(4)
def test_what_parses_parses_the_same_again_and_errors_say_where(text: str) -> None:
    try:
        tree = parse(text)
    except BadExpression as error:
        place = error.position
    else:
        place = 0
        assert parse(text) == tree
    assert place is not None and 0 <= place <= len(text)


@given(value=JSON)
def test_a_value_without_braces_is_itself(value: Any) -> None:
    if "{{" not in json.dumps(value):
        assert repr(Value.parse(value).render({})) == repr(value)
        assert repr(Text.parse("{{ x }}").render({"x": value})) == repr(value)
