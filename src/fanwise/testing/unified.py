"""Unified diffs of text files, made and applied without git. Pure.

Strict: a hunk applies at its line and nowhere else. That is enough for patches against what is
there, and a fake that guesses would let a test pass that git would not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff

from fanwise.errors import PatchFailed

Tree = Mapping[str, bytes]
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file\n"


def diff_of(before: Tree, after: Tree) -> bytes:
    """What makes `after` of `before`, file by file, as git writes it."""
    names = sorted(before.keys() | after.keys())
    parts = [_file(name, before.get(name), after.get(name)) for name in names]
    return "".join(parts).encode("utf-8", "surrogateescape")


def patched(tree: Tree, patch: bytes) -> dict[str, bytes]:
    """The tree with the patch applied; all of it, or `PatchFailed`."""
    found = dict(tree)
    text = patch.decode("utf-8", "surrogateescape")
    for old, new, hunks in _files(_lines(text)):
        content = _content(found, old, hunks)
        if old is not None:
            del found[old]
        if new is not None:
            if new in found:
                raise PatchFailed(f"error: {new}: already exists")
            found[new] = content
    return found


def _file(name: str, old: bytes | None, new: bytes | None) -> str:
    if old == new:
        return ""
    head = f"diff --git a/{name} b/{name}\n"
    head += "new file mode 100644\n" if old is None else ""
    head += "deleted file mode 100644\n" if new is None else ""
    rows = unified_diff(
        _lines(_text(old)), _lines(_text(new)),
        "/dev/null" if old is None else f"a/{name}", "/dev/null" if new is None else f"b/{name}",
    )  # fmt: skip
    return head + "".join(row if row.endswith("\n") else f"{row}\n{_NO_END}" for row in rows)


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    """With their ends; only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


Part = tuple[str | None, str | None, list[list[str]]]


def _files(lines: list[str]) -> Iterator[Part]:
    """Each file of a patch: its old and new name, and its hunks, the head of each first."""
    part: Part | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            if part is not None:
                yield part
            name = line.rstrip("\n").partition(" b/")[2]
            part = (name, name, [])
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            names = (_name(line), _name(lines[at + 1]))
            if part is not None and part[2]:
                yield part
            part = (*names, [])
            at += 1
        elif part is not None and line.startswith("new file"):
            part = (None, part[1], part[2])
        elif part is not None and line.startswith("deleted file"):
            part = (part[0], None, part[2])
        elif part is not None and _HUNK.match(line):
            end = _end_of_hunk(lines, at)
            part[2].append(lines[at:end])
            at = end - 1
        at += 1
    if part is None:
        raise PatchFailed("error: No valid patches in input")
    yield part


def _name(line: str) -> str | None:
    name = line[4:].rstrip("\n").rstrip("\t")
    return None if name == "/dev/null" else name.partition("/")[2]


def _end_of_hunk(lines: list[str], at: int) -> int:
    head = _HUNK.match(lines[at])
    assert head is not None
    old, new = int(head[2] or 1), int(head[4] or 1)
    end = at + 1
    while end < len(lines) and (old > 0 or new > 0 or lines[end] == _NO_END):
        mark = lines[end][:1]
        old -= mark in (" ", "-", "\n")
        new -= mark in (" ", "+", "\n")
        end += 1
    if old or new:
        raise PatchFailed("error: corrupt patch")
    return end + 1 if lines[end : end + 1] == [_NO_END] else end


def _content(tree: Tree, name: str | None, hunks: list[list[str]]) -> bytes:
    if name is not None and name not in tree:
        raise PatchFailed(f"error: {name}: No such file or directory")
    lines = _lines(_text(None if name is None else tree[name]))
    made: list[str] = []
    at = 0
    for head, *body in hunks:
        found = _HUNK.match(head)
        assert found is not None
        start = max(int(found[1]) - (0 if found[2] == "0" else 1), 0)
        old, new = _sides(body)
        if start < at or lines[start : start + len(old)] != old:
            raise PatchFailed(f"error: patch failed: {name}:{found[1]}")
        made += [*lines[at:start], *new]
        at = start + len(old)
    return "".join([*made, *lines[at:]]).encode("utf-8", "surrogateescape")


def _sides(body: list[str]) -> tuple[list[str], list[str]]:
    """The lines before and after."""
    old: list[str] = []
    new: list[str] = []
    last: tuple[list[str], ...] = ()
    for line in body:
        if line == _NO_END:
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
            continue
        last = {"-": (old,), "+": (new,)}.get(line[:1], (old, new))
        for side in last:
            side.append(line[1:] if line != "\n" else "\n")
    return old, new
