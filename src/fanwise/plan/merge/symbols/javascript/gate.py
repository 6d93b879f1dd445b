"""Uses that a leaf added in JavaScript or TypeScript, of what another one took away.

As for Python: each is looked up at the start and in the merged tree, re-exports are followed, and
whatever cannot be told counts as there. Only relative paths are followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fanwise.plan.merge.symbols.javascript.facts import ScriptExports, module_of
from fanwise.plan.merge.symbols.javascript.uses import ScriptUse, uses_in
from fanwise.plan.merge.symbols.javascript.version import ExportMatch, ScriptFiles
from fanwise.plan.merge.symbols.rename_detection import new_path
from fanwise.plan.merge.symbols.texts import Texts
from fanwise.plan.merge.symbols.who import first_leaf
from fanwise.plan.model.change import Blob, Change
from fanwise.plan.model.merge_result import BrokenName
from fanwise.plan.split.imports.javascript import SUFFIXES

_LINE = re.compile(rb"\bexports?\b|^[ \t]*[\w$]+(?:[ \t]+as[ \t]+[\w$]+)?[ \t]*(?:[,:].*)?$")
"""A line that may export something, also as one of a list in many lines."""
_WORD = re.compile(rb"[\w$]+")
_KEYWORDS = set(
    b"export exports module function class const let var type interface enum async as from".split()
)
_IMPORTS = re.compile(rb"\b(?:import|require|from)\b")


def in_javascript(
    texts: Texts, before: Mapping[str, Blob], after: Mapping[str, Blob], changes: Sequence[Change]
) -> list[BrokenName]:
    """Return the names that one leaf took away and another began to use, by file and line."""
    touched = {path for change in changes for path in change.files if path.endswith(SUFFIXES)}
    texts.read(files[path] for files in (before, after) for path in touched if path in files)
    words: set[bytes] = set()
    for path in touched & before.keys():
        words |= _lost(texts.raw(before[path]), texts.raw(after.get(path)))
        if path not in after:
            words.update(re.split(rb"[/.]", path.encode(errors="surrogateescape"))[-4:])
    if not words:
        return []
    gate = _Gate(texts, before, after, changes)
    found: list[BrokenName] = []
    for path in sorted(touched & after.keys()):
        if not words.isdisjoint(_new(texts.raw(before.get(path)), texts.raw(after[path]))):
            found += gate.look(path)
    return found


def _lost(old: bytes, new: bytes) -> set[bytes]:
    """The words that may be names which one content exports, and the other does not."""
    gone = set(old.splitlines()) - set(new.splitlines())
    return _words(line for line in gone if _LINE.search(line)) - _KEYWORDS


def _new(old: bytes, new: bytes) -> set[bytes]:
    """The words of new lines; if an import is new, all: it may change what others mean."""
    lines = set(new.splitlines()) - set(old.splitlines())
    imports = any(map(_IMPORTS.search, lines))
    return _words([new]) | {b"default"} if imports else _words(lines)


def _words(lines: Iterable[bytes]) -> set[bytes]:
    return set(_WORD.findall(b"\n".join(lines)))


class _Gate:
    """The two versions, and who changed what."""

    def __init__(
        self,
        texts: Texts,
        before: Mapping[str, Blob],
        after: Mapping[str, Blob],
        changes: Sequence[Change],
    ) -> None:
        self._texts = texts
        self._before = before
        self._after = after
        self._changes = changes
        self._modules: dict[str, ScriptExports] = {}
        self._old = ScriptFiles(before, before, lambda path: self._module(before[path]))
        self._new = ScriptFiles(after, before, lambda path: self._module(after[path]))

    def look(self, path: str) -> list[BrokenName]:
        """Find what a file that leaves have changed uses in vain."""
        known = self._uses(self._before.get(path))
        found: dict[tuple[str, str], BrokenName] = {}
        lost: set[ScriptUse] = set()
        uses = self._uses(self._after[path])
        for use, line in sorted(uses.items(), key=lambda each: (each[0].name is not None, each[1])):
            of_file = ScriptUse(use.path, None)
            if use in known or (use.name is not None and of_file in lost):
                continue
            origin = self._gone(path, use)
            if origin is not None and use == of_file:
                lost.add(use)  # and so are all of its names: said once
            made = None if origin is None else self._broken(path, line, use, origin)
            if made is not None:
                found.setdefault((made.name, made.used_by), made)
        return list(found.values())

    def _module(self, blob: Blob) -> ScriptExports:
        if blob.name not in self._modules:
            self._modules[blob.name] = module_of(self._texts.text(blob))
        return self._modules[blob.name]

    def _uses(self, blob: Blob | None) -> dict[ScriptUse, int]:
        return uses_in(self._texts.text(blob))

    def _gone(self, path: str, use: ScriptUse) -> ExportMatch | None:
        """Where a name came from that is not there any more; None: it is there, or never was."""
        origin = self._old.where(path, use)
        if not isinstance(origin, ExportMatch) or self._new.where(path, use) is not False:
            return None
        return origin

    def _seems_there(self, origin: ExportMatch) -> bool:
        """A second look, at the plain text: the scan is no parser."""
        if origin.name is None or origin.path not in self._after:
            return False
        name = re.escape(origin.name)
        pattern = rf"\bexport\s+(?:[\w*]+\s+){{0,4}}{name}(?![\w$])|\bexports\.{name}(?![\w$])"
        return re.search(pattern, self._texts.text(self._after[origin.path])) is not None

    def _broken(
        self, path: str, line: int, use: ScriptUse, origin: ExportMatch
    ) -> BrokenName | None:
        user = first_leaf(self._changes, path, lambda blob: use in self._uses(blob))
        remover = self._remover(origin)
        here = self._old.where(path, ScriptUse(use.path, None))
        if remover is None and isinstance(here, ExportMatch):  # it re-exported it, and does not now
            origin = ExportMatch(here.path, use.name)
            remover = self._remover(origin)
        if user is None or remover is None or user.leaf == remover.leaf:
            return None
        if self._seems_there(origin):
            return None
        return BrokenName(
            name=_called(origin.path, origin.name),
            path=path,
            line=line,
            used_by=user.leaf,
            removed_by=remover.leaf,
            removed_from=origin.path,
            renamed_to=self._renamed(origin, remover),
        )

    def _remover(self, origin: ExportMatch) -> Change | None:
        return first_leaf(self._changes, origin.path, lambda blob: self._lacks(blob, origin.name))

    def _lacks(self, blob: Blob | None, name: str | None) -> bool:
        if blob is None or name is None:
            return blob is None
        return name not in self._module(blob).names

    def _renamed(self, origin: ExportMatch, remover: Change) -> str | None:
        """The only new name, in the place of the only one that is gone; or another file."""
        blob = remover.files[origin.path]
        if blob is None:
            fresh = {p: b for p, b in remover.files.items() if p not in self._before}
            added = {p: self._texts.text(b) for p, b in fresh.items() if p.endswith(SUFFIXES)}
            to = new_path(self._texts.text(self._before[origin.path]), added)
            return None if to is None else _called(to, origin.name)
        old, new = self._module(self._before[origin.path]).names, self._module(blob).names
        fresh_names = [name for name in new if name not in old]
        if len(fresh_names) == 1 and sum(name not in new for name in old) == 1:
            return _called(origin.path, fresh_names[0])
        return self._moved(origin, remover)

    def _moved(self, origin: ExportMatch, remover: Change) -> str | None:
        """Another file of the same leaf that has the name now."""
        for path, blob in sorted(remover.files.items()):
            if path.endswith(SUFFIXES) and path != origin.path and blob is not None:
                old = self._before.get(path)
                known = {} if old is None else self._module(old).names
                if origin.name in self._module(blob).names and origin.name not in known:
                    return _called(path, origin.name)
        return None


def _called(path: str, name: str | None) -> str:
    """For people: `web/prices.total`."""
    stem = next((path.removesuffix(each) for each in SUFFIXES if path.endswith(each)), path)
    return stem if name is None else f"{stem}.{name}"
