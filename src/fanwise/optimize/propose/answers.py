"""An answer as a candidate: one that can mean only one thing, or a reason why it is none.

Taken are: a block of code that defines the target, alone or beside blocks that do not; a unified
diff, in a block or bare; and from a command also bare code. Two blocks that both define the target
are not taken, for nobody knows which was meant. Nothing of it is run here, and whether it fits is
found when it is placed.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Literal, NamedTuple

from fanwise.kernel.parse_python import parse

MOST = 256 * 1024
"""Characters of an answer. What is longer is no function that anybody wants to review."""
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Some models say aloud what they think first, drafts included."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$", re.MULTILINE)
_DIFF = re.compile(r"^(diff --git .+|--- .+\n\+\+\+ .+)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ .*@@", re.MULTILINE)
_BINARY = re.compile(r"^(GIT binary patch|(new|deleted) file mode \d+|old mode \d+)$", re.MULTILINE)


class NoCandidate(Exception):
    """Why an answer is no candidate; a model gets this as feedback."""


class ReadAnswer(NamedTuple):
    """The candidate in an answer."""

    kind: Literal["function", "patch"]
    content: str


def read_answer(text: str, function: str, *, bare: bool = False) -> ReadAnswer:
    """`function`: the target's own name, empty without one. `bare`: code needs no fence."""
    if len(text) > MOST:
        raise NoCandidate(f"it is {len(text):,} characters long, and {MOST:,} is the most")
    if "\0" in text:
        raise NoCandidate("it has a NUL character in it")
    text = _THOUGHTS.sub("", text)
    blocks = _blocks(text)
    if not blocks:
        if is_diff(text):
            return ReadAnswer("patch", _ended(text[_DIFF.search(text).start() :]))  # type: ignore[union-attr]
        if not bare or not text.strip():
            raise NoCandidate("there is no code block in it" if text.strip() else "it is empty")
        blocks = [text]
    usable = [each for each in blocks if is_diff(each) or defines(each, function)]
    if len(usable) == 1:
        return ReadAnswer("patch" if is_diff(usable[0]) else "function", _ended(usable[0]))
    if usable:
        what = f"define `{function}`" if function else "are diffs"
        raise NoCandidate(f"{len(usable)} of its code blocks {what}, and only one may")
    raise NoCandidate(_why_none(blocks, function))


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    return bool(_DIFF.search(text) and (_HUNK.search(text) or _BINARY.search(text)))


def defines(text: str, function: str) -> bool:
    """Whether it is code that has a function of that name, alone or in a class."""
    try:
        return bool(function) and function in _functions(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def _why_none(blocks: list[str], function: str) -> str:
    if not function:
        return "there is no unified diff in it"
    try:
        found = _functions(blocks[0])
    except (SyntaxError, ValueError) as error:
        return f"its code does not parse: {error}"
    except (MemoryError, RecursionError):
        return "its code is nested too deeply"
    known = f"; it defines {', '.join(list(found)[:5])}" if found else ""
    return f"its code does not define `{function}`{known}"


def _functions(text: str) -> dict[str, None]:
    tree = parse(textwrap.dedent(text))
    found: dict[str, None] = {}
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.ClassDef):
            waiting = [*node.body, *waiting]
    return found


def _blocks(text: str) -> list[str]:
    """What stands between fences. One that is not closed is told: the answer was cut off."""
    found: list[str] = []
    at, opened = 0, None
    for fence in _FENCE.finditer(text):
        mark, language = fence[1], fence[2]
        if opened is None:
            opened, at = mark, fence.end() + 1
        elif mark[0] == opened[0] and len(mark) >= len(opened) and not language:
            found.append(text[at : fence.start()])
            opened = None
    if opened is not None:
        raise NoCandidate("its code block does not end: it was cut off")
    return found


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
