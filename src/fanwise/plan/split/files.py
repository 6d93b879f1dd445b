"""The files of a plan: those of a commit, of a folder, or a list.

Paths are relative to the top of the repository (of a folder without one: to it), with `/` between
names. Files that nobody should edit are left out, and listed with the reason.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from fanwise.errors import GitFailed, UsageError
from fanwise.plan.model.node import FileNote
from fanwise.plan.split.exclusions import ATTRIBUTES, LARGEST, Attributes, why_left_out
from fanwise.plan.split.patterns import Patterns
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import Place, find

BYTES_PER_TOKEN = 4.7
READ = (
    ".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", "go.mod",
)  # fmt: skip
"""Files whose text is kept: imports are read in these."""


class PlanFile(msgspec.Struct, frozen=True):
    """A file, and what a split needs to know about it."""

    path: str
    tokens: int
    """About: bytes / 4.7."""
    digest: str
    """Of its content."""
    text: str | None = None
    """Only where imports can be read in it."""
    odd: bool = False
    """Its bytes are neither UTF-8 nor in the encoding that it declares."""


class Listing(msgspec.Struct, frozen=True):
    """Files sorted by path, and files that match but are left out."""

    files: tuple[PlanFile, ...]
    left_out: tuple[FileNote, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Patterns that match no file."""


def file_of(path: str, data: bytes) -> PlanFile:
    text, odd = _text(path, data) if path.endswith(READ) else (None, False)
    digest = hashlib.sha256(data).hexdigest()
    return PlanFile(path, round(len(data) / BYTES_PER_TOKEN), digest, text, odd)


def files_at(repo: Path, commit: str, patterns: Sequence[str] = ()) -> Listing:
    """The files of a commit, read without a work tree."""
    place = _place(repo)
    if place.git_dir is None:
        raise UsageError(f"{repo} is not in a git repository", "Run `git init` there, and commit")
    git = Git(place.top, git_dir=place.git_dir)
    try:
        commit = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except GitFailed:
        raise UsageError(f"{repo} has no commit {commit!r}", "See `git log --all`") from None
    kinds, names = {}, {}
    for line in git.names("ls-tree", "-r", "-z", "--full-tree", commit):
        about, _, path = line.partition("\t")
        mode, _, names[path] = about.split()
        kinds[path] = _KINDS.get(mode[:2], "")
    return _listing(kinds, place.inside, patterns, lambda paths: _blobs(git, paths, names))


def files_in(folder: Path, patterns: Sequence[str] = ()) -> Listing:
    """The files that are in a folder now. In a repository, those that git does not ignore."""
    place = _place(folder)
    if place.git_dir is None:
        kinds = dict(_walk(place.top))
    else:
        git = Git(place.top, git_dir=place.git_dir)
        names = git.names("ls-files", "-co", "--exclude-standard", "--deduplicate", "-z")
        told = ((path.rstrip("/"), _kind(f"{place.top}/{path}")) for path in names)
        kinds = {path: kind for path, kind in told if kind is not None}
    return _listing(kinds, place.inside, patterns, lambda paths: _contents(place.top, paths))


def files_of(paths: Iterable[str | Path], root: Path) -> Listing:
    """The files with these names, absolute or relative to `root`."""
    top = root.resolve()
    kinds = {}
    for given in paths:
        path = Path(os.path.normpath(top / given))
        if not path.is_relative_to(top):
            path = path.parent.resolve() / path.name  # the same folder by another name
        if not path.is_relative_to(top):
            raise UsageError(f"{given} is not below {root}", "Name files below one folder")
        kind = _kind(path)
        if kind is None:
            raise UsageError(
                f"there is no file {given}", f"Give absolute paths, or paths relative to {root}"
            )
        kinds[path.relative_to(top).as_posix()] = kind
    return _listing(kinds, "", (), lambda wanted: _contents(top, wanted))


_COMMIT = "\x01"


