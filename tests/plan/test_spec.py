"""What may stand in the file, and what is wrong with it: with line, column and field."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.plan.spec.plan_spec import SplitSpec
from fanwise.plan.split.rules import Rules
from fanwise.plan.system import SYSTEM, RunnablePlan
from fanwise.specs import read, runnable_of
from tests.plan.support import make_repo, write

GOOD = """
plan:
  goal: do it
  files: ["**/*.py"]
  each: {command: "true"}
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"a.py": "A = 1\n", "pkg/b.py": "B = 2\n", "pkg/logo.png": "\x00\x01\x02"}
    return make_repo(tmp_path_factory.mktemp("spec") / "repo", files)


def planned(repo: Path, text: str, **options: object) -> RunnablePlan:
    file = repo.parent / "plan.yaml"
    write(file, textwrap.dedent(text).replace("plan:\n", "plan:\n  repo: repo\n", 1))
    found = runnable_of(SYSTEM, read(str(file)), options)
    assert isinstance(found, RunnablePlan)
    return found


def problem(repo: Path, text: str) -> tuple[str, str, int | None]:
    with pytest.raises(BadSpec) as caught:
        planned(repo, text)
    first = caught.value.problems[0]
    return first.field, first.message, first.line


def test_a_small_file_has_sensible_defaults(repo: Path) -> None:
    spec = planned(repo, GOOD).resolved.spec
    assert (spec.max_parallel, spec.retry, spec.result) == (10, 1, "branch")
    assert spec.split.mode == "independent"
    assert (spec.fail_fast, spec.dirty, spec.sparse, spec.shared) == (False, False, None, ())


