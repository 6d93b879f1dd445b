"""The winner is written where it was asked for, and nowhere else. Real git, all of it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.errors import NotApplied, OutputNotWritable, UsageError
from fanwise.optimize.run.delivery import message_of
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.results import apply_to_tree, check_branch, commit_on_branch, write_patch
from tests.optimize.made import candidate, speed, verdict
from tests.workspaces.support import commit, everything, files, git, make_repo, write

REST = "".join(f"A{number} = {number}\n" for number in range(20))
SLOW = f"{REST}def find(items):\n    return sorted(items)[0]\n{REST}"
FAST = f"{REST}def find(items):\n    return min(items)\n{REST}"
FILES = {"src/pkg/find.py": SLOW, "src/pkg/other.py": "X = 1\n", "old.py": "old\n"}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user in the middle of work: a staged file, a changed one, an untracked one, a hook."""
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path / "cache"))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    repo = make_repo(tmp_path / "user's project", FILES)
    write(repo / "staged.txt", "staged\n")
    git(repo, "add", "staged.txt")
    write(repo / "src/pkg/other.py", "X = 2\n")
    write(repo / "untracked.txt", "untracked\n")
    hook = repo / ".git" / "hooks" / "reference-transaction"
    write(hook, f"#!/bin/sh\ntouch '{tmp_path}/hook-ran'\n")
    hook.chmod(0o755)
    return repo


def made(repo: Path, *, dirty: bool = False, change: dict[str, str | None]) -> tuple[str, str]:
    """The patch of such a change as a run makes it, and the commit that it is against."""
    with WorkspacePool(repo, slots=1, dirty=dirty) as pool, pool.workspace() as ws:
        for name, text in change.items():
            if text is None:
                (ws.root / name).unlink()
            else:
                ws.write(name, text)
        return ws.diff().decode(), pool.base


FASTER: dict[str, str | None] = {"src/pkg/find.py": FAST, "new/name.py": "Y = 1\n", "old.py": None}


def test_apply_changes_the_files_of_the_patch_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    patch, base = made(repo, change=FASTER)
    before = everything(repo)
    assert sorted(apply_to_tree(repo / "src", patch, base)) == sorted(FASTER)
    after = everything(repo)
    assert (repo / "src/pkg/find.py").read_text() == FAST
    assert (repo / "new/name.py").read_text() == "Y = 1\n"
    assert not (repo / "old.py").exists()
    for state in (before, after):
        tree = state["tree"]
        assert isinstance(tree, dict)
        for name in FASTER:
            tree.pop(name, None)
    assert after == before, "index, refs, HEAD and all other files are as they were"
    assert not (tmp_path / "hook-ran").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/pkg/find.py", f"# mine\n\n\n\n\n\n{SLOW}"),
        ("old.py", "changed\n"),
        ("new/name.py", "in the way\n"),
    ],
)
def test_a_file_that_was_changed_since_is_refused_and_nothing_is_written(
    repo: Path, name: str, text: str
) -> None:
    patch, base = made(repo, change=FASTER)
    write(repo / name, text)
    before = everything(repo)
    with pytest.raises(NotApplied, match=name):
        apply_to_tree(repo, patch, base)
    assert everything(repo) == before


def test_a_file_that_was_committed_since_is_refused_too(repo: Path) -> None:
    patch, base = made(repo, change=FASTER)
    write(repo / "src/pkg/find.py", f"{SLOW}\n\n\n\n\n# a line far away\n")
    commit(repo, "meanwhile")
    with pytest.raises(NotApplied) as raised:
        apply_to_tree(repo, patch, base)
    assert raised.value.files == ["src/pkg/find.py"]
    assert "--3way" in raised.value.next_step


def test_other_files_may_change_meanwhile(repo: Path) -> None:
    patch, base = made(repo, change={"src/pkg/find.py": FAST})
    write(repo / "old.py", "changed\n")
    commit(repo, "meanwhile")
    assert apply_to_tree(repo, patch, base) == ["src/pkg/find.py"]


