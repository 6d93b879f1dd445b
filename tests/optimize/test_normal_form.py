"""Which programs are the same, and which must never pass for it."""
# ruff: noqa: E501 - programs of one line

from __future__ import annotations

import ast
import contextlib
import io
import random
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.optimize.candidates.normal_form import FileVersion, identity, normal_form, normalise
from tests.optimize.support import code
from tests.profiles import examples

SAME = [
    ("def f(a):\n    x = a\n    return x", "def f(a):\n    y = a  # so\n\n    return (y)"),
    ("def f():\n    return [x for x in 'ab']", "def f():\n    return [y for y in 'ab']"),
    ("s = {x: y for x, y in p if x}", "s = {k: v for k, v in p if k}"),
    ("sorted(p, key=lambda x: x[0])", "sorted(p, key=lambda pair: pair[0])"),
    ("p.sort(key=lambda x: x[0])", "p.sort(key=lambda q: q[0])"),
    ("t = list(map(lambda x: x, p))", "t = list(map(lambda y: y, p))"),
    ("t = (lambda x: x)(1)", "t = (lambda y: y)(1)"),
    ('def f():\n    """One."""\n    return 1', "def f():\n    return 1"),
    ('def f():\n    """One."""', "def f():\n    pass"),
    ('"""One."""\nx = 1', "x = 1"),
    ('class A:\n    """One."""\n    x = 1', "class A:\n    x = 1"),
    ("def f():\n    x: int = 1\n    return x", "def f():\n    x = 1\n    return x"),
    ("def f():\n    x: int\n    return x", "def f():\n    x: str\n    return x"),
    ("def f(*a, **k):\n    return a, k", "def f(*args, **more):\n    return args, more"),
    ("def f(a, /):\n    return a", "def f(b, /):\n    return b"),
    (
        "def f():\n    x = 0\n    def g():\n        nonlocal x\n        x += 1\n    g()\n    return x",
        "def f():\n    y = 0\n    def g():\n        nonlocal y\n        y += 1\n    g()\n    return y",
    ),
    (
        "def f():\n    try: pass\n    except OSError as e: return e",
        "def f():\n    try: pass\n    except OSError as error: return error",
    ),
    (
        "def f(v):\n    match v:\n        case [a, *b]: return a, b\n        case {1: c, **d}: return c, d",
        "def f(v):\n    match v:\n        case [w, *x]: return w, x\n        case {1: y, **z}: return y, z",
    ),
    (
        "def f(p):\n    return [y for x in p if (y := x)], y",
        "def f(p):\n    return [b for a in p if (b := a)], b",
    ),
    (
        "def f():\n    x = 1\n    class A:\n        def g(self):\n            return x",
        "def f():\n    y = 1\n    class A:\n        def g(self):\n            return y",
    ),
    ("async def f(p):\n    return [x async for x in p]", "async def f(p):\n    return [y async for y in p]"),
]  # fmt: skip

