"""Candidates as people have them, and what becomes of them in a workspace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fanwise.errors import BadTarget, CandidateUnfit, NoCandidates, UsageError
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.collect import from_branches, from_files
from fanwise.optimize.candidates.imports_of_tests import judges_by_import
from fanwise.optimize.candidates.judges import files_named
from fanwise.optimize.candidates.placement import Placement, count_lines, place
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.system import RunnableOptimize
from fanwise.specs import Document
from fanwise.workspaces import Workspace
from tests.optimize.support import code, new_workspace, unchanged
from tests.workspaces.support import commit, git, make_repo, write

GRAPH = code(
    """
    import os

    LIMIT = 3

    def find(nodes):
        best = max(nodes)
        return best

    def other():
        return LIMIT
    """
)
FASTER = "def find(nodes):\n    return sorted(nodes)[-1]\n"
TARGET = Target("src/pkg/graph.py", "find")


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Path]:
    repo = make_repo(
        tmp_path / "user",
        {
            "src/pkg/__init__.py": "",
            "src/pkg/graph.py": GRAPH,
            "tests/test_graph.py": "from pkg.graph import find\n\ndef test(): find([1, 2])\n",
            "conftest.py": "",
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            ".gitignore": "build/\n",
            "bench.py": "run = 1\n",
        },
    )
    with unchanged(repo):
        yield repo


def patch_of(repo: Path, files: dict[str, str]) -> str:
    """A patch as `git diff` makes it, from a clone."""
    clone = repo.parent / "clone"
    if not clone.exists():
        git(repo.parent, "clone", "-q", str(repo), str(clone))
    git(clone, "reset", "-q", "--hard", "origin/main")
    for name, text in files.items():
        write(clone / name, text)
    git(clone, "add", "-A", "-f")
    return git(clone, "diff", "--cached", "--binary", "--full-index") + "\n"


def put(
    repo: Path, candidate: Candidate, target: Target | None = TARGET, **more: object
) -> Placement:
    with new_workspace(repo) as workspace:
        return place(workspace, candidate, target, **more)  # type: ignore[arg-type]


def test_what_a_file_is_follows_from_its_name_and_what_is_in_it(repo: Path, tmp_path: Path) -> None:
    given = {
        "a.patch": "diff --git a/x b/x\n",
        "b.diff": "--- a/x\n+++ b/x\n",
        "c.txt": "From: me\n\n--- a/x\n+++ b/x\n",
        "d.py": FASTER,
        "e.py": GRAPH.replace("import os\n", "").replace("max", "min"),
        "f.py": f"#!/usr/bin/python\n# Path: src/pkg/other.py\n{FASTER}",
        "g.py": "def find(:\n",
        "h.py": FASTER,
    }
    for name, text in given.items():
        write(tmp_path / "c" / name, text)
    found = from_files("c/*", folder=tmp_path, target=TARGET, top=repo)
    assert [each.name for each in found] == [f"c/{name}" for name in given]
    kinds = ["patch", "patch", "patch", "function", "file", "file", "function", "function"]
    assert [each.kind for each in found] == kinds
    assert [each.path for each in found if each.path] == [TARGET.file, "src/pkg/other.py"]
    assert [each.content for each in found] == list(given.values())
    assert len({each.key for each in found}) == len(given), "duplicates are candidates, too"
    again = from_files(["c/*", "c/d.py"], folder=tmp_path, target=TARGET, top=repo)
    assert again == found, "keys are stable, and a file is found once"
    assert msgspec.json.decode(msgspec.json.encode(found), type=list[Candidate]) == found


def test_a_class_with_the_method_alone_is_not_the_whole_file(repo: Path, tmp_path: Path) -> None:
    write(
        tmp_path / "top/a.py", "class A:\n    x = 1\n    def f(self): pass\n    def g(self): pass\n"
    )
    write(tmp_path / "f.py", "class A:\n    def f(self): return 1\n")
    write(
        tmp_path / "whole.py",
        "class A:\n    x = 1\n    def f(self): return 1\n    def g(self): pass\n",
    )
    found = from_files("*.py", folder=tmp_path, target=Target("a.py", "A.f"), top=tmp_path / "top")
    assert [(each.name, each.kind) for each in found] == [
        ("f.py", "function"),
        ("whole.py", "file"),
    ]


def test_nothing_found_and_nothing_to_tell_are_errors_that_say_what(
    repo: Path, tmp_path: Path
) -> None:
    with pytest.raises(NoCandidates, match=r"no file matches 'c/\*.patch' in /"):
        from_files("c/*.patch", folder=tmp_path, top=repo)
    with pytest.raises(NoCandidates, match=r"no branch of .* matches 'perf/\*' or 'x'"):
        from_branches(["perf/*", "x"], repo=repo)
    write(tmp_path / "a.py", FASTER)
    write(tmp_path / "b.bin", "x")
    with pytest.raises(UsageError, match=r"which file the candidate a.py replaces"):
        from_files("a.py", folder=tmp_path, top=repo)
    with pytest.raises(UsageError, match=r"tell what the candidate b.bin is"):
        from_files("b.bin", folder=tmp_path, top=repo)
    with pytest.raises(UsageError, match="cannot be listed"):
        from_branches("perf/*", repo=tmp_path)
    with pytest.raises(BadTarget, match="has no nothing"):
        from_files("a.py", folder=tmp_path, target=Target(TARGET.file, "nothing"), top=repo)


def test_a_binary_file_among_the_candidates_is_unfit_and_stops_nobody(
    repo: Path, tmp_path: Path
) -> None:
    write(tmp_path / "given" / "a.py", FASTER)
    (tmp_path / "given" / "b.pyc").write_bytes(b"\xff\x00")
    good, bad = from_files("given/*", folder=tmp_path, target=TARGET, top=repo)
    with new_workspace(repo) as workspace:
        with pytest.raises(CandidateUnfit, match="not UTF-8 text"):
            place(workspace, bad, TARGET)
        assert place(workspace, good, TARGET).files == (TARGET.file,)


def test_each_kind_is_put_into_the_workspace_and_comes_out_as_a_patch(repo: Path) -> None:
    whole = GRAPH.replace(
        "    best = max(nodes)\n    return best\n", "    return sorted(nodes)[-1]\n"
    )
    patch = patch_of(repo, {TARGET.file: whole})
    given = [
        Candidate.make("a", "patch", patch),
        Candidate.make("b", "file", whole, path=TARGET.file),
        Candidate.make("c", "function", FASTER),
    ]
    placed = [put(repo, each) for each in given]
    assert placed[0].patch == patch
    assert placed[0].files == (TARGET.file,)
    assert placed[0].diff_lines == 3
    assert placed == [placed[0]] * 3, "they are the same, also in what tells that"
    assert placed[0].identity
    assert msgspec.json.decode(msgspec.json.encode(placed[0]), type=Placement) == placed[0]


def test_a_branch_counts_for_what_it_changed_since_it_left(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "user", {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    git(repo, "checkout", "-q", "-b", "perf/x")
    write(repo / "a.py", "a = 2\n")
    tip = commit(repo, "x")
    git(repo, "branch", "perf/deep/y")
    git(repo, "checkout", "-q", "main")
    write(repo / "b.py", "b = 2\n")
    commit(repo, "goes on")
    git(repo, "update-ref", "refs/remotes/origin/perf/z", tip)
    git(repo, "symbolic-ref", "refs/remotes/origin/perf/HEAD", "refs/remotes/origin/perf/z")
    with unchanged(repo):
        found = from_branches("perf/*", repo=repo)
        assert [(each.name, each.content) for each in found] == [("perf/x", tip)]
        remote = from_branches("origin/perf/*", repo=repo)
        assert [each.name for each in remote] == ["origin/perf/z"]
        placed = put(repo, found[0], None)
        assert placed.files == ("a.py",)
        with pytest.raises(CandidateUnfit, match="no commit in common"):
            put(repo, Candidate.make("x", "branch", "0" * 40), None)


def test_what_does_not_apply_or_leads_out_is_unfit_and_says_why(repo: Path) -> None:
    link = patch_of(repo, {}) + (
        "diff --git a/src/out b/src/out\nnew file mode 120000\n--- /dev/null\n+++ b/src/out\n"
        "@@ -0,0 +1 @@\n+../../../../../etc\n\\ No newline at end of file\n"
    )
    cases = [
        ("patch", "nonsense", None, "does not apply"),
        ("patch", "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", None, "does not apply"),
        ("patch", link.lstrip(), None, "src/out is a link that leads out"),
        ("file", "x = 1\n", "../x.py", "cannot be written"),
        ("file", "x = 1\n", ".git/config", "cannot be written"),
        ("file", "x = 1\n", None, "nobody said which"),
        ("file", "x = 1\n", "build/x.py", "git ignores build/x.py"),
        ("file", "x = 1\n", "json.py", "in place of another json"),
        ("file", "x = 1\n", "src/pytest/__init__.py", "in place of another pytest"),
        ("function", "def other(): pass\n", None, "no function find"),
    ]
    with new_workspace(repo) as workspace:
        for kind, content, path, problem in cases:
            candidate = Candidate.make("x", kind, content, path=path)  # type: ignore[arg-type]
            with pytest.raises(CandidateUnfit, match=problem):
                place(workspace, candidate, TARGET)
            clear(workspace)
        with pytest.raises(CandidateUnfit, match="there is no target"):
            place(workspace, Candidate.make("x", "function", FASTER), None)


def clear(workspace: Workspace) -> None:
    workspace.restore(workspace.changed_files())
    assert workspace.changed_files() == []


def test_a_patch_that_hides_its_own_files_from_git_is_unfit(repo: Path) -> None:
    patch = patch_of(repo, {".gitignore": "build/\nhelper.py\n", "helper.py": "x = 1\n"})
    with pytest.raises(CandidateUnfit, match=r"git ignores helper.py"):
        put(repo, Candidate.make("x", "patch", patch))


def test_a_candidate_cannot_change_its_judges(repo: Path) -> None:
    changed = {
        TARGET.file: GRAPH.replace("max", "min"),
        "tests/test_graph.py": "def test(): pass\n",
        "tests/data/new.json": "{}",
        "conftest.py": "collect_ignore = ['tests']\n",
        "src/pkg/conftest.py": "x = 1\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--co'\n",
        "sitecustomize.py": "x = 1\n",
        "bench.py": "run = 2\n",
        "src/pkg/test_inside.py": "x = 1\n",
    }
    candidate = Candidate.make("x", "patch", patch_of(repo, changed))
    judges = files_named("python -m bench --fast", repo, repo)
    assert judges == ["bench.py"]
    with new_workspace(repo) as workspace:
        placed = place(workspace, candidate, TARGET, judges=judges)
        assert placed.files == (TARGET.file,)
        assert set(placed.left_out) == set(changed) - {TARGET.file}
        for name in changed:
            here, there = workspace.root / name, repo / name
            if name != TARGET.file:
                assert here.exists() == there.exists()
                assert not there.exists() or here.read_text() == there.read_text()
    assert "conftest" not in placed.patch


def test_the_files_that_a_run_names_are_judges(repo: Path, tmp_path: Path) -> None:
    spec = {
        "repo": str(repo),
        "target": TARGET.text(),
        "candidates": {"files": "*.py"},
        "test": "pytest -q tests/test_graph.py",
        "bench": {"call": "bench:run"},
    }
    write(tmp_path / "a.py", FASTER)
    plan = RunnableOptimize(Document("x.yaml", tmp_path, {"optimize": spec}))
    assert {"tests/test_graph.py", "bench.py", "conftest.py"} <= set(plan.case.judges)


def test_the_target_itself_may_be_in_a_folder_of_tests(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "user", {"tests/helper.py": "def f():\n    return 1\n"})
    placed = put(
        repo,
        Candidate.make("x", "function", "def f():\n    return 2\n"),
        Target("tests/helper.py", "f"),
    )
    assert placed.files == ("tests/helper.py",)


def test_the_files_of_a_command_are_found_as_it_names_them(repo: Path) -> None:
    line = f"{sys.executable} bench.py tests/test_graph.py::test bench:run -k 'x y' nothing.py"
    assert files_named(line, repo, repo) == ["bench.py", "tests/test_graph.py"]
    assert files_named("pytest test_graph.py", repo / "tests", repo) == ["tests/test_graph.py"]
    assert files_named("it's", repo, repo) == []


def test_what_changes_nothing_has_the_identity_of_the_original(repo: Path) -> None:
    noted = GRAPH.replace("def find", "# say why\ndef find")
    assert put(repo, Candidate.make("x", "file", noted, path=TARGET.file)).identity == ""
    assert put(repo, Candidate.make("x", "file", GRAPH, path=TARGET.file)).files == ()
    other = put(repo, Candidate.make("x", "file", GRAPH.replace("3", "4"), path=TARGET.file))
    more = {TARGET.file: GRAPH.replace("3", "4"), "bench.py": "run = 1  # fast\n"}
    same = put(repo, Candidate.make("y", "patch", patch_of(repo, more)))
    assert other.identity == same.identity != ""


def test_a_subfolder_of_a_repository_is_judged_by_the_whole(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "user", {"part/a.py": "def f():\n    return 1\n", "b.py": "x = 1\n"}
    )
    target = Target.parse("a.py::f", inside="part")
    with new_workspace(repo / "part") as workspace:
        placed = place(
            workspace, Candidate.make("x", "function", "def f():\n    return 2\n"), target
        )
        assert placed.files == ("part/a.py",)
        assert workspace.path == workspace.root / "part"
        with pytest.raises(CandidateUnfit, match="in place of another json"):
            place(workspace, Candidate.make("x", "file", "", path="part/json.py"), target)


def test_lines_are_counted_in_hunks_only() -> None:
    first = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- gone\n+++ new\n same\n"
    patch = f"{first}--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-x\n"
    assert count_lines(patch) == 3


TESTED = {
    "calc.py": "from helper import double\nimport config\n\ndef uniq(words):\n    return words\n",
    "helper.py": "def double(n):\n    return 2 * n\n",
    "config.py": "",
    "other.py": "",
    "testcalc.py": "import unittest\nfrom calc import uniq\nfrom check_tools import same\n",
    "check_tools.py": "import deeper.lists as lists, helper\n",
    "deeper/__init__.py": "",
    "deeper/lists.py": "from . import more\n",
    "deeper/more.py": "",
    "tests.py": "",
    "testing/data.py": "",
    "specs/verify_calc.py": "import only_specs\n",
    "only_specs.py": "",
    "pytest.ini": "[pytest]\npython_files =\n    verify_*.py\n    also_*.py\n",
}


def test_what_tests_import_and_the_target_does_not_judges(tmp_path: Path) -> None:
    for name, text in TESTED.items():
        write(tmp_path / name, text)
    found = judges_by_import(tmp_path, "calc.py", "python -m unittest discover -p 'ot*er.py'")
    assert found == {
        "testcalc.py", "tests.py", "testing/data.py", "check_tools.py", "deeper/__init__.py",
        "deeper/lists.py", "deeper/more.py", "specs/verify_calc.py", "only_specs.py", "other.py",
    }  # fmt: skip
    inside = judges_by_import(tmp_path, "deeper/lists.py", "pytest")
    assert "deeper/more.py" not in inside
    assert "check_tools.py" in inside


def test_a_patch_that_edits_tests_of_unittest_is_judged_by_the_originals(tmp_path: Path) -> None:
    files = {
        "calc.py": "def uniq(words):\n    return list(words)\n\n\ndef tax(x):\n    return x * 2\n",
        "testcalc.py": "from shared import TAX\n",
        "shared.py": "TAX = 4\n",
    }
    repo = make_repo(tmp_path / "repo", files)
    judges = judges_by_import(repo, "calc.py", "python -m unittest discover")
    with new_workspace(repo) as workspace:
        for name in files:
            write(workspace.root / name, "changed = 1\n")
        patch = workspace.diff().decode()
    given = Candidate(key="a", name="a", kind="patch", content=patch)
    with new_workspace(repo) as workspace:
        placed = place(workspace, given, Target("calc.py", "uniq"), judges=judges)
        assert placed.files == ("calc.py",)
        assert sorted(placed.left_out) == ["shared.py", "testcalc.py"]