def test_a_dirty_start_is_applied_onto_the_dirty_files(repo: Path) -> None:
    change: dict[str, str | None] = {"src/pkg/other.py": "X = 3\n", "untracked.txt": "found\n"}
    patch, base = made(repo, dirty=True, change=change)
    apply_to_tree(repo, patch, base)
    assert (repo / "src/pkg/other.py").read_text() == "X = 3\n"
    assert (repo / "untracked.txt").read_text() == "found\n"


def test_a_folder_that_is_no_repository_can_be_changed_too(repo: Path, tmp_path: Path) -> None:
    plain = repo / "ignored"
    write(repo / ".gitignore", "ignored/\n")
    write(plain / "find.py", SLOW)
    with pytest.warns(RuntimeWarning, match="not a git repository"):
        patch, base = made(plain, change={"find.py": FAST})
    apply_to_tree(plain, patch, base)
    assert (plain / "find.py").read_text() == FAST
    with pytest.raises(NotApplied):
        apply_to_tree(plain, patch, base)
    with pytest.raises(UsageError, match="not a git repository"):
        commit_on_branch(plain, patch, base, "faster", "Faster")


@pytest.mark.parametrize(
    "path", ["../outside.py", ".git/hooks/post-checkout", "link/outside.py", "/etc/fanwise"]
)
def test_a_patch_that_leads_out_of_the_tree_writes_nothing(
    repo: Path, tmp_path: Path, path: str
) -> None:
    base = git(repo, "rev-parse", "HEAD")
    (tmp_path / "elsewhere").mkdir()
    (repo / "link").symlink_to(tmp_path / "elsewhere")
    before = everything(repo)
    hostile = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"
    with pytest.raises(NotApplied):
        apply_to_tree(repo, hostile, base)
    if not path.startswith("link/"):  # that is the user's, and is not in the commit
        with pytest.raises(NotApplied):
            commit_on_branch(repo, hostile, base, "faster", "Faster")
    assert everything(repo) == before
    assert not any((tmp_path / "elsewhere").iterdir())
    assert not (repo.parent / "outside.py").exists()


HALF = """
import sys
from pathlib import Path
from fanwise.errors import NotApplied
from fanwise.workspaces.results import apply_to_tree
try:
    apply_to_tree(Path(sys.argv[1]), Path(sys.argv[2]).read_text(), sys.argv[3])
except NotApplied:
    sys.exit(7)
"""


def test_when_git_breaks_off_half_way_all_is_put_back(repo: Path, tmp_path: Path) -> None:
    change: dict[str, str | None] = {**FASTER, "z.py": "# long\n" * 10_000}
    patch, base = made(repo, change=change)
    (tmp_path / "patch").write_text(patch)
    before = everything(repo)
    limit = 20_000  # bytes of a file: git is killed when it writes the last one
    done = subprocess.run(
        [sys.executable, "-c", HALF, str(repo), str(tmp_path / "patch"), base],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        check=False,
    )
    assert done.returncode == 7
    after = everything(repo)
    assert after["tree"] == before["tree"]
    assert after == before


def test_a_branch_is_made_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    patch, base = made(repo, change=FASTER)
    before = everything(repo)
    made_commit = commit_on_branch(repo / "src", patch, base, "perf/find", "Faster\n\nIt is.\n")
    after = everything(repo)
    assert git(repo, "rev-parse", "refs/heads/perf/find") == made_commit
    assert git(repo, "rev-parse", "perf/find^") == base
    assert git(repo, "show", "perf/find:src/pkg/find.py") + "\n" == FAST
    assert git(repo, "show", "--name-status", "--format=%s", "perf/find").split() == [
        "Faster", "A", "new/name.py", "D", "old.py", "M", "src/pkg/find.py",
    ]  # fmt: skip
    assert files(repo) == before["tree"]
    inner, inner_before = after["git"], before["git"]
    assert isinstance(inner, dict)
    assert isinstance(inner_before, dict)
    new = {name for name in inner if name not in inner_before}
    assert new == {"refs/heads/perf", "refs/heads/perf/find", "logs/refs/heads/perf",
                   "logs/refs/heads/perf/find"}  # fmt: skip
    assert {name: digest for name, digest in inner.items() if name not in new} == inner_before
    assert not (tmp_path / "hook-ran").exists()


