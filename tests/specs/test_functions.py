"""`call: module:function` finds a function beside its file, or says exactly what is not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import function
from tests.specs.support import document

CODE = """
import beside_helper
limit = 3
def is_short(text):
    return len(text) < limit and beside_helper.yes
class Checks:
    @staticmethod
    def long(text):
        return not is_short(text)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "beside_checks.py").write_text(CODE)
    (tmp_path / "beside_helper.py").write_text("yes = True")
    (tmp_path / "beside_broken.py").write_text("1 / 0")
    (tmp_path / "beside_exits.py").write_text("raise SystemExit(0)")
    (tmp_path / "beside_needs.py").write_text("import beside_nothing")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("beside_")]:
        del sys.modules[name]


def test_a_function_beside_the_file_is_found_and_the_search_path_is_as_before(folder: Path) -> None:
    before = list(sys.path)
    where = document("call: x", folder=folder).at("call")
    assert function("beside_checks:is_short", where)("ab")
    assert function("beside_checks:Checks.long", where)("abc")
    assert function("os.path:join", where)("a", "b") == "a/b"
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beside_checks", "'beside_checks' is not a function; write `module:function`"),
        ("a b:c", "'a b:c' is not a function; write `module:function`"),
        ("beside_none:f", "there is no module `beside_none` in "),
        ("os.none:f", "there is no module `os.none` in "),
        ("beside_checks:is_shrot", "`beside_checks` has no `is_shrot`; did you mean `is_short`?"),
        ("beside_checks:limit", "`beside_checks:limit` is a int, and cannot be called"),
        ("beside_broken:f", "importing `beside_broken` raised ZeroDivisionError: division by zero"),
        ("beside_exits:f", "importing `beside_exits` raised SystemExit: 0"),
        ("beside_needs:f", "importing `beside_needs` raised ModuleNotFoundError: No module named "
         "'beside_nothing'"),
    ],
)  # fmt: skip
def test_what_cannot_be_found_or_called_is_said(folder: Path, text: str, message: str) -> None:
    with pytest.raises(BadSpec) as caught:
        function(text, document("a:\n  call: x", folder=folder).at("a", "call"))
    assert caught.value.message.startswith(f"f.yaml:2:9: a.call: {message}")


def test_a_module_that_has_the_name_of_another_is_refused(folder: Path) -> None:
    (folder / "json.py").write_text("def loads(): ...")
    with pytest.raises(BadSpec, match=r"`json` is the name of another module too .*rename json.py"):
        function("json:loads", document("call: x", folder=folder).at("call"))
