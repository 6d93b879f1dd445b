"""What can be a target, where it is, and what takes its place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fanwise.errors import BadTarget, CandidateUnfit
from fanwise.optimize.candidates.replace_function import replace
from fanwise.optimize.candidates.source_text import SourceText
from fanwise.optimize.candidates.target import Target
from tests.optimize.support import code

SOURCE = code(
    '''
    import functools
    from typing import overload

    LIMIT = 3
    alias = len

    def plain(x):
        return x

    @functools.lru_cache(
        maxsize=None,
    )
    # a comment between
    def decorated(x):
        def inner():
            return x
        return inner()

    async def waits():
        yield 1

    @overload
    def many(x: int) -> int: ...
    @overload
    def many(x: str) -> str: ...
    def many(x):
        return x

    if LIMIT:
        def chosen():
            return 1
    else:
        def chosen():
            return 2

    try:
        def tried():
            return 1
    finally:
        pass

    class Graph:
        """A graph."""

        class Node:
            def degree(self):
                return 0

        @property
        def size(self):
            return 0

        @size.setter
        def size(self, value):
            pass

        @classmethod
        def empty(cls):
            return cls()

        @staticmethod
        def find(nodes):
            return max(nodes)
    '''
)


def lines(name: str) -> str:
    start, end = Target("a.py", name).span(SOURCE)
    return "".join(SourceText(SOURCE).lines()[start:end])


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("plain", "def plain(x):", "return x"),
        ("decorated", "@functools.lru_cache(", "return inner()"),
        ("waits", "async def waits():", "yield 1"),
        ("many", "def many(x):", "return x"),
        ("tried", "def tried():", "return 1"),
        ("Graph.Node.degree", "def degree(self):", "return 0"),
        ("Graph.empty", "@classmethod", "return cls()"),
        ("Graph.find", "@staticmethod", "return max(nodes)"),
    ],
)
def test_a_target_has_its_lines_with_its_decorators(name: str, first: str, last: str) -> None:
    found = lines(name).strip().splitlines()
    assert found[0].strip() == first
    assert found[-1].strip() == last


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("plian", "Did you mean a.py::plain?"),
        ("find", "Did you mean a.py::Graph.find?"),
        ("nothing_like_it", "It has plain, decorated"),
        ("Graph", "it is a class. Name a method: Graph.size, Graph.empty, Graph.find$"),
        ("decorated.inner", "decorated is a function, and nobody else can call"),
        ("Graph.size", "it is defined more than once"),
        ("alias", "line 5 assigns or imports it"),
        ("functools", "line 1 assigns or imports it"),
        ("chosen", r"more than once \(lines 30, 33\)"),
    ],
)
def test_what_cannot_be_a_target_is_told_with_what_can(name: str, problem: str) -> None:
    with pytest.raises(BadTarget, match=problem):
        Target("a.py", name).find(SOURCE)


@pytest.mark.parametrize(
    "text", ["a.py", "::f", "a.py::", "/a.py::f", "../a.py::f", "a.c::f", "a.py::f()"]
)
def test_what_is_no_target_at_all_is_refused(text: str) -> None:
    with pytest.raises(BadTarget):
        Target.parse(text)


def test_a_target_is_read_as_people_write_it() -> None:
    assert Target.parse("src/a.py::Graph.find").text() == "src/a.py::Graph.find"
    assert Target.parse("src/a.py::Graph::find").name == "Graph.find"
    assert Target.parse("./a.py::f", inside="part").file == "part/a.py"


def test_a_file_that_is_not_there_or_does_not_parse_is_said(tmp_path: Path) -> None:
    target = Target("a.py", "f")
    with pytest.raises(BadTarget, match="No such file"):
        target.read(tmp_path)
    (tmp_path / "a.py").write_bytes(b"# \xff\n")
    with pytest.raises(BadTarget, match="not text"):
        target.read(tmp_path)
    with pytest.raises(BadTarget, match="does not parse"):
        target.find("def f(:\n")


def replaced(name: str, given: str, source: str = SOURCE) -> str:
    text = replace(SourceText(source), Target("a.py", name), given).text
    compile(text, "a.py", "exec")
    return text


def test_a_function_takes_the_place_of_the_target_and_nothing_else_changes() -> None:
    text = replaced("decorated", "def decorated(x):\n    return x + 1\n")
    start, end = Target("a.py", "decorated").span(SOURCE)
    old = SOURCE.splitlines()
    assert text.splitlines() == [*old[:start], "def decorated(x):", "    return x + 1", *old[end:]]


@pytest.mark.parametrize(
    "given",
    [
        "@staticmethod\ndef find(nodes):\n    return 1\n",
        "    @staticmethod\n    def find(nodes):\n        return 1\n",
        "\t@staticmethod\n\tdef find(nodes):\n\t    return 1\n",
        'class Graph:\n    """A graph."""\n    @staticmethod\n    def find(nodes):\n        return 1',  # noqa: E501
    ],
)
def test_a_method_is_taken_however_it_is_indented(given: str) -> None:
    text = replaced("Graph.find", given)
    assert text.endswith("    @staticmethod\n    def find(nodes):\n        return 1\n")
    assert text.startswith(SOURCE[: SOURCE.index("    @staticmethod")])


def test_strings_over_several_lines_keep_their_white_space() -> None:
    given = "    def find(nodes):\n        return '''\n    x\n        y'''\n"
    text = replaced("Graph.find", given)
    inner = next(
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Constant) and n.value == "\n    x\n        y"
    )
    assert inner.lineno > 40


def test_imports_and_helpers_go_to_the_top_level_in_front_and_what_is_there_is_not_repeated() -> (
    None
):
    given = (
        "import functools\nimport heapq\nLIMIT = 3\n\ndef helper():\n    return 1\n\n"
        "def find(nodes):\n    return helper()\n"
    )
    text = replaced("Graph.find", given)
    assert text.count("import functools") == text.count("LIMIT = 3") == 1
    assert text.index("import heapq") < text.index("def helper") < text.index("class Graph")
    space: dict[str, object] = {}
    exec(text, space)
    assert space["Graph"].find([]) == 1  # type: ignore[attr-defined]


def test_a_body_alone_is_put_under_the_head_that_is_there() -> None:
    text = replaced("Graph.empty", "node = cls()\nreturn node\n")
    assert "    def empty(cls):\n        node = cls()\n        return node\n" in text


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("def other(x):\n    return x\n", "no function plain"),
        ("x = 1\n", "no function plain"),
        ("def plain(x:\n", r"does not parse: .* \(line 1\)"),
        ("    x = 1\n    x = =\n", r"does not parse: invalid syntax \(line 2\)"),
        ("def plain(x): pass\ndef plain(x): pass\n", "more than once"),
        ("LIMIT = 4\ndef plain(x):\n    return x\n", "another meaning to LIMIT"),
        ("from os import alias\ndef plain(x):\n    return x\n", "another meaning to alias"),
        ("from __future__ import annotations\ndef plain(x):\n    return x\n", "__future__"),
    ],
)
def test_what_cannot_take_its_place_is_said(given: str, problem: str) -> None:
    with pytest.raises(CandidateUnfit, match=problem):
        replaced("plain", given)


def test_a_class_that_changes_more_than_the_method_is_refused() -> None:
    with pytest.raises(CandidateUnfit, match="more of class Graph"):
        replaced(
            "Graph.find", "class Graph:\n    cache = {}\n    def find(nodes):\n        return 1\n"
        )


def test_encoding_mark_and_line_ends_stay() -> None:
    content = "\ufeffdef f():\r\n    return 'ä'\r\n".encode()
    source = SourceText.of(content)
    new = replace(source, Target("a.py", "f"), "def f():\n    return 'ö'\n")
    assert new.content() == content.replace("ä".encode(), "ö".encode())
    latin = SourceText.of("# coding: latin-1\ndef f(): return 'ä'\n".encode("latin-1"))
    assert latin.text.endswith("'ä'\n")
    assert latin.content().endswith(b"'\xe4'\n")
    assert SourceText("a\x0cb\u2028\n").lines() == ["a\x0cb\u2028\n"]
