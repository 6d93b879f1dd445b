"""What a run leaves behind: a patch file, a branch, or files of the user's tree, as is asked.

No way has a use for the user's index or HEAD. A branch is made of an index of our own and a
commit that nobody has checked out. The work tree is written by `git apply`, which looks at all
files before it writes any; a file that is not as it was in the commit that the run started from
was judged by nobody, so it is refused even where the patch would still fit.

Of a dirty start that commit is a commit of ours, with what the user had not committed. A branch
begins there too: on HEAD the patch may not apply, and mixed into one commit nobody could tell the
user's own changes from the run's.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fanwise.errors import GitFailed, NotApplied, OutputNotWritable, UsageError
from fanwise.workspaces.git import NOBODY, Git
from fanwise.workspaces.source import Place, find

Patch = str | bytes
"""As `git diff` writes it; a text has other bytes than UTF-8 as `surrogateescape` makes them."""

_AT_A_TIME = 500
_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--submodule=short")
BY_HAND = "Put these files back, or use the patch file yourself: git apply --3way FILE"
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")


def write_patch(path: Path, patch: Patch) -> None:
    """Write it as a file, whole or not at all; folders are made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        beside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_bytes(patch))
            beside.chmod(0o644)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputNotWritable(str(path), why, "Free space or permissions there") from error


def apply_to_tree(repo: Path, patch: Patch, base: str) -> list[str]:
    """Change the user's work tree, and nothing else; return the files. All of it, or `NotApplied`.

    `base` is the commit that the patch is against.
    """
    place = find(repo)
    with index_of(place, base) as (git, env):
        files = _files(git, patch)
        if place.git_dir is not None:
            _must_apply(git, patch, "--cached", "--check", env=env)
            _refuse_changed(git, env, files)
        _must_apply(git, patch, "--check")
        try:
            _must_apply(git, patch)
        except BaseException:
            _put_back(git, env, files)
            raise
    return files


def branches(git: Git) -> dict[str, str]:
    """Return every branch with its commit."""
    form = "--format=%(objectname) %(refname:lstrip=2)"
    rows = (line.partition(" ") for line in git("for-each-ref", form, "refs/heads").splitlines())
    return {name: commit for commit, _, name in rows}


def check_branch(repo: Path, name: str, *, new: bool = True) -> None:
    """Say at once what would go wrong with a branch of that name when hours are spent.

    Unless it has to be `new`, it may be there.
    """
    place = find(repo)
    if place.git_dir is None:
        raise UsageError(
            f"{place.top} is not a git repository, so it has no branch {name!r}",
            "Do without a branch; the patch file has the same",
        )
    git = Git(place.top, git_dir=place.git_dir)
    ref = f"refs/heads/{name}"
    if name in ("", "HEAD") or name.startswith("-") or git.run("check-ref-format", ref)[0] != 0:
        raise UsageError(f"{name!r} cannot be a branch", "Give a name such as made/faster-find")
    for there in branches(git):
        if there == name and new:
            step = f"Name another one, or remove it: git branch -D {name}"
            raise UsageError(f"there is a branch {name!r} already", step)
        if there.startswith(f"{name}/") or name.startswith(f"{there}/"):
            both = f"git cannot have the branches {name!r} and {there!r} together"
            raise UsageError(both, "Name another one")


def commit_on_branch(repo: Path, patch: Patch, base: str, name: str, message: str) -> str:
    """Make a branch with one commit on `base`, and return the commit."""
    return commits_on_branch(repo, [(patch, message)], base, name)[0]


def commits_on_branch(
    repo: Path, changes: Sequence[tuple[Patch, str]], base: str, name: str
) -> list[str]:
    """Make a branch on `base` with a commit for each patch and message; all, or `NotApplied`.

    The work tree, the index and HEAD stay as they are. A branch that is there is an error.
    """
    check_branch(repo, name)
    commits = [base]
    with index_of(find(repo), base) as (git, env):
        for patch, message in changes:
            _must_apply(git, patch, "--cached", env=env)
            tree = git("write-tree", env=env)
            command = ("commit-tree", "-p", commits[-1], "-F", "-", tree)
            commits.append(git(*command, stdin=message.encode(), env=_author(git)))
        make_branch(git, name, commits[-1])
    return commits[1:]


def make_branch(git: Git, name: str, commit: str) -> None:
    """Let a new branch name a commit; one that is there, or just came to be, is an error."""
    must_be_new = ""
    ref = ("-m", "fanwise: made", f"refs/heads/{name}", commit, must_be_new)
    code, _, said = git.run("update-ref", "--no-deref", *ref)
    if code != 0:
        raise NotApplied(f"the branch {name!r} was not made: {said}")


@contextmanager
def index_of(place: Place, base: str) -> Iterator[tuple[Git, dict[str, str]]]:
    """git at the user's tree, and an index of our own that has the commit, for a block."""
    with tempfile.TemporaryDirectory(prefix="fanwise-") as folder:
        if place.git_dir is None:  # of a plain copy there is no commit to look at, only files
            Git(Path(folder))("init", "--quiet", "--bare", "--template=", "none.git")
            yield Git(place.top, git_dir=Path(folder) / "none.git"), {}
            return
        git = Git(place.top, git_dir=place.git_dir)
        env = {"GIT_INDEX_FILE": f"{folder}/index", "GIT_LITERAL_PATHSPECS": "1"}
        try:
            git("read-tree", base, env=env)
        except GitFailed as error:
            raise NotApplied(
                f"the commit that the run started from, {base[:12]}, is not there: {error.said}",
                "The patch file has it: git apply --3way FILE",
            ) from error
        yield git, env


