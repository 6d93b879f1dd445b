"""Candidates that people have: files by a pattern, branches by a pattern.

What a file is, is told by its name, then by what is in it:

- `*.patch` and `*.diff`, or anything that has the lines of one: a patch against the repository.
- a Python file with a comment `# path: src/package/file.py` before its first statement: that
  whole file.
- a Python file that defines all that the target's file defines: the target's whole file.
- any other Python file, if there is a target: the source of that function (see `replacing.py`).

A branch counts for what it changed since it left the commit that all starts from. It is kept by
its commit: whoever moves it while a run goes on does not change what is judged.
"""

from __future__ import annotations

import ast
import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from fanwise.errors import NoCandidates, UsageError
from fanwise.kernel.parse_python import parse
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.target import Target, definitions
from fanwise.workspaces.git import Git

_PATCH = re.compile(r"^(diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
_HEADER = re.compile(r"#\s*path:\s*(\S+)\s*$", re.IGNORECASE)
_BRANCHES = ("refs/heads", "refs/remotes")


def from_files(
    patterns: str | Sequence[str], *, folder: Path, target: Target | None = None, top: Path
) -> list[Candidate]:
    """The candidates in files. `folder` is where patterns begin, `top` the user's repository."""
    wanted = _listed(patterns)
    names = sorted({name for pattern in wanted for name in _matching(pattern, folder)})
    if not names:
        raise NoCandidates(
            f"no file matches {_told(wanted)} in {folder.absolute()}",
            "Write patches or Python files there, or give another pattern",
        )
    shape = _shape(target, top) if target is not None else frozenset()
    return [_from_file(name, folder / name, target, shape) for name in names]


def from_branches(patterns: str | Sequence[str], *, repo: Path) -> list[Candidate]:
    """The candidates that are branches of the repository: `perf/*`, `origin/perf/*`."""
    wanted = _listed(patterns)
    git = Git(repo)
    refs = [f"{place}/{pattern}" for pattern in wanted for place in _BRANCHES]
    code, out, said = git.run(
        "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)%00%(symref)", "--", *refs
    )
    if code != 0:
        raise UsageError(f"branches of {repo} cannot be listed: {said}", "Give candidates as files")
    rows = [line.split("\0") for line in out.decode("utf-8", "replace").splitlines()]
    found = [
        Candidate.make(name, "branch", commit) for name, commit, symbolic in rows if not symbolic
    ]
    if not found:
        raise NoCandidates(
            f"no branch of {repo.absolute()} matches {_told(wanted)}",
            "`git branch --all` lists them",
        )
    return found


def _listed(patterns: str | Sequence[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _told(patterns: list[str]) -> str:
    return " or ".join(map(repr, patterns))


def _matching(pattern: str, folder: Path) -> Iterator[str]:
    for name in glob.glob(pattern, root_dir=folder, recursive=True):  # noqa: PTH207 - keeps names short
        if (folder / name).is_file():
            yield name


def _from_file(name: str, path: Path, target: Target | None, shape: frozenset[str]) -> Candidate:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:  # such as a compiled file: the others are judged
        return Candidate.make(name, "unreadable", f"it is not UTF-8 text: {error}")
    suffix = PurePosixPath(name).suffix
    if suffix in (".patch", ".diff") or (suffix != ".py" and _PATCH.search(text)):
        return Candidate.make(name, "patch", text)
    if suffix != ".py":
        raise UsageError(
            f"nobody can tell what the candidate {name} is",
            "Name it *.patch or *.diff, or *.py for a whole file or a function",
        )
    if (replaced := _header(text)) is not None:
        return Candidate.make(name, "file", text, path=replaced)
    if target is None:
        raise UsageError(
            f"nobody can tell which file the candidate {name} replaces",
            "Begin it with a comment: # path: src/package/file.py",
        )
    if _is_whole(text, target, shape):
        return Candidate.make(name, "file", text, path=target.file)
    return Candidate.make(name, "function", text)


def _shape(target: Target, top: Path) -> frozenset[str]:
    text = target.read(top).text
    target.find(text)
    return _names_of(text)


def _header(text: str) -> str | None:
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return None
        if found := _HEADER.match(line):
            return found[1]
    return None


def _is_whole(text: str, target: Target, shape: frozenset[str]) -> bool:
    """Whether it has all that the target's file has beside the target, were it one thing more."""
    around = {
        ".".join(target.name.split(".")[:depth]) for depth in range(1, target.name.count(".") + 2)
    }
    others = shape - around
    try:
        return bool(others) and others <= _names_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _names_of(text: str) -> frozenset[str]:
    """What a file defines. Imports are left out: a rewritten file may not need them."""
    return frozenset(
        each.name
        for each in definitions(parse(text))
        if not isinstance(each.node, ast.Import | ast.ImportFrom)
    )
