"""When two programs are the same: their syntax trees are, whatever their layout and comments.

Candidates of one model are often one idea in other words, and to judge one costs minutes. No more
is taken away than what the parser leaves out: a candidate that differs in a docstring or in a name
costs one more check. One that is called the same as another is never accepted itself, so whoever
looks at its own line numbers gains nothing by that.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from fanwise.kernel.parse_python import parse
from fanwise.optimize.candidates.source_text import SourceText

_MOST = 2_000_000  # characters; a file that somebody reads has a hundredth of that


class FileVersion(NamedTuple):
    """The mode and content of a file, before or after a change."""

    mode: str
    content: bytes


def identity(files: Mapping[str, tuple[FileVersion | None, FileVersion | None]]) -> str:
    """A digest of what was changed, each file before and after; None: there is none.

    Equal for changes that do the same; empty if they do nothing.
    """
    changed = []
    for path, (before, after) in sorted(files.items()):
        old, new = (_form(path, file) for file in (before, after))
        if old != new:
            changed.append(f"{path}\0{new}")
    whole = "\0\0".join(changed).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).hexdigest() if changed else ""


def normal_form(source: str) -> str:
    """Text that is equal for files that do the same. What does not parse stands for itself."""
    if len(source) > _MOST:
        return f"as it is:{source}"
    try:
        return ast.dump(parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"not parsed:{source}"


def _form(path: str, file: FileVersion | None) -> str:
    if file is None:
        return ""
    if not path.endswith((".py", ".pyi")) or file.mode == "120000":
        return f"{file.mode}:{file.content.hex()}"
    try:
        return f"{file.mode}:{normal_form(SourceText.of(file.content).text)}"
    except (SyntaxError, UnicodeDecodeError):
        return f"{file.mode}:{file.content.hex()}"