def _files(git: Git, patch: Patch) -> list[str]:
    code, out, said = git.run("apply", "--numstat", "-z", "-", stdin=_bytes(patch))
    if code != 0:
        raise NotApplied(f"it is no patch: {said}")
    return [os.fsdecode(row.split(b"\t", 2)[2]) for row in out.split(b"\0") if row]


def changed_files(git: Git, env: Mapping[str, str], files: Sequence[str]) -> list[str]:
    """Return those that are not in the work tree as in an index; both have to have them."""
    command = ("diff", "--name-only", "-z", *_PLAIN_DIFF, "--")
    return [name for some in parts(files) for name in git.names(*command, *some, env=env)]


def parts(names: Sequence[str]) -> list[Sequence[str]]:
    """So many names at a time as a command line can hold."""
    return [names[at : at + _AT_A_TIME] for at in range(0, len(names), _AT_A_TIME)]


def _git(repo: Path) -> Git:
    place = find(repo)
    return Git(place.top, git_dir=place.git_dir)


def _refuse_changed(git: Git, env: dict[str, str], files: list[str]) -> None:
    changed = changed_files(git, env, files)
    if changed:
        raise NotApplied(
            f"not as in the commit that the run started from: {', '.join(changed)}",
            "Put these files back, or apply the patch file yourself: git apply --3way FILE",
            files=changed,
        )


def _must_apply(
    git: Git, patch: Patch, *options: str, env: Mapping[str, str] | None = None
) -> None:
    code, _, said = git.run("apply", *options, "-", stdin=_bytes(patch), env=env)
    if code != 0:
        raise NotApplied(f"the patch does not apply: {said or f'git ended with {code}'}")


def _put_back(git: Git, env: dict[str, str], files: list[str]) -> None:
    """After git has broken off half-way. All files were as in the commit, or not there."""
    if not env:
        return
    listed = (git.names("ls-files", "-z", "--", *some, env=env) for some in parts(files))
    known = {name for some in listed for name in some}
    for name in files:
        if name not in known:
            with suppress(OSError):
                (git.cwd / name).unlink()
    for some in parts(sorted(known)):
        git("checkout-index", "--force", "--", *some, env=env)


def _author(git: Git) -> dict[str, str]:
    return NOBODY if git.run("var", "GIT_COMMITTER_IDENT")[0] != 0 else {}


def _bytes(patch: Patch) -> bytes:
    return patch if isinstance(patch, bytes) else patch.encode("utf-8", "surrogateescape")


# -- the work tree taken from one commit to another, to apply a result and to undo that -----------
#
# Only the files in which the two differ are looked at and written. Each has to be as in the first,
# or already as in the second: so what a kill has broken off is finished by a second call. If any is
# neither, it is somebody's work, and nothing is written.


def patch_between(git: Git, start: str, end: str, files: Sequence[str] = ()) -> bytes:
    """Return the difference of two commits as a patch, binary files included; of these files."""
    command = ("diff", "--binary", "--full-index", *_DIFF, start, end, "--")
    env = {"GIT_LITERAL_PATHSPECS": "1"}
    return b"".join(git.raw(*command, *some, env=env) for some in (parts(files) or [()]))


class Between(NamedTuple):
    """The files in which two commits differ, by how they are in the work tree."""

    at_start: list[str]
    at_end: list[str]
    neither: list[str]


def between(repo: Path, start: str, end: str) -> Between:
    """Look at the work tree."""
    git = _git(repo)
    try:
        files = git.names("diff", "--name-only", "-z", *_DIFF, start, end, "--")
    except GitFailed as error:
        raise NotApplied(f"a commit of the run is not there any more: {error.said}") from error
    not_at_end = _unlike(repo, end, files)
    neither = set(_unlike(repo, start, not_at_end))
    return Between(
        [name for name in not_at_end if name not in neither],
        sorted(set(files) - set(not_at_end)),
        sorted(neither),
    )


def move_tree(
    repo: Path, start: str, end: str, *, state: str, next_step: str = BY_HAND
) -> list[str]:
    """Change the work tree, and nothing else; return the files. All of it, or `NotApplied`.

    `state` says how the files have to be: "not as … : file" is the error.
    """
    found = between(repo, start, end)
    if found.neither:
        raise NotApplied(
            f"not {state}: {', '.join(found.neither)}",
            next_step,
            files=found.neither,
        )
    if found.at_start:
        apply_to_tree(repo, patch_between(_git(repo), start, end, found.at_start), start)
    return found.at_start


def _unlike(repo: Path, commit: str, files: list[str]) -> list[str]:
    """Those that are not in the work tree as in a commit."""
    with index_of(find(repo), commit) as (git, env):
        listed = (git.names("ls-files", "-z", "--", *some, env=env) for some in parts(files))
        known = {name for some in listed for name in some}
        changed = set(changed_files(git, env, sorted(known)))
        return [
            name
            for name in files
            if name in changed or (name not in known and _is_file(git.cwd / name))
        ]


def _is_file(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())
