"""The tests of the original and of a candidate: the same ones, with the same outcomes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fanwise.kernel.confined.running import _scratch
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.report import TestReport, difference, settled, unusable
from fanwise.optimize.checking.run_tests import baseline_report, check_tests, test_report
from fanwise.optimize.checking.static_checks import Finding, check_applies, check_compiles
from fanwise.optimize.differential.baseline import _nothing
from fanwise.optimize.differential.recording import CallRecording
from fanwise.optimize.run.original import not_compared
from fanwise.optimize.run.trial import beside_target
from fanwise.workspaces import Workspace, WorkspacePool
from tests.optimize.support import code, new_workspace, unchanged
from tests.workspaces.support import make_repo, write

BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # for the sake of speed
SETTINGS = Settings(sandbox=False, timeout_s=120, env=BARE)
PYTEST = "python -m pytest -q -p no:cacheprovider"
FILES = {
    "src/shop.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_shop.py": code(
        """
        import sys
        import pytest
        import shop

        def test_total(): assert shop.total([1, 2]) == 3
        def test_empty(): assert shop.total([]) == 0
        def test_bad(): assert shop.total([1]) == 2
        @pytest.mark.skip
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert shop.total([1]) == 2
        @pytest.mark.parametrize("n", [1, 2])
        def test_each(n): assert shop.total([n]) == n
        @pytest.fixture
        def broken(): raise OSError("no")
        def test_error(broken): pass
        def test_set_order(): assert "".join({"a", "b", "c", "d", "e", "f", "g"}) == "abcdefg"
        """
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--strict-markers'\n",
}
OUTCOMES = {
    "test_total": "passed", "test_empty": "passed", "test_bad": "failed", "test_skipped": "skipped",
    "test_expected": "xfailed", "test_each[1]": "passed", "test_each[2]": "passed",
    "test_error": "error", "test_set_order": "failed",
}  # fmt: skip


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    repo = make_repo(tmp_path_factory.mktemp("checking") / "user", FILES)
    with unchanged(repo):
        yield repo


@pytest.fixture(scope="module")
def pool(repo: Path) -> Iterator[WorkspacePool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANWISE_CACHE", str(repo.parent / "cache"))
        with WorkspacePool(repo, slots=1) as pool:
            yield pool


@pytest.fixture
def workspace(pool: WorkspacePool) -> Iterator[Workspace]:
    with pool.workspace() as workspace:
        place = workspace.root.with_name(f"{workspace.root.name}-scratch")
        place.mkdir(exist_ok=True)
        beside = set(workspace.root.parent.iterdir())
        yield workspace
        left = {*workspace.root.parent.iterdir(), *place.iterdir()}
        assert left == beside, "what is of one use is gone"


@pytest.fixture(scope="module")
def baseline(pool: WorkspacePool) -> TestReport:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", "--nonsense")  # of the user's environment nothing passes
        with pool.workspace() as workspace:
            found = asyncio.run(baseline_report(workspace, PYTEST, SETTINGS))
            assert workspace.changed_files() == []
            return found


def report(
    workspace: Workspace, command: str = PYTEST, settings: Settings = SETTINGS
) -> TestReport:
    return asyncio.run(test_report(workspace, command, settings))


def check(workspace: Workspace, baseline: TestReport, shop: str, command: str = PYTEST) -> Finding:
    workspace.write("src/shop.py", shop)
    return asyncio.run(check_tests(workspace, command, baseline, SETTINGS))


def test_each_test_is_known_with_its_outcome(baseline: TestReport) -> None:
    known = {f"tests/test_shop.py::{test}": outcome for test, outcome in OUTCOMES.items()}
    assert baseline.tests == known
    assert baseline.exit_code == 1
    assert unusable(baseline) == ""
    again = msgspec.json.decode(msgspec.json.encode(baseline), type=TestReport)
    assert again == baseline


def test_what_came_out_the_same_passes_also_what_fails_on_both(
    workspace: Workspace, baseline: TestReport
) -> None:
    found = check(workspace, baseline, "def total(prices):\n    return sum(list(prices))\n")
    assert (found.stage, found.ok, found.reason) == ("test", True, "")
    assert found.seconds > 0


@pytest.mark.parametrize(
    ("shop", "reason"),
    [
        (
            "def total(p):\n    return 3",
            r"test_empty, .*test_each\[1\], .*test_each\[2\]: failed \(passed on",
        ),
        ("def total(p):\n    return sum(p) if len(p) != 1 else 2", "test_bad.*: passed"),
        ("def total(p): raise OSError(30, 'Read-only file system')", "seems to write outside"),
        ("import os\ndef total(p): os._exit(0)", "ended before they were done, with exit code 0"),
        ("import pytest\npytest.skip('no', allow_module_level=True)", "did not run"),
        (
            "import os, signal\ndef total(p): os.kill(os.getpid(), signal.SIGSEGV)",
            "killed by SIGSEGV",
        ),
        ("import nothing_such", "collecting tests/test_shop.py error"),
        (
            "import atexit, os\natexit.register(lambda: os._exit(0))\ndef total(p): return 1",
            "exit code says success",
        ),
    ],
)
def test_what_came_out_otherwise_is_a_failure_that_says_which(
    workspace: Workspace, baseline: TestReport, shop: str, reason: str
) -> None:
    found = check(workspace, baseline, shop)
    assert not found.ok
    assert re.search(reason, found.reason), found.reason


FORGED = """
import json, os, pathlib, sys, tempfile
folder = pathlib.Path(tempfile.gettempdir()).parent / "report"
tests = {tests!r}
form = {{"word": "guessed", "tests": tests, "details": {{}}, "status": 1}}
(folder / "guessed-1.json").write_text(json.dumps(form))
os._exit(1)
"""


def test_a_report_that_a_candidate_writes_itself_is_not_believed(
    workspace: Workspace, baseline: TestReport
) -> None:
    found = check(workspace, baseline, FORGED.format(tests=dict(baseline.tests or {})))
    assert found.reason == "it wrote a test report of its own"


def test_the_word_and_the_place_of_the_report_are_not_in_the_environment_of_tests(
    workspace: Workspace,
) -> None:
    workspace.write(
        "tests/test_shop.py",
        "import os, subprocess, sys\n"
        "def test_it():\n"
        "    assert not [name for name in os.environ if 'FANWISE_REPORT' in name]\n"
        "    assert 'PYTEST_PLUGINS' not in os.environ\n"
        "    subprocess.run([sys.executable, '-m', 'pytest', '--version'], check=True)\n",
    )
    assert report(workspace).tests == {"tests/test_shop.py::test_it": "passed"}


@pytest.mark.parametrize(
    "command",
    [f"{PYTEST} -p xdist -n 2", "pytest -p no:cacheprovider tests", f"true && {PYTEST} | cat"],
)
def test_pytest_is_known_however_it_is_started(
    workspace: Workspace, baseline: TestReport, command: str
) -> None:
    assert report(workspace, command).tests == baseline.tests


def test_two_runs_of_pytest_in_one_command_are_one_report(workspace: Workspace) -> None:
    test = "tests/test_shop.py::test_"
    found = report(workspace, f"{PYTEST} {test}total {test}empty && {PYTEST} {test}total")
    assert found.tests == {f"{test}total": "passed, passed", f"{test}empty": "passed"}


def test_of_other_commands_there_is_the_exit_code(workspace: Workspace) -> None:
    line = "python -c 'import shop; exit(shop.total([1]) != 1)'"
    was = asyncio.run(baseline_report(workspace, line, SETTINGS))
    assert (was.tests, was.exit_code, unusable(was)) == (None, 0, "")
    assert check(workspace, was, "def total(p): return 1", line).ok
    found = check(workspace, was, "def total(p): return 2", line)
    assert found.reason == "the test command exited with code 1 (0 on the original)"


def test_tests_that_differ_on_the_same_code_are_left_out(workspace: Workspace) -> None:
    workspace.write(
        "tests/test_shop.py",
        "import pathlib, random\nimport pytest, shop\n"
        "def test_sure(): assert shop.total([1]) == 1\n"
        "@pytest.mark.parametrize('n', [1], ids=lambda each: str(random.random()))\n"
        "def test_named(n): pass\n"
        "def test_once():\n"
        "    assert not pathlib.Path('mark').exists()\n"
        "    pathlib.Path('mark').write_text('')\n",
    )
    was = asyncio.run(baseline_report(workspace, PYTEST, SETTINGS))
    assert was.tests is not None
    assert was.tests["tests/test_shop.py::test_sure"] == "passed"
    assert "tests/test_shop.py::test_once" in was.left_out
    assert len([test for test in was.left_out if "test_named" in test]) == 2
    assert check(workspace, was, FILES["src/shop.py"]).ok


def test_tests_by_which_nothing_can_be_judged_are_said(workspace: Workspace) -> None:
    assert unusable(report(workspace, "exit 3")) == "it exits with code 3"
    assert unusable(report(workspace, f"{PYTEST} -k nothing")) == "not one test ran"
    quick = Settings(sandbox=False, timeout_s=0.1)
    assert unusable(report(workspace, "sleep 600", quick)) == "it did not end within 0.1 s"
    workspace.write("src/shop.py", "x = =")
    assert unusable(report(workspace)) == "collecting tests/test_shop.py fails"


def test_home_and_temporary_files_are_of_one_run_and_keys_do_not_pass(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    line = (
        'echo "$OPENAI_API_KEY,$ALLOWED"; echo $HOME $TMPDIR; '
        "touch $HOME/x $TMPDIR/x; mkdir -m 0 $HOME/no"
    )
    settings = Settings(sandbox=False, env={"ALLOWED": "yes"})
    for _ in range(2):
        found = report(workspace, line, settings)
        first, folders, *_ = found.output.splitlines()
        assert first == ",yes"
        assert not any(Path(folder).exists() for folder in folders.split())
    assert list(tmp_path.glob("x")) == []


def test_what_a_killed_run_leaves_goes_with_its_pool(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "user")
    with WorkspacePool(repo, slots=1) as pool, pool.workspace() as workspace:
        left = _scratch(workspace.root)
        folder = left.__enter__()
        assert (folder / "home").is_dir()
    assert not folder.exists()


def test_what_is_no_python_is_found_before_the_tests(workspace: Workspace) -> None:
    def compiles(*files: str) -> Finding:
        return asyncio.run(check_compiles(workspace, files, SETTINGS))

    assert compiles("src/shop.py", "gone.py", "x.txt").ok
    workspace.write("src/shop.py", "x = 1\nx = = 2\n")
    found = compiles("src/shop.py")
    assert (found.stage, found.ok, found.reason) == (
        "compile",
        False,
        "src/shop.py:2: invalid syntax",
    )
    workspace.write("src/shop.py", "def f():\n    return 1\nreturn 2\n")
    assert compiles("src/shop.py").reason == "src/shop.py:3: 'return' outside function"
    workspace.write("src/shop.py", b"x = '\xff'\n")
    assert "shop.py" in compiles("src/shop.py").reason
    workspace.write("src/shop.py", "x = " + "(" * 5000 + ")" * 5000)
    assert not compiles("src/shop.py").ok


def test_applying_says_what_was_left_out_and_why_it_failed(workspace: Workspace) -> None:
    target = Target("src/shop.py", "total")
    function = Candidate.make("a", "function", "def total(prices):\n    return 1\n")
    found, placed = check_applies(workspace, function, target)
    assert (found.stage, found.ok, found.reason) == ("apply", True, "")
    assert placed is not None and placed.files == ("src/shop.py",)
    test = Candidate.make("b", "file", "", path="tests/test_shop.py")
    found, placed = check_applies(workspace, test, target)
    assert found.ok and "tests/test_shop.py are left out" in found.reason
    found, placed = check_applies(workspace, Candidate.make("c", "patch", "x"), target)
    assert not found.ok and placed is None


def made(tests: dict[str, str] | None, exit_code: int = 0, **more: object) -> TestReport:
    return TestReport(tests=tests, exit_code=exit_code, **more)  # type: ignore[arg-type]


def test_the_exit_code_has_to_agree_where_all_tests_count() -> None:
    one, other = made({"a": "passed"}), made({"a": "passed"}, 2)
    assert difference(one, other)[0] == "the test command exited with code 2 (0 on the original)"
    flaky = settled(made({"a": "passed", "b": "passed"}), made({"a": "passed", "b": "failed"}, 1))
    assert flaky.left_out == ("b",)
    assert difference(flaky, made({"a": "passed", "b": "failed"}, 1)) == ("", "")
    assert difference(flaky, made({"b": "passed"}))[0] == "a did not run"


def test_a_test_that_is_new_may_pass_but_not_fail() -> None:
    was = made({"a": "passed"})
    assert difference(was, made({"a": "passed", "b": "passed"})) == ("", "")
    assert difference(was, made({"a": "passed", "b": "failed"}, 1))[0] == "b failed"


def test_a_subfolder_is_where_its_tests_run(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "user",
        {"part/shop.py": "x = 1\n", "part/test_shop.py": "import shop\ndef test(): pass\n"},
    )
    write(repo / "part/new.txt", "untracked\n")
    with WorkspacePool(repo / "part", slots=1) as pool, pool.workspace() as workspace:
        assert report(workspace).tests == {"test_shop.py::test": "passed"}


def said(count: int, end: str = "OK", code: int = 0) -> TestReport:
    """A run of unittest, as far as it can be seen."""
    output = f"....\n----\nRan {count} tests in 0.012s\n\n{end}"
    return TestReport(tests=None, exit_code=code, output=output)


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (said(3), ""),
        (said(2), "Ran 2 tests, OK (Ran 3 tests, OK on the original)"),
        (
            said(3, "OK (skipped=3)"),
            "Ran 3 tests, OK (skipped=3) (Ran 3 tests, OK on the original)",
        ),
        (
            TestReport(tests=None, exit_code=0),
            "no tests were counted (Ran 3 tests, OK on the original)",
        ),
    ],
)
def test_fewer_tests_of_unittest_are_a_failure(candidate: TestReport, why: str) -> None:
    assert difference(said(3), candidate)[0] == why


def test_what_a_candidate_changes_beside_the_target_is_told(tmp_path: Path) -> None:
    text = "import os\n\n\ndef uniq(words):\n    return words\n\n\ndef tax(x):\n    return x * 2\n"
    repo = make_repo(tmp_path / "repo", {"calc.py": text, "other.py": "A = 1\n"})
    target = Target("calc.py", "uniq")
    with new_workspace(repo) as workspace:
        write(workspace.root / "calc.py", text.replace("return words", "return [*words]"))
        assert beside_target(workspace, ("calc.py",), target) == ()
        write(workspace.root / "calc.py", text.replace("x * 2", "x * 3"))
        assert beside_target(workspace, ("calc.py",), target) == ("the rest of calc.py",)
        files = ("calc.py", "other.py")
        assert beside_target(workspace, files, target) == ("the rest of calc.py", "other.py")
        assert beside_target(workspace, files, None) == files


def test_what_no_check_sees_is_said(tmp_path: Path) -> None:
    text = "def plain():\n    return 'async '\n\n\nasync def late():\n    return 1\n"
    with new_workspace(make_repo(tmp_path / "repo", {"mod.py": text})) as workspace:
        plain = not_compared(workspace, Target("mod.py", "plain"))
        late = not_compared(workspace, Target("mod.py", "late"))
    assert plain == "not compared: what it writes to files"
    assert late == f"{plain}, and when it lets other tasks run"


def test_calls_that_cannot_be_stored_say_why() -> None:
    why = {"TypeError: cannot pickle 'socket' object": 3}
    found = _nothing(CallRecording(folder="", calls=0, seen=3, unstorable=why))
    assert "no call of it could be stored (TypeError: cannot pickle 'socket'" in found.problem