def test_a_branch_of_a_dirty_start_has_the_users_changes_in_a_commit_of_their_own(
    repo: Path,
) -> None:
    patch, base = made(repo, dirty=True, change={"src/pkg/find.py": FAST})
    commit_on_branch(repo, patch, base, "faster", "Faster")
    assert git(repo, "log", "--format=%H", "faster").splitlines()[1] == base
    assert git(repo, "rev-parse", "faster~2") == git(repo, "rev-parse", "HEAD")
    assert git(repo, "diff", "--name-only", "faster~1", "faster") == "src/pkg/find.py"
    assert git(repo, "show", "faster:src/pkg/other.py") == "X = 2"


def test_a_branch_that_is_there_is_not_moved(repo: Path) -> None:
    patch, base = made(repo, change=FASTER)
    git(repo, "branch", "taken")
    git(repo, "branch", "group/one")
    before = everything(repo)
    for name, problem in (
        ("taken", "git branch -D taken"),
        ("main", "already"),
        ("group", "group/one"),
        ("taken/more", "together"),
    ):
        with pytest.raises(UsageError, match=problem):
            commit_on_branch(repo, patch, base, name, "Faster")
    assert everything(repo) == before


def test_a_branch_that_somebody_makes_at_the_same_moment_is_not_moved(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, base = made(repo, change=FASTER)
    real = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    theirs = f"case \"$*\" in *commit-tree*) '{real}' -C '{tmp_path}'/user* branch faster;; esac"
    write(shim, f"#!/bin/sh\n{theirs}\nexec '{real}' \"$@\"\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=os.pathsep)
    with pytest.raises(NotApplied, match="'faster' was not made"):
        commit_on_branch(repo, patch, base, "faster", "Faster")
    assert git(repo, "rev-parse", "faster") == base


@pytest.mark.parametrize(
    "name", ["", "-f", "a b", "a..b", "HEAD", "@{-1}", "x.lock", "a//b", "/a", "a~1", "a\nb"]
)
def test_a_name_that_cannot_be_a_branch_is_told_before_anything_is_spent(
    repo: Path, name: str
) -> None:
    with pytest.raises(UsageError, match="cannot be a branch"):
        check_branch(repo, name)


def test_an_author_whom_git_does_not_know_is_fanwise(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, base = made(repo, change=FASTER)
    git(repo, "config", "user.useConfigOnly", "true")
    commit_on_branch(repo, patch, base, "nobody", "Faster")
    assert git(repo, "log", "-1", "--format=%an", "nobody") == "fanwise"
    git(repo, "config", "user.name", "Somebody")
    git(repo, "config", "user.email", "somebody@example.org")
    commit_on_branch(repo, patch, base, "somebody", "Faster")
    assert git(repo, "log", "-1", "--format=%an", "somebody") == "Somebody"


def test_a_commit_that_is_gone_is_said(repo: Path) -> None:
    patch, _ = made(repo, change=FASTER)
    for write_it in (
        lambda: apply_to_tree(repo, patch, "0" * 39 + "1"),
        lambda: commit_on_branch(repo, patch, "0" * 39 + "1", "faster", "Faster"),
    ):
        with pytest.raises(NotApplied, match="is not there"):
            write_it()


def test_the_patch_file_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "winner.patch"
    write_patch(target, "one\n")
    write_patch(target, "caf\udce9\n")  # a file in Latin-1 stays one
    assert target.read_bytes() == b"caf\xe9\n"
    assert [path.name for path in target.parent.iterdir()] == ["winner.patch"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputNotWritable, match=r"winner\.patch"):
        write_patch(tmp_path / "file" / "winner.patch", "one\n")


def test_the_message_says_what_is_known_and_names_stay_in_their_line() -> None:
    won = verdict(
        candidate=candidate("evil\n\nSigned-off-by: root"),
        status="accepted",
        stage="benchmark",
        speed=speed(1.5234, ratio=1.6, high=1.7),
    )
    assert message_of(won, "pkg/find.py::find").splitlines() == [
        "Make pkg/find.py::find 1.52 times as fast",
        "",
        "Candidate: evil Signed-off-by: root",
        "Measured: 1.6 times (1.52 to 1.7) in 20 pairs of runs",
    ]
