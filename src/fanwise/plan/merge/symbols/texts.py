"""Contents of blobs, read once; and a quick look at which files have lost a name at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fanwise.plan.merge.symbols.facts import EMPTY, PythonModule, module_of
from fanwise.plan.model.change import Blob
from fanwise.workspaces.git import Git

_MADE = re.compile(
    rb"^[ \t]*(?:async[ \t]+)?(?:def|class|type)[ \t]+(\w+)"
    rb"|^[ \t]*((?:self\.)?\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*(?::[^=\n]+)?=[^=]"
    rb"|^[ \t]*((?:self\.)?\w+)[ \t]*:[^\n]"
    rb"|^[ \t]*(?:from[ \t]+\S+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n]+)"
    rb"|^[ \t]*(\w+(?:[ \t]+as[ \t]+\w+)?)[ \t]*,?[ \t]*$",  # of an import in many lines
    re.MULTILINE,
)
_WORD = re.compile(rb"\w+")


class Texts:
    """Blobs as texts and as modules."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._texts: dict[str, bytes] = {}
        self._modules: dict[str, PythonModule] = {}

    def read(self, blobs: Iterable[Blob]) -> None:
        """Read many at once."""
        names = sorted({each.name for each in blobs} - self._texts.keys())
        if not names:
            return
        asked = "\n".join(names).encode() + b"\n"
        out = self._git.raw("cat-file", "--batch", "--buffer", stdin=asked)
        at = 0
        for name in names:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[2])
            self._texts[name] = out[end + 1 : end + 1 + size]
            at = end + size + 2

    def raw(self, blob: Blob | None) -> bytes:
        """Return the content of a blob; empty for no file."""
        if blob is None:
            return b""
        if blob.name not in self._texts:
            self.read([blob])
        return self._texts[blob.name]

    def text(self, blob: Blob | None) -> str:
        return self.raw(blob).decode("utf-8", "replace")

    def module(self, blob: Blob | None) -> PythonModule:
        """Return what a blob defines."""
        if blob is None:
            return EMPTY
        if blob.name not in self._modules:
            self._modules[blob.name] = module_of(self.text(blob))
        return self._modules[blob.name]

    def lost(self, before: Blob, after: Blob | None) -> set[bytes]:
        """Return the words that may be names which one content makes, and the other does not."""
        new = self.raw(after)
        gone = set(self.raw(before).splitlines()) - set(new.splitlines())
        words = _made(b"\n".join(gone))
        return words - _made(new) if words else words

    def new_words(self, before: Blob | None, after: Blob) -> set[bytes]:
        """Return the words by which a content may use names that it did not use before.

        Those of its new lines; if an import is new, all, for it may change what others mean.
        """
        new = set(self.raw(after).splitlines()) - set(self.raw(before).splitlines())
        words = set(_WORD.findall(b"\n".join(new)))
        return set(_WORD.findall(self.raw(after))) if b"import" in words else words


def _made(text: bytes) -> set[bytes]:
    found = set(_MADE.findall(text))
    words = {word for groups in found for part in groups for word in _WORD.findall(part)}
    return words - {b"self"}
