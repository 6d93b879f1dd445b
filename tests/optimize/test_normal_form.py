"""Which programs are the same, and which must never pass for it."""
# ruff: noqa: E501 - programs of one line

from __future__ import annotations

import pytest

from fanwise.optimize.candidates.normal_form import FileVersion, identity, normal_form

SAME = [
    ("def f(a):\n    x = a\n    return x", "def f(a):\n    x = a  # so\n\n    return (x)"),
    ("x = 'a'", 'x = "a"'), ("f(a, b)", "f(\n    a,\n    b,\n)"), ("x = 1; y = 2", "x = 1\ny = 2"),
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
    ('def f():\n    """One."""\n    return 1', "def f():\n    return 1"),
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


def test_what_cannot_be_parsed_or_written_down_stands_for_itself() -> None:
    huge = "x = 0x" + "f" * 20_000
    assert normal_form(huge) == normal_form(huge) != normal_form(huge + "f")
    deep = "x = " + "-" * 100_000 + "1"
    assert normal_form(deep) != normal_form(deep + " ")
    assert normal_form("x = 1\0") != normal_form("x = 1")
    long = "x = 1\n" * 400_000
    assert normal_form(long) != normal_form(f"{long}# so")


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
