"""A git repository for one work tree, which borrows the user's objects and shares nothing else.

`git worktree add` would share refs, stash and configuration with the user: a `git stash pop` in
one workspace could take the entry of another, or the user's own. `git clone --shared` isolates,
but takes several processes and 50 ms; writing the same few files here takes one millisecond.

A work tree gets two repositories. The one in its `.git` belongs to whatever runs there: commits,
tags, stashes and settings stay in it, and the next use gets a new one. The other one, beside the
work tree, is ours: what we find out about the work tree does not depend on an index or a
configuration that somebody could have changed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fanwise.workspaces.changes import copy_index
from fanwise.workspaces.folders import remove_tree, write_anew
from fanwise.workspaces.git import Git
from fanwise.workspaces.sparse import SETTINGS

_KEPT_SECTIONS = {"user", "author", "committer", "filter", "diff", "merge", "lfs", "i18n"}
_KEPT_KEYS = {
    "core.attributesfile", "core.autocrlf", "core.eol", "core.excludesfile", "core.filemode",
    "core.ignorecase", "core.precomposeunicode", "core.safecrlf", "core.sharedrepository",
    "core.symlinks", "core.whitespace", "extensions.objectformat",
}  # fmt: skip
"""What decides how files are read and written, and who commits. No remotes, no credentials."""

_OURS = "[core]\n\tlogAllRefUpdates = false\n"
_THEIRS = "[core]\n\tlogAllRefUpdates = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
_SPARSE = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})
_LINK = "160000"


@dataclass(frozen=True)
class Origin:
    """What the repositories of workspaces take from the user's."""

    objects: Path
    files: dict[str, bytes] = field(repr=False)
    """Files of the repository folder that decide what git sees: refs, ignored files, attributes."""
    config: str = field(repr=False)


def read_origin(git: Git, common: Path) -> Origin:
    """Read what workspaces need of the repository whose shared folder is `common`."""
    files = {}
    for name in ("info/attributes", "info/exclude", "shallow"):
        if (common / name).is_file():
            files[name] = (common / name).read_bytes()
    refs = git.raw("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    kept = [ref for ref in refs if not ref.endswith(b" refs/stash")]
    files["packed-refs"] = b"".join(
        b"%s\n" % line for line in [b"# pack-refs with: sorted ", *kept]
    )
    return Origin(common / "objects", files, _config(git))


class Repository:
    """The two repositories of one work tree: ours, in `admin`, and the one in its `.git`."""

    def __init__(self, origin: Origin, work_tree: Path, admin: Path, held: Sequence[int]) -> None:
        self.work_tree = work_tree
        self._origin = origin
        self._admin = admin
        self._held = tuple(held)
        self._cone = ""
        self.index = admin / "index"
        """The index of the work tree as it was when it was new."""

    @property
    def git(self) -> Git:
        """git with our repository. New objects go to the user's, where they outlive this one."""
        return Git(
            self.work_tree,
            git_dir=self._admin,
            settings=SETTINGS if self._cone else (),
            held=self._held,
            env={"GIT_OBJECT_DIRECTORY": str(self._origin.objects)},
        )

    def begin(self, commit: str) -> subprocess.Popen[bytes]:
        """Start to check everything out, where nothing is yet. `check_out` has to follow."""
        self._write(self._admin, commit, _OURS)
        return self.git.start("reset", "--quiet", "--hard", commit)

    def check_out(self, commit: str, cone: str = "") -> None:
        """Make the work tree as new at this commit, with all files or those of the cone."""
        self._cone = cone
        is_new = not self._admin.is_dir()
        if is_new:
            self._write(self._admin, commit, _OURS)
        for lock in self._admin.glob("*.lock"):
            lock.unlink()
        if cone:
            write_anew(self._admin / "info" / "sparse-checkout", cone)
        self.git("reset", "--quiet", "--hard", commit)
        if not is_new:
            self.git("clean", "--quiet", "-ffdx")
        self._give(commit)

    def links(self) -> list[tuple[str, str]]:
        """Return the commit and the path of each submodule."""
        rows = (row.partition("\t") for row in self.git.names("ls-files", "--stage", "-z"))
        return [(front.split()[1], name) for front, _, name in rows if front.startswith(_LINK)]

    def _give(self, commit: str) -> None:
        """Let the work tree have a repository of its own, whatever stands there now."""
        theirs = self.work_tree / ".git"
        if theirs.is_symlink() or theirs.is_file():
            theirs.unlink()
        remove_tree(theirs)
        self._write(theirs, commit, _THEIRS + (_SPARSE if self._cone else ""))
        (theirs / "objects" / "info" / "alternates").write_bytes(
            b"%s\n" % os.fsencode(self._origin.objects)
        )
        if self._cone:
            (theirs / "info" / "sparse-checkout").write_text(self._cone)
        copy_index(self.index, theirs / "index")

    def _write(self, folder: Path, commit: str, config: str) -> None:
        for name in ("objects/info", "refs", "info"):
            (folder / name).mkdir(parents=True)
        for name, content in self._origin.files.items():
            (folder / name).write_bytes(content)
        (folder / "config").write_text(
            self._origin.config + config, encoding="utf-8", errors="surrogateescape"
        )
        (folder / "HEAD").write_text(f"{commit}\n")


def object_folders(objects: Path) -> list[Path]:
    """A folder of objects, and those that it borrows from in turn."""
    found = [objects]
    for each in found:
        with contextlib.suppress(OSError):
            for line in (
                (each / "info" / "alternates").read_text(errors="surrogateescape").split("\n")
            ):
                other = Path(os.path.normpath(each / line))
                if line and other not in found:
                    found.append(other)
    return found


def _config(git: Git) -> str:
    """Return the settings of the user's repository that count in a workspace."""
    lines, version = [], 0
    for scope, key, value in _settings(git):
        section, _, rest = key.partition(".")
        sub, _, name = rest.rpartition(".")
        if scope in ("local", "worktree") and (section in _KEPT_SECTIONS or key in _KEPT_KEYS):
            version = max(version, int(section == "extensions"))
            head = f'[{section} "{sub.translate(_ESCAPED)}"]' if sub else f"[{section}]"
            lines += [
                head,
                f"\t{name}" + ("" if value is None else f' = "{value.translate(_ESCAPED)}"'),
            ]
    first = ["[core]", f"\trepositoryFormatVersion = {version}", "\tbare = false"]
    return "\n".join([*first, *lines]) + "\n"


def _settings(git: Git) -> Iterator[tuple[str, str, str | None]]:
    """Every setting that git knows: where it is from, its name, and its value if it has one."""
    words = os.fsdecode(git.raw("config", "--list", "-z", "--show-scope")).split("\0")
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        key, has_value, value = entry.partition("\n")
        yield scope, key, value if has_value else None
