"""Whole runs, in memory, with functions that do the work: how many at once, in which order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.plan import PlanResult, Work, run_plan_sync
from fanwise.plan.state.read_run import read_run
from tests.plan.support import git, make_repo, packages, show, unchanged, write

SPLIT = {"mode": "directory", "max_files": 2, "min_files": 1}


def done(repo: Path, each: Any, **options: Any) -> PlanResult:
    given = {"split": SPLIT, "retry": 0, "fields": {"sandbox": False}, **options}
    return run_plan_sync("count up", each, repo=repo, **given)


def edit(work: Work) -> None:
    """Adds a line to each of its files."""
    for name in work.files:
        path = work.root / name
        path.write_text(path.read_text() + f"# {work.title}\n")


class Party:
    """Work that waits until so many are there at once, and counts them."""

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties)
        self._lock = threading.Lock()
        self._met = 0
        self._parties = parties
        self.now = 0
        self.peak = 0
        self.roots: set[Path] = set()

    def __call__(self, work: Work) -> None:
        with self._lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
            self.roots.add(work.root)
            self._met += 1
            wait = self._met <= self._parties
        if wait:
            self._barrier.wait(timeout=60)
        edit(work)
        with self._lock:
            self.now -= 1


@pytest.fixture(scope="module")
def fifteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("fifteen") / "repo", packages(15))


def test_fifteen_sub_plans_are_ten_at_once_and_all_are_done(fifteen: Path) -> None:
    party = Party(10)
    party.__qualname__ = "party"  # type: ignore[attr-defined]
    found = done(fifteen, party, cap=10)
    assert party.peak == 10
    assert found.state.count("done") == len(found.leaves) == 15
    assert len(party.roots) == 10, "workspaces are used again"
    assert found.commit is not None
    for number in range(15):
        text = show(fifteen, found.commit, f"p{number:02}/m1.py")
        assert text == f"VALUE = {number}1\n# p{number:02}"


def test_sixty_sub_plans_are_queued_and_not_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(60))
    party = Party(4)
    party.__qualname__ = "party"  # type: ignore[attr-defined]
    found = done(repo, party, cap=4)
    assert found.state.count("done") == len(found.leaves) == 60
    assert party.peak == 4
    assert found.ok


def chained(folder: Path) -> Path:
    """`z` imports `m`, which imports `a`; `q` is alone."""
    files = {
        "a/one.py": "A = 1\n", "m/two.py": "from a.one import A\n",
        "z/three.py": "from m.two import A\n", "q/four.py": "Q = 4\n",
    }  # fmt: skip
    return make_repo(folder / "repo", files)


def test_a_follower_begins_on_what_those_before_it_changed_while_others_still_run(
    tmp_path: Path,
) -> None:
    """With waves, `m` and `z` could not begin before `q` has ended: this would never end."""
    repo = chained(tmp_path)
    over = threading.Event()
    seen: dict[str, str] = {}

    def work(work: Work) -> None:
        for name in work.files:
            others = {"m/two.py": "a/one.py", "z/three.py": "m/two.py"}
            if name in others:
                seen[name] = (work.root / others[name]).read_text()
        edit(work)
        if "q/four.py" in work.files:
            assert over.wait(60), "z came to its end while q was still running"
        if "z/three.py" in work.files:
            over.set()

    split = {"mode": "dependency", "max_files": 1, "min_files": 1}
    found = done(repo, work, split=split, cap=2)
    assert found.ok, found.notes
    assert seen["m/two.py"].startswith("A = 1\n#")
    assert seen["z/three.py"].startswith("from a.one import A\n#")


def failing(*titles: str) -> Callable[[Work], None]:
    def work(work: Work) -> None:
        if work.title in titles:
            raise ValueError("too hard")
        edit(work)

    return work


def test_followers_of_a_failure_are_skipped_and_the_others_go_on(tmp_path: Path) -> None:
    repo = chained(tmp_path)
    split = {"mode": "dependency", "max_files": 1, "min_files": 1}
    found = done(repo, failing("a/one.py"), split=split)
    states = {leaf.files[0]: (leaf.state, leaf.reason) for leaf in found.leaves}
    assert states == {
        "a/one.py": ("failed", "work failed: ValueError: too hard"),
        "m/two.py": ("skipped", "not begun: a/one.py failed"),
        "z/three.py": ("skipped", "not begun: a/one.py failed"),
        "q/four.py": ("done", ""),
    }
    assert not found.ok
    assert found.state.result is not None
    assert len(found.state.result.leaves) == 1


def test_fail_fast_ends_what_comes_after_the_failure_and_merges_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(6, files=1))
    begun: list[str] = []
    ended: list[str] = []
    beyond = asyncio.Event()

    async def work(work: Work) -> None:
        if work.title == "p01/m0.py":
            await beyond.wait()
            raise ValueError("too hard")
        if work.title > "p01":
            beyond.set()
            begun.append(work.title)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(work.title)
        edit(work)

    found = done(repo, work, split={**SPLIT, "max_files": 1}, fail_fast=True, cap=3)
    assert found.state.halted is not None
    assert found.leaf("p01/m0.py").state == "failed"
    assert found.leaf("p00/m0.py").state == "done"
    assert ended == begun[: len(ended)] != [], "what was in flight beyond it was ended"
    assert len(begun) == len(ended) < 4, "and not all of it began"
    assert {leaf.state for leaf in found.leaves[2:]} == {"queued"}
    assert found.commit is None
    assert any(line.startswith("halted at p01/m0.py (fail_fast): ") for line in found.notes)
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_conflicts_are_settled_by_a_second_run_on_what_was_merged(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {**packages(3, files=1), "list.txt": "start\n"})
    told: list[str] = []

    def work(work: Work) -> None:
        path = work.root / "list.txt"
        told.extend(each.reason for each in work.tries)
        path.write_text(f"{path.read_text()}{work.title}\n")

    options = {"split": {**SPLIT, "max_files": 1}, "files": "**/*.py"}
    with unchanged_but_branches(repo):
        found = done(repo, work, fields={"shared": "list.txt"}, **options)
    assert found.ok, found.notes
    assert found.commit is not None
    lines = show(repo, found.commit, "list.txt").splitlines()
    assert lines == ["start", "p00/m0.py", "p01/m0.py", "p02/m0.py"]
    assert [c.paths for c in found.state.conflicts] == [("list.txt",), ("list.txt",)]
    assert len(told) == 2
    assert "in conflict (content) with those of p00/m0.py in list.txt" in told[0]
    assert git(repo, "rev-list", "--count", f"main..{found.branch}") == "3"
    assert any("settled: it was run again" in note for note in found.notes)


def test_a_conflict_that_cannot_be_settled_is_given_up_with_files_and_both_leaves(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", {**packages(2, files=1), "list.txt": "start\n"})

    def work(work: Work) -> None:
        if work.tries:
            raise ValueError("it cannot be settled")
        (work.root / "list.txt").write_text(f"{work.title}\n")

    options = {"split": {**SPLIT, "max_files": 1}, "files": "**/*.py"}
    journal = tmp_path / "journal.db"
    found = done(repo, work, fields={"shared": "list.txt"}, journal=journal, run="r", **options)
    assert not found.ok
    leaf = found.leaf("p01/m0.py")
    assert leaf.state == "given up"
    assert leaf.kept is not None
    assert "+p01/m0.py\n" in Path(leaf.kept).read_text()  # git may remove what no ref names
    with closing(open_journal(journal, read_only=True)) as opened:
        assert read_run(opened, opened.run("r")).state.by_id[leaf.id].kept == leaf.kept
    assert found.state.result is not None
    assert [said.why for said in found.state.result.left_out] == [
        "work failed: ValueError: it cannot be settled"
    ]
    (line,) = [note for note in found.notes if "list.txt" in note]
    assert "list.txt (content): p01/m0.py with p00/m0.py: given up: work failed" in line
    assert line.endswith(f"(its edits: {leaf.kept})")


def unchanged_but_branches(repo: Path) -> Any:
    """The tree, the index and HEAD are as they were."""
    from contextlib import contextmanager

    @contextmanager
    def block() -> Any:
        index, head = (repo / ".git/index").read_bytes(), git(repo, "rev-parse", "HEAD")
        yield
        assert (repo / ".git/index").read_bytes() == index
        assert git(repo, "rev-parse", "HEAD") == head
        assert git(repo, "status", "--porcelain") == ""

    return block()


def test_a_sub_plan_may_return_sub_plans_to_a_depth(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(1, files=4))
    begun: list[tuple[str, ...]] = []

    def work(work: Work) -> Any:
        begun.append(work.files)
        if len(work.files) == 4:
            halves = work.files[:2], work.files[2:]
            return {
                "subplans": [
                    {"goal": f"part {n}", "files": [*half]} for n, half in enumerate(halves)
                ]
            }
        edit(work)
        return f"did {work.goal}"

    found = done(repo, work, split={**SPLIT, "max_files": 4}, cap=4)
    assert found.ok, found.notes
    assert [leaf.state for leaf in found.leaves] == ["split", "done", "done"]
    assert sorted(map(len, begun)) == [2, 2, 4]
    assert found.commit is not None
    assert git(repo, "rev-list", "--count", f"main..{found.branch}") == "2"


def test_sub_plans_that_are_no_parts_fail_with_feedback(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(1, files=2))
    told: list[str] = []

    def work(work: Work) -> Any:
        told.extend(f"{each.stage}: {each.reason}" for each in work.tries)
        if work.tries:
            edit(work)
            return None
        return {"subplans": [{"goal": work.goal, "files": [*work.files]}]}

    found = done(repo, work, retry=1)
    assert found.ok, found.notes
    assert told == ["subplans: the only one is all of it again, with the same goal"]


def test_requests_are_kept_aside_and_said(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))

    def work(work: Work) -> None:
        if work.title == "p00/m0.py":
            write(work.root / "p01/m0.py", "VALUE = 'mine'\n")
        edit(work)

    found = done(repo, work, split={**SPLIT, "max_files": 1})
    assert found.ok
    (request,) = found.leaf("p00/m0.py").requests
    assert (request.path, request.owner) == ("p01/m0.py", found.leaf("p01/m0.py").id)
    assert found.commit is not None
    assert show(repo, found.commit, "p01/m0.py") == "VALUE = 00\n# p01/m0.py".replace("00", "10")
    assert any("p01/m0.py (of p01/m0.py): wanted by p00/m0.py" in n for n in found.notes)


def test_nothing_changed_is_no_failure_and_no_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(2))
    with unchanged(repo):
        found = done(repo, lambda work: None, check="false")
    assert found.ok
    assert {leaf.state for leaf in found.leaves} == {"unchanged"}
    assert found.branch is None
    assert "nothing was changed, so there is no branch" in found.notes


def test_one_that_takes_back_what_did_not_verify_is_not_told_as_one_with_nothing_to_do(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))

    at_start = (repo / "p00/m0.py").read_text()

    def back(given: Work) -> None:
        if given.files[0] == "p00/m0.py":
            text = at_start if len(given.tries) == 2 else "BAD\n"
            (given.root / given.files[0]).write_text(text)

    split = {**SPLIT, "max_files": 1}
    found = done(repo, back, retry=2, verify="! grep BAD {files}", split=split)
    tried, idle = found.leaves
    assert (tried.state, len(tried.tries), idle.state) == ("unchanged", 2, "unchanged")
    why = "2 tries failed; the last: verify: it exited with code 1"
    assert (tried.reason, idle.reason) == (why, "")
    at = found.notes.index("1 unchanged after failed tries:")
    assert found.notes[at + 1] == f"  {tried.title}: {why}"
    assert found.ok


def test_one_that_deletes_everything_loses_only_its_own_files(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {**packages(2), "README": "read\n"})

    def work(work: Work) -> None:
        import shutil

        if work.title != "p00":
            return
        for each in work.root.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    found = done(repo, work, files="**/*.py")
    assert found.leaf("p00").state == "done"
    assert found.leaf("p00").changed == ("p00/m0.py", "p00/m1.py")
    assert {request.path for request in found.leaf("p00").requests} == {
        "README", "p01/m0.py", "p01/m1.py",
    }  # fmt: skip
    assert found.commit is not None
    names = git(repo, "ls-tree", "-r", "--name-only", found.commit).splitlines()
    assert names == ["README", "p01/m0.py", "p01/m1.py"]


ODD = (
    "a b.py",
    "-dash.py",
    "quote'\".py",
    "new\nline.py",
    "été.py",
    "$(touch x).py",
)


def test_files_may_be_called_anything_in_a_folder_inside_a_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {f"in side/{name}": "A = 1\n" for name in ODD})
    write(repo / "top.py", "T = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "two")
    command = "for f in {files}; do echo '# done' >> \"$f\"; done"
    found = run_plan_sync(
        "odd", {"command": command}, repo=repo / "in side", fields={"sandbox": False},
        split={"mode": "directory", "max_files": 3, "min_files": 1},
        verify="python3 -m py_compile {files}", check="test $(ls -b | wc -l) = 6",
        run="r", journal=tmp_path / "journal.db",
    )  # fmt: skip
    assert found.ok, found.notes
    assert found.commit is not None
    changed = git(repo, "diff", "--name-only", "-z", "main", found.commit)
    assert sorted(changed.rstrip("\0").split("\0")) == sorted(f"in side/{name}" for name in ODD)


def test_sparse_workspaces_have_the_tests_of_a_folder_inside_a_repository(tmp_path: Path) -> None:
    files = {"lib/a.py": "A = 1\n", "judges/a.py": "from lib.a import A\n", "far/b.py": "B = 1\n"}
    repo = make_repo(tmp_path / "repo", {f"inner/{name}": text for name, text in files.items()})
    seen: dict[str, list[str]] = {}

    def work(work: Work) -> None:
        seen[work.files[0]] = sorted(path.name for path in work.root.iterdir())
        edit(work)

    found = done(
        repo / "inner", work, files="**/*.py", verify="cat {tests}",
        split={**SPLIT, "mode": "independent", "max_files": 1, "min_files": 1},
        fields={"sparse": True, "tests": ["judges/*.py"], "sandbox": False},
    )  # fmt: skip
    assert found.ok, found.notes
    assert seen == {
        "lib/a.py": ["judges", "lib"],
        "judges/a.py": ["judges", "lib"],
        "far/b.py": ["far"],
    }


def test_sparse_workspaces_have_what_a_sub_plan_needs_and_the_check_has_all(
    tmp_path: Path,
) -> None:
    """Its files and what they import; no tests, for nothing is verified."""
    files = {"a/one.py": "from b.two import B\n", "b/two.py": "B = 1\n", "c/three.py": "C = 1\n"}
    files["t/test_c.py"] = "from c.three import C\n"
    repo = make_repo(tmp_path / "repo", {**files, "d/four.txt": "4\n", "top.txt": "t\n"})
    seen: dict[str, list[str]] = {}

    def work(work: Work) -> None:
        names = (path.name for path in work.root.iterdir() if path.name != ".git")
        seen[work.files[0]] = sorted(names)
        edit(work)

    found = done(
        repo, work, files="**/*.py", split={**SPLIT, "mode": "independent", "max_files": 1},
        fields={"sparse": ["d"], "sandbox": False}, check="ls a/*.py b/*.py c/*.py d/*.txt",
    )  # fmt: skip
    assert found.ok, found.notes
    assert seen == {
        "a/one.py": ["a", "b", "d", "top.txt"],
        "b/two.py": ["b", "d", "top.txt"],
        "c/three.py": ["c", "d", "top.txt"],
        "t/test_c.py": ["c", "d", "t", "top.txt"],
    }
    assert any(note.startswith("workspaces had only the folders") for note in found.notes)
    assert found.commit is not None
    assert len(git(repo, "ls-tree", "-r", "--name-only", found.commit).split()) == 6
