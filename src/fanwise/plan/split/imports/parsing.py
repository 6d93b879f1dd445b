"""Which Python files do not parse. Pure.

To parse all of them takes as long as all else together. So of a large code base only those are
parsed that look wrong; of a small one, all.
"""

from __future__ import annotations

import re
import symtable
import warnings
from collections.abc import Iterable

from fanwise.plan.model.node import FileNote
from fanwise.plan.split.files import PlanFile
from fanwise.plan.split.imports.python import without_strings

ALL_BELOW = 2_000_000
"""Characters of Python in all, up to which every file is parsed."""
_OLD = (
    re.compile(r"except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:"),
    re.compile(r"print[ \t]+[\"'%]"),
)
"""Forms of Python 2. Each by itself: what begins with a plain word is found ten times as fast."""
_DIGIT = re.compile(r"\n[ \t]*\d+[A-Za-z_]")
"""A statement that begins with a digit and goes on as a name."""
_MARKS = ("\n<<<<<<< ", "\n>>>>>>> ", "\n{%", "\n{{", "<%", "\0")
"""Of an unfinished merge, of a template, of something that was never meant to be Python."""


def unparsed(files: Iterable[PlanFile]) -> list[FileNote]:
    """The files that do not parse, and why."""
    texts = [(file.path, file.text) for file in files if file.text is not None]
    every = sum(len(text) for _, text in texts) <= ALL_BELOW
    return [
        FileNote(path, why)
        for path, text in texts
        if (every or looks_wrong(text)) and (why := why_unparsed(text))
    ]


def looks_wrong(text: str) -> bool:
    """Whether a file may well not parse: brackets or quotes that do not match, old forms, marks."""
    if text.count('"""') % 2 or text.count("'''") % 2:
        return True
    text = f"\n{text}"
    return _doubtful(text) and _doubtful(without_strings(text))


def _doubtful(text: str) -> bool:
    return (
        text.count("(") != text.count(")")
        or text.count("[") != text.count("]")
        or text.count("{") != text.count("}")
        or any(mark in text for mark in _MARKS)
        or any(form.search(text) for form in _OLD)
        or _DIGIT.search(text) is not None
    )


def why_unparsed(text: str) -> str:
    """What the grammar of this Python says of a file; empty: it parses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            symtable.symtable(text, "file", "exec")  # parses, and makes no objects of the result
        except SyntaxError as error:
            return f"line {error.lineno}: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
    return ""
