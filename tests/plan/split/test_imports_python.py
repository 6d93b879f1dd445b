"""The quick reading of imports beside the grammar's own parser."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.split.imports.graph import graph_of
from fanwise.plan.split.imports.python import Import, Modules, python_imports
from tests.plan.split.support import made
from tests.profiles import examples

ROOT = Path(__file__).resolve().parents[3]


def by_grammar(text: str) -> list[Import]:
    found: list[Import] = []

    def visit(node: ast.AST, later: bool) -> None:
        for child in ast.iter_child_nodes(node):
            inside = later or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
                for each in child.body:
                    visit(ast.Module([each], []), True)
                visit(ast.Module(child.orelse, []), later)
                continue
            if isinstance(child, ast.Import):
                found.extend(Import(0, each.name, (), inside) for each in child.names)
            elif isinstance(child, ast.ImportFrom):
                names = tuple(each.name for each in child.names)
                found.append(Import(child.level, child.module or "", names, inside))
            visit(child, inside)

    visit(ast.parse(text), False)
    return sorted(found)


def test_both_find_the_same_in_this_code_base() -> None:
    files = [
        path for name in ("src", "tests", "docs", "bench") for path in (ROOT / name).rglob("*.py")
    ]
    assert len(files) > 300
    read = 0
    for path in files:
        text = path.read_text("utf-8")
        try:
            wanted = by_grammar(text)
        except SyntaxError:
            continue
        assert sorted(python_imports(text)) == wanted, path
        read += len(wanted)
    assert read > 3000


TRICKY = '''\
"""import nothing.at.all
from a.docstring import x
"""
import os, sys as system; import json
from . import one
from .two import (  # (a comment)
    a,
    b as c,  # import d
)
from ...up.three import *
from .import four
from\\
    x.y \\
    import z
if True: import inline
try:
    import tried
except ImportError: pass
text = "import quoted"
more = \'\'\'
import in_string
\'\'\' ; import after_string
long = "a \\
import continued"
# import commented
def f(
    a,
):
    import later
    class A:
        from deep import later_too
class B:
    import in_class
if TYPE_CHECKING:
    import typed
else:
    import untyped
important = 1
lib.import_module("x")
raise A from b
'''


def test_tricky_forms_are_read_like_the_grammar_reads_them() -> None:
    assert sorted(python_imports(TRICKY)) == by_grammar(TRICKY)
    windows = TRICKY.replace("\n", "\r\n")
    assert sorted(python_imports(windows)) == by_grammar(TRICKY)


PIECES = st.sampled_from(
    [
        "import a", "import a.b as c, d", "from x import y", "from .x import (y,\n  z as w)",
        "from . import (\n  q, # import r\n)", "x = 'import s'", '"""\nimport t\n"""', "# import u",
        "if x: import v", "y = 1; from z import *", "s = r'\\' '", "t = '#' ; import w",
        'f"{x} import y"', "b'''import\n'''", "x = [\n1, 2\n]", "pass",
    ]
)  # fmt: skip


@examples(1)
@given(lines=st.lists(st.tuples(PIECES, st.integers(0, 2)), max_size=12))
def test_any_mix_of_forms_is_read_like_the_grammar_reads_it(lines: list[tuple[str, int]]) -> None:
    text = ""
    for piece, depth in lines:
        if depth and "\n" not in piece and not piece.startswith("#"):
            text += ("def f():\n    " if depth == 1 else "class A:\n    ") + piece + "\n"
        else:
            text += piece + "\n"
    assert sorted(python_imports(text)) == by_grammar(text)


def imports(files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return graph_of(made(files)).imports


def test_modules_are_found_in_packages_src_layouts_and_beside_the_file() -> None:
    found = imports(
        {
            "src/pkg/__init__.py": "from .core import x",
            "src/pkg/core.py": "",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/mod.py": "from .. import core\nfrom ..core import y\nfrom . import other",
            "src/pkg/sub/other.py": "import pkg.core as c",
            "tests/test_core.py": "from pkg import core, thing\nimport pkg.sub.mod\nimport os",
            "tests/support.py": "",
            "tests/test_two.py": "from tests import support\nfrom tests.support import x",
            "tests/test_three.py": "import support",
        }
    )
    assert found == {
        "src/pkg/__init__.py": ("src/pkg/core.py",),
        "src/pkg/sub/mod.py": ("src/pkg/core.py", "src/pkg/sub/other.py"),
        "src/pkg/sub/other.py": ("src/pkg/core.py",),
        "tests/test_core.py": ("src/pkg/__init__.py", "src/pkg/core.py", "src/pkg/sub/mod.py"),
        "tests/test_two.py": ("tests/support.py",),
        "tests/test_three.py": ("tests/support.py",),
    }


def test_of_two_modules_with_one_name_the_nearer_one_is_meant() -> None:
    found = imports({"one/utils.py": "", "two/utils.py": "", "two/app.py": "import utils"})
    assert found == {"two/app.py": ("two/utils.py",)}


def test_relative_imports_never_leave_the_code_base() -> None:
    assert imports({"a.py": "from ....b import c\nfrom .. import b", "b.py": ""}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "<<<<<<< HEAD\nx = 1\n",
        "x = 1\nprint 'old'\n",
        "x = '''",
        "{{ name }} = 1",
        "1a\n",
    ],
)
def test_imports_are_read_in_a_file_that_does_not_parse(text: str) -> None:
    graph = graph_of(made({"a.py": "import b\n" + text, "b.py": ""}))
    assert graph.imports == {"a.py": ("b.py",)}


def test_packages_without_init_in_a_folder_inside_a_repository_are_found() -> None:
    modules = Modules(["in/ner/lib/a.py", "in/ner/judges/a.py", "in/ner/__main__.py"])
    found = modules.imported_by("in/ner/judges/a.py", "from lib.a import A\nimport ner.judges.b\n")
    assert found == {"in/ner/lib/a.py": False}
    assert Modules([]).imported_by("a.py", "import b\n") == {}
