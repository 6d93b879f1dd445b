from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.model.leaf_result import Try
from fanwise.plan.work.by_command import CommandWorker
from fanwise.plan.work.context import context, files_imported_by
from fanwise.plan.work.names import Names
from fanwise.plan.work.prompt import prompt, quoted
from fanwise.plan.work.signatures import signatures
from fanwise.plan.work.verify import judging_tests
from tests.plan.work.support import FILES, do, how, leaf, make_repository
from tests.profiles import examples

PYTHON = '''
"""A module."""
import os
LIMIT: int = 3
NAMES = ("a", "b")
_private = 1

@decorated
def plain(a, /, b: int = 1, *rest: str, key=None, **more) -> list[str]:
    """Do it.

    At length.
    """
    return []

async def waits(): ...
def _hidden(): ...

class Box(Base, metaclass=Meta):
    """Holds things."""
    size: int
    def __init__(self, size: int) -> None: ...
    def open(self): ...
    def _shut(self): ...
    class Inner: ...
'''
SCRIPT = """
import x from "y";
export const LIMIT = 3;
export default function main(a: string): void {
  return;
}
export async function waits() {
export class Box extends Base {
export type Name = string;
export { other };
export * from "z";
const hidden = 1;
"""
GO = """
package p
func Open(name string) (*Box, error) {
func (b *Box) Shut() {
func hidden() {
type Box struct {
const Limit = 3
var other = 1
"""


def test_what_python_declares() -> None:
    assert signatures("a.py", PYTHON) == [
        "LIMIT: int",
        "NAMES = …",
        "def plain(a, /, b: int=…, *rest: str, key=…, **more) -> list[str]:  # Do it.",
        "async def waits():",
        "class Box(Base, metaclass=Meta):  # Holds things.",
        "    size: int",
        "    def __init__(self, size: int) -> None:",
        "    def open(self):",
        "    class Inner:",
    ]


def test_what_scripts_and_go_export() -> None:
    assert signatures("a.ts", SCRIPT) == [
        "export const LIMIT = …",
        "export default function main(a: string): void",
        "export async function waits()",
        "export class Box extends Base",
        "export type Name = string;",
    ]
    assert signatures("a.go", GO) == [
        "func Open(name string) (*Box, error)",
        "func (b *Box) Shut()",
        "type Box struct",
        "const Limit = …",
    ]


VALUES = {
    'KEY = "sk-12"': "KEY = …",
    'KEY = f"sk-{1}2"': "KEY = …",
    'KEYS = {"a": "sk-12"}': "KEYS = …",
    'KEYS["a"] = "sk-12"': None,
    'KEY = load("sk-12").value': "KEY = …",
    "LIMIT = 123456": "LIMIT = …",
    'KEY: Annotated[str, "sk-12 and twenty more of them"] = 1': "KEY: Annotated[str, …]",
    "def f(mode='r', key='sk-12', *, of=()): ...": "def f(mode=…, key=…, *, of=…):",
    "def f(*, key: Literal['sk-12 and twenty more of them'] = f'sk-12', to): ...":
        "def f(*, key: Literal[…]=…, to):",
    "def f(key: Literal['a', 'b']) -> 'Box': ...": "def f(key: Literal['a', 'b']) -> 'Box':",
    "class A(B, key='sk-12 and twenty more of them', **C): ...": "class A(B, key=…, **C):",
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_values_that_may_be_secrets_are_not_told(text: str) -> None:
    told = VALUES[text]
    assert signatures("a.py", text) == ([] if told is None else [told])


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("a.ts", 'export const KEY = "sk-12";', "export const KEY = …"),
        ("a.ts", "export const KEY: string = `sk-12", "export const KEY: string = …"),
        ("a.js", 'export const KEYS = {a: "sk-12"};', "export const KEYS = …"),
        ("a.js", "export const KEYS = {", "export const KEYS = …"),
        ("a.js", 'export let made = make("sk-12");', "export let made = …"),
        ("a.js", "export const f = (a) => {", "export const f = (a) =>"),
        ("a.js", 'export default "sk-12 and twenty more of them"', "export default …"),
        ("a.ts", 'export type Kind = "a" | "b";', 'export type Kind = "a" | "b";'),
        ("a.go", 'const Key = "sk-12"', "const Key = …"),
        ("a.go", "var Keys = []string{`sk-12`}", "var Keys = …"),
        ("a.go", "var Other = other.Name", "var Other = …"),
    ],
)
def test_values_in_scripts_and_go_neither(path: str, text: str, told: str) -> None:
    assert signatures(path, text) == [told]