@pytest.mark.parametrize(
    ("line", "field", "says"),
    [
        ("split: {max_depth: 0}", "plan.split.max_depth", "at least 1, not 0"),
        ("split: {min_files: 9, max_files: 3}", "plan.split.min_files", "min_files is 9, and"),
        ("split: {max_files: 1}", "plan.split.max_files", "min_files is 2, and max_files 1"),
        ("split: {mode: clever}", "plan.split.mode", "`directory`, `independent` or `dependency`"),
        ("files: [nothing/**]", "plan.files", "no file of the commit that HEAD is at matches"),
        ("files: '*.png'", "plan.files", "1 files match, and all of them are left out"),
        ("files: [a.py, ../x.py]", "plan.files[1]", "outside the repository"),
        ("files: /etc/passwd", "plan.files", "outside the repository"),
        ("shared: ['../x']", "plan.shared[0]", "outside the repository"),
        ("sparse: [nowhere]", "plan.sparse[0]", "there is no 'nowhere' in the commit"),
        ("sparse: [/etc]", "plan.sparse[0]", "outside the repository"),
        ("max_parallel: 0", "plan.max_parallel", "at least 1"),
        ("max_parallel: 257", "plan.max_parallel", "at most 256"),
        ("verify: pytest {test}", "plan.verify", "did you mean {tests}?"),
        ("check: pytest {tests}", "plan.check", "{tests} has no meaning here"),
        ("retry: -1", "plan.retry", "at least 0"),
        ("caps: {workspaces: 3}", "plan.caps.workspaces", "set `max_parallel`"),
        ("fail_fats: true", "plan.fail_fats", "did you mean `fail_fast`?"),
        ("goal: '  '", "plan.goal", "must not be empty"),
        ("timeout: soon", "plan.timeout", "is not a duration"),
        ("copy: [no/such/*.bin]", "plan.copy", "nothing matches copy"),
        ("repo: ..", "plan.repo", "is not in a git repository"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(repo: Path, line: str, field: str, says: str) -> None:
    key = line.partition(":")[0]
    kept = [each for each in GOOD.splitlines() if not each.strip().startswith(f"{key}:")]
    text = "\n".join([*kept, f"  {line}", ""])
    if key == "repo":
        with pytest.raises(BadSpec) as caught:
            file = repo.parent / "bad.yaml"
            write(file, text)
            runnable_of(SYSTEM, read(str(file)), {})
        first = caught.value.problems[0]
        where, message, at = first.field, first.message, first.line
        assert at == len(kept) + 1
    else:
        where, message, at = problem(repo, text)
        assert at == len(kept) + 2, "one line more: the repository"
    assert where == field
    assert says in message


@pytest.mark.parametrize(
    ("each", "says"),
    [
        ("{}", "needs exactly one of `command`, `agent`, `model`, `call`, `workflow`"),
        ("{command: a, call: 'b:c'}", "it has `command` and `call`"),
        ("{command: 'agent {promt}'}", "did you mean {prompt}?"),
        ("{command: 'agent --file={path} x'}", "{path} has no meaning here; known: {prompt}"),
        ("{command: a, options: {temperature: 0}}", "need a `model`"),
        ("{call: 'no_such_module:f'}", "there is no module `no_such_module`"),
        ("{call: no_function}", "write `module:function`"),
        ("{model: nobody:x}", "nobody"),
    ],
)
def test_who_does_it_is_one_of_four(repo: Path, each: str, says: str) -> None:
    text = GOOD.replace('{command: "true"}', each)
    where, message, _ = problem(repo, text)
    assert where.startswith("plan.each")
    assert says in message


@pytest.mark.parametrize(
    "command",
    ["awk '{print $1}' {files}", "echo ${HOME} {id}", "find . -exec true {} +", "x {a,b}"],
)
def test_braces_of_the_shell_and_of_awk_are_left_alone(repo: Path, command: str) -> None:
    planned(repo, GOOD.replace('"true"', f'"{command}"'))


def test_a_dirty_tree_is_said_and_only_dirty_includes_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "A = 1\n"})
    write(repo / "a.py", "A = 2\n")
    write(repo / "new.py", "N = 1\n")
    found = planned(repo, GOOD)
    assert "2 files are not committed: left out; --dirty includes them" in found.describe()
    assert [leaf.files for leaf in found.resolved.tree.leaves] == [("a.py",)]
    dirty = planned(repo, GOOD, dirty=True)
    assert not [line for line in dirty.describe() if "not committed" in line]
    assert [leaf.files for leaf in dirty.resolved.tree.leaves] == [("a.py", "new.py")]
    assert dirty.resolved.tree.leaves[0].id != found.resolved.tree.leaves[0].id


def test_a_repository_without_a_commit_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    from tests.plan.support import git

    git(tmp_path / "repo", "init", "-q")
    write(tmp_path / "repo" / "a.py", "A = 1\n")
    assert "has no commit yet" in problem(tmp_path / "repo", GOOD)[1]
    assert planned(tmp_path / "repo", GOOD, dirty=True).resolved.tree.leaves
    missing = tmp_path / "other" / "repo"
    missing.parent.mkdir()
    assert "is not a folder" in problem(missing, GOOD)[1]


def test_a_plan_for_a_folder_inside_a_repository_has_its_files_alone(tmp_path: Path) -> None:
    make_repo(tmp_path / "top", {"repo/a.py": "A = 1\n", "other/b.py": "B = 2\n"})
    found = planned(tmp_path / "top" / "repo", GOOD)
    assert [leaf.files for leaf in found.resolved.tree.leaves] == [("repo/a.py",)]


def test_what_only_the_preview_can_say(repo: Path) -> None:
    text = GOOD.replace('["**/*.py"]', '["**/*", "docs/**"]') + "  check: pytest\n"
    told = planned(repo, text)
    lines = told.describe()
    assert any(line.startswith("1 sub-plan of 2 files") for line in lines)
    assert any("pkg/logo.png (binary" in line for line in lines)
    assert "no file matches 'docs/**'" in lines
    assert "checked when merged, by: pytest" in lines
    assert told.preview().facts["scorecard"]["files"] == 2


def test_options_that_mean_nothing(repo: Path) -> None:
    with pytest.raises(UsageError, match="--rerun all is not an option"):
        planned(repo, GOOD, rerun="all")
    with pytest.raises(UsageError, match="--rollback needs a run"):
        planned(repo, GOOD, rollback=True)
    with pytest.raises(UsageError, match="--branch is not an option of `plan`"):
        planned(repo, GOOD, branch="x")


def test_a_split_in_a_file_and_one_in_python_have_the_same_defaults() -> None:
    assert Rules(**SplitSpec().model_dump()) == Rules()