DIFFERENT = [
    # names that others can see
    ("def f(a): return a", "def f(b): return b"),
    ("def f(*, a): return a", "def f(*, b): return b"),
    ("f = lambda a: a", "f = lambda b: b"),
    ("g(key=lambda a: a)", "g(key=lambda b: b)"),
    ("sorted = g\nsorted(p, key=lambda a: a)", "sorted = g\nsorted(p, key=lambda b: b)"),
    ("from g import *\nmap(lambda a: a, p)", "from g import *\nmap(lambda b: b, p)"),
    ("(lambda a: a)(a=1)", "(lambda b: b)(a=1)"),
    ("@d\ndef f(*a): return a", "@d\ndef f(*b): return b"),
    ("def f():\n    def g(): pass\n    return g", "def f():\n    def h(): pass\n    return h"),
    ("def f():\n    class A: pass\n    return A", "def f():\n    class B: pass\n    return B"),
    ("def f():\n    import a\n    return a", "def f():\n    import b\n    return b"),
    ("x = 1", "y = 1"),
    ("class A:\n    x = 1", "class A:\n    y = 1"),
    ("def f(o):\n    o.x = 1", "def f(o):\n    o.y = 1"),
    ("def f():\n    global x\n    x = 1", "def f():\n    global y\n    y = 1"),
    ("def f():\n    x = 1\n    return x", "def f():\n    x = 1\n    return y"),
    ("def f():\n    x = 1\n    return x", "def f():\n    global x\n    x = 1\n    return x"),
    ("g(x=1)", "g(y=1)"),
    ("def f():\n    x = 1\n    g(x=x)", "def f():\n    y = 1\n    g(y=y)"),
    # names that are used as text
    ("def f():\n    x = 1\n    return locals()", "def f():\n    y = 1\n    return locals()"),
    ("def f():\n    x = 1\n    return eval('x')", "def f():\n    y = 1\n    return eval('x')"),
    ("def f(d):\n    x = 1\n    return d.query('a > @x')", "def f(d):\n    y = 1\n    return d.query('a > @x')"),
    ("def f():\n    x = 1\n    return f'{x=}'", "def f():\n    y = 1\n    return f'{y=}'"),
    ("def f():\n    x = 1\n    return getattr(b, 'vars')()", "def f():\n    y = 1\n    return getattr(b, 'vars')()"),
    # which variable is meant
    (
        "def f():\n    x = 0\n    def g():\n        nonlocal x\n        import os as x\n    g()\n    return x",
        "def f():\n    y = 0\n    def g():\n        nonlocal y\n        import os as x\n    g()\n    return y",
    ),
    ("def f(p):\n    x = 0\n    return [x for y in p]", "def f(p):\n    x = 0\n    return [y for y in p]"),
    ("def f(p):\n    x = 0\n    t = [x for x in p]\n    return x", "def f(p):\n    x = 0\n    t = [y for x in p]\n    return x"),
    (
        "def f():\n    x = 0\n    def g():\n        x = 1\n    g()\n    return x",
        "def f():\n    x = 0\n    def g():\n        nonlocal x\n        x = 1\n    g()\n    return x",
    ),
    ("def f():\n    x = y = 1\n    return x", "def f():\n    x = 1\n    return x"),
    ("def f(a, b):\n    x, y = a, b\n    return x", "def f(a, b):\n    x, y = a, b\n    return y"),
    ("def f():\n    x = 1\n    del x\n    return x", "def f():\n    x = 1\n    return x"),
    ("def f():\n    x: int\n    return x", "def f():\n    return x"),
    ("def f():\n    x = 1\n    class A:\n        y = x", "def f():\n    z = 1\n    class A:\n        y = z"),
    # what is read by others
    ('def f():\n    """One."""\nprint(f.__doc__)', 'def f():\n    """Two."""\nprint(f.__doc__)'),
    ('"""One."""\nprint(__doc__)', '"""Two."""\nprint(__doc__)'),
    ('@command()\ndef f():\n    """One."""', '@command()\ndef f():\n    """Two."""'),
    ('class A(Base):\n    """One."""', 'class A(Base):\n    """Two."""'),
    ('def f():\n    """>>> f()\n    1"""', 'def f():\n    """>>> f()\n    2"""'),
    ("class A:\n    x: int = 1", "class A:\n    x: str = 1"),
    ("x: int = 1", "x = 1"),
    ("def f(a: int): pass", "def f(a: str): pass"),
    (
        "def f():\n    T = int\n    def g(a: T): pass\n    return g",
        "def f():\n    U = int\n    def g(a: U): pass\n    return g",
    ),
    ("import traceback\nx = 1", "import traceback\n\nx = 1"),
    # values
    ("x = 1", "x = 1.0"), ("x = 1", "x = True"), ("x = ''", "x = b''"), ("x = 0.0", "x = -0.0"),
    ("x = 1e999", "x = inf"), ("x = (1,)", "x = 1"), ("x = [1]", "x = (1,)"),
    ("a and b", "b and a"), ("a < b < c", "a < b and b < c"), ("x = a - b", "x = b - a"),
    ("def f(): return g()", "def f(): g()"), ("def f(): yield 1", "async def f(): yield 1"),
    ("x = 1", "x = ="), ("x = =", "x = = "),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words_is_the_same(one: str, other: str) -> None:
    assert one != other
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_never_passes_for_the_same(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


def test_a_name_that_looks_like_ours_is_never_met_by_one() -> None:
    one = "def f(p):\n    x = 1\n    local_0 = 2\n    return x, local_0"
    other = "def f(p):\n    x = 1\n    y = 2\n    return x, y"
    assert normal_form(one) != normal_form(other)
    assert normal_form(one) == normal_form(one + "  # so")


def test_a_class_that_says_global_does_not_say_it_for_its_methods() -> None:
    source = code(
        """
        x = "outer"
        def f():
            x = "inner"
            class A:
                global x
                x = "class"
                def g(self):
                    return x
            return A().g(), x
        """
    )
    assert executed(source, "f()") == executed(normalised(source), "f()")


def test_what_cannot_be_parsed_or_written_down_stands_for_itself() -> None:
    huge = "x = 0x" + "f" * 20_000
    assert normal_form(huge) == normal_form(huge) != normal_form(huge + "f")
    deep = "x = " + "-" * 100_000 + "1"
    assert normal_form(deep) != normal_form(deep + " ")
    assert normal_form("x = 1\0") != normal_form("x = 1")
    long = "x = 1\n" * 400_000
    assert normal_form(long) != normal_form(f"{long}# so")


def test_newer_syntax_is_left_as_it_is() -> None:
    try:
        ast.parse("type X = int")
    except SyntaxError:
        pytest.skip("this Python has no type statement")
    one, other = (
        "def f[T](a: T):\n    x = a\n    return x",
        "def f[T](a: T):\n    y = a\n    return y",
    )
    assert normal_form(one) != normal_form(other)


def test_identity_is_of_what_changed_and_nothing_else() -> None:
    a, b = FileVersion("100644", b"x = 1\n"), FileVersion("100644", b"x = 2\n")
    noted = FileVersion("100644", b"x = 1  # so\n")
    assert identity({}) == identity({"a.py": (a, noted)}) == ""
    assert identity({"a.py": (a, b)}) == identity({"a.py": (a, b), "b.py": (a, noted)}) != ""
    assert identity({"a.py": (a, b)}) != identity({"b.py": (a, b)})
    assert identity({"a.py": (a, b)}) != identity({"a.py": (a, None)}) != ""
    assert identity({"a.py": (None, a)}) == identity({"a.py": (None, noted)}) != ""
    assert identity({"a.txt": (a, noted)}) != ""
    assert identity({"a.py": (a, FileVersion("100755", a.content))}) != ""
    for coding in (b"nonsense", b"zlib"):
        assert (
            identity({"a.py": (a, FileVersion("100644", b"# coding: %b\nx = 1\n" % coding))}) != ""
        )


# Random programs: small functions over a few names, so that scopes meet. Made from a seed, for that
# is a hundred times quicker than a strategy of strategies.

NAMES = ["a", "b", "c", "d"]


class Maker:
    """Programs of chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice([*NAMES, "1", "2"])
        n, inner = self.name, self.expression(depth - 1)
        return self.random.choice([
            f"({inner}, {self.expression(depth - 1)})",
            f"[{n()} for {n()} in ({inner}, 1)]",
            f"[({n()}, {(own := n())}) for {own} in (1, 2) for {n()} in ({inner},)]",
            f"({n()} := {inner})",
            f"[({n()} := i) for i in ({inner}, 2)]",
            f"(lambda {n()}: {inner})({self.expression(depth - 1)})",
            f"sorted((2, 1), key=lambda {n()}: str({inner}))",
            f"f'{{{inner}!r}}'",
        ])  # fmt: skip

    def statement(self, depth: int = 2) -> list[str]:
        if depth and self.random.random() < 0.5:
            return self.block(depth - 1)
        n, value = self.name(), self.expression()
        return self.random.choice([
            [f"{n} = {value}"], [f"{n}: int = {value}"], [f"{n}: int"], [f"del {n}"],
            [f"print({value})"], [f"print({value})"], [f"global {n}"], [f"nonlocal {n}"],
            [f"import os as {n}", f"{n} = {n}.sep"],
        ])  # fmt: skip

    def block(self, depth: int) -> list[str]:
        body = [
            "    " + line
            for _ in range(self.random.randint(1, 3))
            for line in self.statement(depth)
        ]
        n = self.name()
        return self.random.choice([
            [f"def {n}({self.name()}=1):", *body, f"print({n}())"],
            [f"def inner(*{n}):", *body, "inner(1)"],
            ["def inner():", *body, "inner()"],
            [f"class {n}:", *body],
            ["class Named:", *body],
            [f"for {n} in (1, 2):", *body],
            ["try:", *body, f"except Exception as {n}:", f"    print(type({n}))"],
            ["match (1, 2, 3):", f"    case [{n}, *{self.name()}]:", *("    " + line for line in body)],
        ])  # fmt: skip

    def program(self) -> str:
        """One that compiles; what does not run to its end counts as well."""
        while True:
            body = ["    " + line for _ in range(4) for line in self.statement()]
            start = [f"    {each} = 0" for each in NAMES if self.random.random() < 0.5]
            head = ["a = 10", "b = 20", "def f(c=5, *d):", *start]
            source = "\n".join([*head, *body, f"    return {self.expression()}", ""])
            if compiles(source):
                return source


def compiles(source: str) -> bool:
    try:
        compile(source, "x.py", "exec")
    except SyntaxError:
        return False
    return True


def executed(source: str, call: str) -> object:
    """All that can be seen of it: value, type of exception, output, globals."""
    space: dict[str, Any] = {}
    out = io.StringIO()
    value: object
    with contextlib.redirect_stdout(out):
        exec(compile(source, "x.py", "exec"), space)
        try:
            value = repr(eval(call, space))
        except Exception as error:
            value = type(error)
    kept = {key: repr(item) for key, item in space.items() if key in NAMES and not callable(item)}
    return plain(value), plain(out.getvalue()), {key: plain(item) for key, item in kept.items()}


def plain(seen: object) -> object:
    """Without addresses."""
    if not isinstance(seen, str):
        return seen
    return " ".join(word for word in seen.split() if not word.startswith("0x"))


def normalised(source: str) -> str:
    tree = ast.parse(source)
    assert normalise(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


seeds = st.integers(0, 1 << 32)
PLENTY = examples(0.25)


@PLENTY
@given(seeds)
def test_a_program_in_normal_form_does_what_it_did(seed: int) -> None:
    for offset in range(10):
        source = Maker(seed + offset).program()
        did = executed(source, "f()")
        if sys.version_info >= (3, 12) and did[0] is NameError:
            continue  # a class beside an inlined comprehension may lose a name: CPython's doing
        assert executed(normalised(source), "f()") == did


LOCALS = [f"v{number}" for number in range(4)]


class _Renamed(ast.NodeTransformer):
    """Other names for what is called v0, v1, …"""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.MatchAs:
        return ast.MatchAs(node.pattern, self.names.get(node.name or "", node.name))


def local_program(seed: int) -> str:
    """A program whose locals nobody else can see."""
    chance = random.Random(seed)
    lines = ["def f(p):", *(f"    {each} = {at}" for at, each in enumerate(LOCALS))]
    for _ in range(chance.randint(1, 5)):
        x, y, into = chance.choices(LOCALS, k=3)
        what = chance.choice([
            x, f"[{x} for {y} in (1, 2)]", f"({x} := ({y}, 7))", f"[({x} := i) for i in ({y}, 2)]",
        ])  # fmt: skip
        form = chance.choice([
            "    {0} = {1}", "    {0}: int = {1}", "    for {0} in ({1}, 3): p.append({0})",
            "    p.append({1})", "    {0} = [1 for {0} in ({1}, {0})]",
            "    match {1}:\n        case {0}: p.append({0})",
        ])  # fmt: skip
        lines.append(form.format(into, what))
    x, y = chance.choices(LOCALS, k=2)
    return "\n".join([*lines, f"    return {x}, {y}", ""])


def with_names(source: str, names: list[str]) -> str:
    tree = _Renamed(dict(zip(LOCALS, names, strict=True))).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))


@PLENTY
@given(seeds, st.permutations(["x", "y", *LOCALS]))
def test_a_renamed_copy_is_the_same(seed: int, names: list[str]) -> None:
    source = local_program(seed)
    if compiles(source):
        assert normal_form(with_names(source, names[:4])) == normal_form(source)


@PLENTY
@given(seeds)
def test_whatever_is_changed_if_it_does_something_else_it_is_not_the_same(seed: int) -> None:
    for offset in range(10):
        source, chance = local_program(seed + offset), random.Random(seed + offset)
        if not compiles(source):
            continue
        merged = with_names(source, chance.choices(LOCALS, k=4))
        changed = one_name_changed(source, chance.randrange(30), chance.choice(LOCALS))
        for other in (merged, changed):
            if compiles(other) and normal_form(other) == normal_form(source):
                call = "(p := [], f(p))"
                assert executed(other, call) == executed(source, call)


def one_name_changed(source: str, at: int, other: str) -> str:
    tree = ast.parse(source)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    found[at % len(found)].id = other
    return ast.unparse(tree)