def test_what_is_huge_is_not_written_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    unparse = ast.unparse

    def watched(node: ast.AST) -> str:
        written.append(len(unparse(node)))
        return unparse(node)

    monkeypatch.setattr(ast, "unparse", watched)
    many = ", ".join(map(str, range(20_000)))
    text = (
        f"A = [{many}]\nB = '{many}'\nC = f({many})\nD: X[{many}]\nE = X[{many}]\n"
        f"def f(a: X[{many}] = [{many}], b='{many}') -> X[{many}]: ...\nclass G(X[{many}]): ...\n"
    )
    assert signatures("a.py", text) == [
        "A = …", "B = …", "C = …", "D: …", "E = …", "def f(a: …=…, b=…) -> …:", "class G(…):",
    ]  # fmt: skip
    assert sum(written) < 100


@pytest.mark.parametrize("text", ["def (", "\0", "(" * 5000, "x = " + "-" * 50_000 + "1"])
def test_what_does_not_parse_declares_nothing(text: str) -> None:
    assert signatures("a.py", text) == []


@examples(0.5)
@given(st.sampled_from(["a.py", "b.ts", "c.go", "d.txt", "py"]), st.text(max_size=60))
def test_no_text_is_a_problem(path: str, text: str) -> None:
    assert all(len(line) <= 200 for line in signatures(path, text))


def test_the_nearest_and_most_used_come_first() -> None:
    imports = {
        "pkg/a.py": ("pkg/near.py", "far/one.py", "far/two.py", "pkg/b.py", "pkg/data.txt"),
        "pkg/b.py": ("far/two.py", "pkg/sub/below.py"),
    }

    assert files_imported_by(["pkg/a.py", "pkg/b.py"], imports) == [
        "pkg/near.py", "pkg/sub/below.py", "far/two.py", "far/one.py",
    ]  # fmt: skip


def test_it_stays_within_its_tokens_and_says_what_is_left_out() -> None:
    paths = [f"f{n}.py" for n in range(50)]
    text = "\n".join(f"def function_{n}(): ..." for n in range(20))
    shown = context(paths, lambda path: signatures(path, text), tokens=550, names=Names())

    assert len(shown) <= 550 * 4 + 100
    assert "`f0.py`:" in shown
    assert " more\n" in shown
    assert "further files are left out: 550 tokens" in shown
    assert context(paths, lambda _: (), tokens=500, names=Names()) == ""


def test_contents_cannot_end_their_fence() -> None:
    assert quoted("a\n```\nb\n").startswith("````\n")
    assert quoted("a\n```\nb\n").endswith("\n````")


def test_a_prompt_is_the_same_each_time_and_has_its_feedback_last() -> None:
    def made() -> str:
        tries = [Try(stage="verify", reason="exited with code 1", said="E   assert 1 == 2")]
        return prompt(
            goal="Do it", files=["a.py", "odd\nname.py"], shared=["*.lock"], verify="pytest",
            context="`b.py`", splitting="By a file.", tries=tries, again=True,
        )  # fmt: skip

    text = made()
    assert text == made()
    titles = [line for line in text.splitlines() if line.startswith("# ")]
    assert titles == [
        "# Goal", "# Your files (2)", "# How it is verified", "# If it is too much",
        "# What the files use", "# What went wrong before",
    ]  # fmt: skip
    assert '- "odd\\nname.py"' in text
    assert text.index("E   assert") > text.index("# What went wrong before")
    assert text.rstrip().endswith("still in the files: repair them.")


