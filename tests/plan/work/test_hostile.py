"""Workers that do to a workspace what nobody should."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from fanwise.errors import SubPlanFailed
from fanwise.plan.model.leaf_result import LeafResult
from fanwise.plan.work import LeafSettings
from fanwise.plan.work.by_command import CommandWorker
from fanwise.plan.work.settle import MOST_PATCH, MOST_SHOWN
from fanwise.workspaces import WorkspacePool
from tests.plan.work.support import FILES, do, done, how, leaf, make_repository, names
from tests.workspaces.support import everything, git


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("plan") / "repo")


def one_after_the_other(
    repo: Path, first: str, how: LeafSettings
) -> tuple[LeafResult | SubPlanFailed, LeafResult]:
    """A bad command, and then a good one in the same slot."""

    async def main(pool: WorkspacePool) -> tuple[LeafResult | SubPlanFailed, LeafResult]:
        bad: LeafResult | SubPlanFailed
        try:
            bad = await done(pool, CommandWorker(first), leaf(), how)
        except SubPlanFailed as error:
            bad = error
        return bad, await done(pool, CommandWorker("echo '# x' >> pkg/a.py"), leaf(), how)

    before = everything(repo)
    with WorkspacePool(repo, slots=1) as pool:
        found = asyncio.run(main(pool))
    assert everything(repo) == before
    return found


def test_one_that_deletes_all_files_has_deleted_its_own(repo: Path, tmp_path: Path) -> None:
    first, then = one_after_the_other(repo, "rm -rf ./* ./.git*", how(tmp_path))

    assert isinstance(first, LeafResult)
    assert first.change is not None
    assert first.change.files == {"pkg/a.py": None}
    assert [each.path for each in first.requests] == sorted(set(FILES) - {"pkg/a.py"})
    assert names(then) == ["pkg/a.py"]


def test_its_deletions_are_judged(repo: Path, tmp_path: Path) -> None:
    asked = how(tmp_path, verify="test -f pkg/a.py")
    first, _ = one_after_the_other(repo, "rm -rf ./* ./.git*", asked)

    assert isinstance(first, SubPlanFailed)
    assert first.tries[0].stage == "verify"


@pytest.mark.parametrize(
    "line",
    [
        'rm -rf "$PWD"',
        'd=$PWD; rm -rf "$d"; ln -s {elsewhere} "$d"',
        'd=$PWD; rm -rf "$d"; touch "$d"',
    ],
)
def test_one_that_removes_or_replaces_its_folder_fails_and_says_so(
    repo: Path, tmp_path: Path, line: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("stays\n")
    first, then = one_after_the_other(
        repo, line.replace("{elsewhere}", str(elsewhere)), how(tmp_path, retry=1)
    )

    assert isinstance(first, SubPlanFailed)
    assert [each.stage for each in first.tries] == ["edits", "edits"]
    assert "folder of the workspace itself" in first.tries[0].reason
    assert [path.name for path in elsewhere.iterdir()] == ["precious"]
    assert names(then) == ["pkg/a.py"]


@pytest.mark.parametrize(
    "line",
    [
        "rm .git; echo x >> pkg/a.py",
        "rm .git; mkdir .git; echo x > .git/HEAD; echo x >> pkg/a.py",
        "echo 'gitdir: /nowhere' > .git; echo x >> pkg/a.py",
        "git add -A; git rm -q --cached pkg/b.py; git update-index --assume-unchanged pkg/a.py;"
        " echo x >> pkg/a.py",
        "echo x >> pkg/a.py; git -c user.name=a -c user.email=a@b commit -qam mine",
    ],
)
def test_what_it_does_to_git_changes_nothing(repo: Path, tmp_path: Path, line: str) -> None:
    first, then = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, LeafResult)
    assert names(first) == names(then) == ["pkg/a.py"]


def test_folders_without_rights_are_no_obstacle(repo: Path, tmp_path: Path) -> None:
    line = "echo x >> pkg/a.py; echo x >> pkg/b.py; chmod -R a-w ."
    first, then = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, LeafResult)
    assert names(first) == names(then) == ["pkg/a.py"]
    assert [each.path for each in first.requests] == ["pkg/b.py"]


def test_a_link_is_a_change_and_nothing_is_read_or_written_through_it(
    repo: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET\n")
    line = f"ln -s {secret} link; rm -rf pkg; ln -s {tmp_path} pkg"
    first, _ = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, LeafResult)
    assert first.change is not None
    link = first.change.files["link"]
    assert link is not None
    assert link.mode == "120000"
    assert git(repo, "cat-file", "blob", link.name) == str(secret)
    assert names(first) == ["link", "pkg/a.py"]  # `pkg` has files of others: it is put back
    assert "pkg" in [each.path for each in first.requests]
    assert "SECRET" not in json.dumps(msgspec.to_builtins(first))
    assert secret.read_text() == "SECRET\n"


def test_an_edited_list_of_ignored_files_hides_nothing(repo: Path, tmp_path: Path) -> None:
    first, _ = one_after_the_other(repo, "echo '*' > .gitignore; echo x > new.py", how(tmp_path))

    assert isinstance(first, LeafResult)
    assert names(first) == ["new.py"]
    assert [each.path for each in first.requests] == [".gitignore"]


def test_thousands_of_foreign_deletions_are_told_in_short_and_kept_in_full(tmp_path: Path) -> None:
    files = {f"lib/f{n}.py": f"x = {n}\n" for n in range(600)}
    repo = make_repository(tmp_path / "many", {**FILES, **files})
    ended = do(repo, CommandWorker("rm -rf lib"), leaf(), how(tmp_path))

    assert ended.status == "unchanged"
    assert len(ended.requests) == MOST_SHOWN + 1
    assert ended.requests[-1].more + len(ended.requests) == 600
    assert len(msgspec.json.encode(ended)) < 50_000
    whole = next((tmp_path / "kept").glob("*requests*.patch"))
    assert whole.read_text().count("deleted file mode") == 600


def test_big_and_binary_requests_are_bounded(repo: Path, tmp_path: Path) -> None:
    line = "yes abcdefgh | head -n 100000 >> pkg/b.py; head -c 50000 /dev/urandom > pkg/c.py"
    first, _ = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, LeafResult)
    big, binary = first.requests
    assert len(big.patch) < MOST_PATCH + 100
    assert "left out" in big.patch
    assert "Binary files" in binary.patch
    kept = next((tmp_path / "kept").glob("*requests*.patch"))
    git(repo, "apply", "--check", str(kept))


def test_file_names_are_data(tmp_path: Path) -> None:
    odd = ["-rf.py", "a b.py", "$(touch pwned).py", 'it\'s "so".py', "new\nline.py", "é;ls.py"]
    repo = make_repository(tmp_path / "odd", {**FILES, **dict.fromkeys(odd, "x\n")})
    line = 'for f in {files}; do printf "%s\\n" done >> "$f"; done; python3 -c "print(1)" {files}'
    ended = do(repo, CommandWorker(line), leaf(*sorted(odd)), how(tmp_path, verify="cat {files}"))

    assert names(ended) == sorted(odd)
    assert ended.verified == "passed"
    assert not list(tmp_path.rglob("pwned"))


def test_output_is_bounded_and_has_no_secrets(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-1")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp-also-secret")
    line = "yes hello | head -n 100000; echo $SOME_API_KEY; echo $GITHUB_TOKEN $PWD >&2; echo > x"
    ended = do(repo, CommandWorker(line), leaf(), how(tmp_path, verify="env"))

    assert len(ended.said) < 5000
    assert "sk-very" not in ended.said
    assert "ghp-also" not in ended.said
    assert ended.said.count("•••") == 2
    assert str(tmp_path) in ended.said  # PWD is no secret


def test_a_verification_has_no_keys(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-1")
    monkeypatch.setenv("NEEDED", "yes")
    asked = how(tmp_path, verify='test -z "$SOME_API_KEY" && test "$NEEDED" = yes', env=("NEEDED",))

    assert do(repo, CommandWorker("echo > x"), leaf(), asked).verified == "passed"


def test_a_verification_cannot_write_outside(repo: Path, tmp_path: Path) -> None:
    from fanwise.processes.sandbox import unusable

    if unusable():
        pytest.skip("there is no sandbox here")
    asked = how(tmp_path, verify=f"echo x > {repo}/written; echo x > {tmp_path}/written; true")

    assert do(repo, CommandWorker("echo > x"), leaf(), asked).verified == "passed"
    assert not (repo / "written").exists()
    assert not (tmp_path / "written").exists()


def test_names_that_are_not_text_are_told_and_not_kept(repo: Path, tmp_path: Path) -> None:
    line = "touch \"$(printf 'pkg/\\377.py')\"; echo x >> pkg/a.py"
    first, then = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, SubPlanFailed)
    assert "not valid text: 'pkg/\\udcff.py'" in first.tries[0].reason
    assert names(then) == ["pkg/a.py"]


def test_a_repository_inside_is_told_and_not_lost_in_silence(repo: Path, tmp_path: Path) -> None:
    line = "mkdir in; cd in; git init -q; echo x > file"
    first, then = one_after_the_other(repo, line, how(tmp_path))

    assert isinstance(first, SubPlanFailed)
    assert first.tries[0].reason.endswith("inside this one: in/")
    assert names(then) == ["pkg/a.py"]