def past_commits(repo: Path, commit: str = "HEAD", *, most: int = 1000) -> list[tuple[str, ...]]:
    """The paths of each commit, the newest first. None where there is no repository, or no commit.

    Merges are left away: what they changed is in the commits that they merged.
    """
    place = find(repo)
    if place.git_dir is None:
        return []
    asked = ["--no-merges", "--no-renames", "--name-only", f"--max-count={most}", "-z"]
    asked += ["--format=%x01", "--end-of-options", commit, "--"]
    try:
        out = Git(place.top, git_dir=place.git_dir).names("log", *asked)
    except GitFailed:
        return []
    commits: list[list[str]] = []
    for name in out:
        if name == _COMMIT:
            commits.append([])
        else:
            commits[-1].append(name if commits[-1] else name.removeprefix("\n"))
    return [tuple(paths) for paths in commits]


NOT_UTF8 = "its name is not valid UTF-8"
_KINDS = {"12": "a symbolic link", "16": "a submodule"}
Reader = Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]


def _place(folder: Path) -> Place:
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}", "Name the folder of a code base")
    return find(folder)


def _listing(kinds: dict[str, str], inside: str, patterns: Sequence[str], read: Reader) -> Listing:
    """Choose files by the patterns, and leave out what nobody should edit."""
    under = f"{inside}/" if inside else ""
    here = sorted(path for path in kinds if path.startswith(under))
    chosen = Patterns(patterns)
    wanted = [path for path in here if chosen.match(path[len(under) :])]
    marks = [p for p in sorted(kinds) if p.rpartition("/")[2] == ATTRIBUTES and not kinds[p]]
    attributes = Attributes(dict(read(marks)))
    kinds |= {path: NOT_UTF8 for path in wanted if _text_of(path) != path}
    left = [FileNote(_text_of(path), kinds[path]) for path in wanted if kinds[path]]
    files = []
    for path, data in read(path for path in wanted if not kinds[path]):
        why = why_left_out(path, data)
        if not why and attributes.generated(path):
            why = f"generated: {ATTRIBUTES} says so"
        if why:
            left.append(FileNote(path, why))
        else:
            files.append(file_of(path, data))
    missed = chosen.unmatched(path[len(under) :] for path in here)
    return Listing(tuple(files), tuple(sorted(left)), tuple(missed))


def _text_of(path: str) -> str:
    """The path as text that can be stored and shown."""
    return path.encode("utf-8", "backslashreplace").decode()


def _blobs(git: Git, paths: Iterable[str], names: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Read many blobs with one process."""
    wanted = list(paths)
    if not wanted:
        return
    asked = "".join(f"{names[path]}\n" for path in wanted).encode()
    out, place = git.raw("cat-file", "--batch", stdin=asked), 0
    for path in wanted:
        end = out.index(b"\n", place)
        size = int(out[place:end].split()[2])
        yield path, out[end + 1 : end + 1 + size]
        place = end + size + 2


def _contents(top: Path, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        try:
            with (top / path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            raise _not_readable(path, error) from error
        yield path, data


def _kind(path: str | Path) -> str | None:
    """The kind of a path: empty for a regular file, None if it does not exist."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a submodule" if stat.S_ISDIR(mode) else "not a plain file"


def _walk(top: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder, and what it is."""
    left = [("", str(top))]
    while left:
        above, folder = left.pop()
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError as error:
            raise _not_readable(above, error) from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in (".git", ".fanwise"):
                    left.append((f"{above}{entry.name}/", entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield above + entry.name, ""
            elif kind := _kind(entry.path):
                yield above + entry.name, kind


def _not_readable(path: str, error: OSError) -> UsageError:
    why = error.strerror or str(error)
    return UsageError(f"{path} cannot be read: {why}", "See its permissions, or leave it out")


def _text(path: str, data: bytes) -> tuple[str, bool]:
    """Its text, and whether it had to be guessed."""
    try:
        return data.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        cookie = _COOKIE.match(data) if path.endswith((".py", ".pyi")) else None
    try:
        if cookie is not None:
            return data.decode(cookie[1].decode("ascii")), False
    except (LookupError, UnicodeError):  # of codecs there is one that raises just that
        pass
    return data.decode("latin-1"), True


_COOKIE = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