def test_a_plain_prompt_has_only_what_there_is() -> None:
    text = prompt(goal="Do it", files=["a.py"])

    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# Goal", "# Your files (1)",
    ]  # fmt: skip


def test_the_context_is_of_the_commit_that_the_leaf_starts_from(tmp_path: Path) -> None:
    files = {**FILES, "pkg/a.py": 'def one():\n    """Give 1."""\n    return 1\n'}
    repo = make_repository(tmp_path / "repo", files)
    ended = do(repo, CommandWorker("cat {prompt}"), leaf("pkg/b.py"), how(tmp_path))

    assert "`pkg/a.py`:\n\n```python\ndef one():  # Give 1.\n```" in ended.said


def test_the_verification_in_a_prompt_names_the_files_and_tests_of_the_leaf(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", FILES)
    line = 'run --id {id} "{tests}" -- {files} ${HOME}'
    node = leaf("pkg/a.py", "pkg/with space.py")
    ended = do(repo, CommandWorker("cat {prompt}"), node, how(tmp_path, verify=line))
    assert "run --id leaf-a tests/test_a.py -- pkg/a.py 'pkg/with space.py' ${HOME}" in ended.said


# -- which tests judge ----------------------------------------------------------------------------

IMPORTS = {
    "tests/test_a.py": ("pkg/a.py",),
    "tests/helpers.py": ("pkg/a.py",),
    "tests/test_b.py": ("pkg/b.py", "tests/helpers.py"),
    "web/box.test.ts": ("web/box.ts",),
    "go/box_test.go": ("go/box.go",),
}


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        (["pkg/a.py"], ["tests/test_a.py"]),
        (["pkg/a.py", "pkg/b.py"], ["tests/test_a.py", "tests/test_b.py"]),
        (
            ["tests/test_x.py", "x_test.py", "a/tests.py"],
            ["a/tests.py", "tests/test_x.py", "x_test.py"],
        ),
        (["web/box.ts"], ["web/box.test.ts"]),
        (["go/box.go"], ["go/box_test.go"]),
        (["pkg/c.py", "tests/helper.py"], []),
    ],
)
def test_its_own_tests_and_those_that_import_its_files(files: list[str], tests: list[str]) -> None:
    assert list(judging_tests(files, IMPORTS)) == tests


def test_what_is_a_test_can_be_said() -> None:
    assert judging_tests(["pkg/a.py"], IMPORTS, ["helpers.py"]) == ("tests/helpers.py",)


def test_without_tests_nothing_is_run_and_that_is_said(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    asked = how(tmp_path, verify="touch ran; exit 1; : {tests}")
    ended = do(repo, CommandWorker("echo x >> pkg/c.py"), leaf("pkg/c.py"), asked)

    assert (ended.status, ended.verified) == ("changed", "no tests")


def test_tests_that_the_leaf_makes_are_run_and_those_it_deletes_are_not(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    line = "rm tests/test_a.py; echo x >> pkg/a.py; echo x > tests/test_new.py"
    asked = how(tmp_path, verify="test {tests} = tests/test_new.py")
    ended = do(repo, CommandWorker(line), leaf("pkg/a.py", "tests/test_a.py"), asked)

    assert ended.verified == "passed"


QUICK = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"


def test_real_tests_judge(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    line = 'test "$FANWISE_PLAN_TRY" = 2 && sed -i s/2/1/ pkg/a.py || sed -i s/1/2/ pkg/a.py'
    asked = how(tmp_path, retry=1, verify=f"{QUICK} python -m pytest -q {{tests}}")
    ended = do(repo, CommandWorker(line + "; echo >> pkg/a.py"), leaf(), asked)

    assert ended.verified == "passed"
    assert "assert 2 == 1" in ended.tries[0].said
