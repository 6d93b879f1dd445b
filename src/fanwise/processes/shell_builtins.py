"""Which commands and assignments make a shell evaluate the text that they are given.

bash computes the subscript in `a[$(…)]` wherever it expects the name of a variable or a number, so
`read`, `printf -v`, `test -v` or `wait -p` run what a value contains; `trap` and `eval` do so by
design. A list of those is never complete. So this is the other list: a program that is no builtin
takes any argument; of the builtins, those take values that are known to leave them alone.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|\\$|'[^']*'?|"(?:[^"\\]|\\.)*"?)+""", re.DOTALL)
_NO_QUOTES = str.maketrans("", "", "'\"\\")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=")
_EVALUATED_VARIABLE = re.compile(
    r"(PS\d|BASH\w*|ENV|OPTIND|S?RANDOM|HISTCMD|SECONDS|LINENO|EPOCH\w+|PROMPT_COMMAND)\+?="
)
_WRAPPERS = {"command", "builtin", "exec", "time", "coproc"}
_BEFORE_A_COMMAND = {
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", *_WRAPPERS,
}  # fmt: skip
_BUILTINS = {
    # bash
    ".", "alias", "bg", "bind", "break", "caller", "compgen", "complete", "compopt", "continue",
    "declare", "dirs", "disown", "enable", "eval", "exit", "export", "fc", "fg", "getopts", "hash",
    "help", "history", "jobs", "let", "local", "logout", "mapfile", "popd", "printf", "read",
    "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "[",
    "times", "trap", "typeset", "ulimit", "unalias", "unset", "wait",
    # ksh and zsh
    "autoload", "compound", "emulate", "enum", "float", "functions", "hist", "integer", "nameref",
    "nocorrect", "noglob", "print", "private", "sched", "vared", "whence", "zle", "zmodload",
    "zparseopts", "zstyle",
}  # fmt: skip
"""Those that take no value, or only in some places. Not here: `cd`, `echo`, `kill`, `pushd`, `pwd`,
`type`, `umask`, `:`, `true`, `false`, which are like programs."""
_DECLARES = {"local", "export", "readonly"}
_TESTS = {"test", "["}
POSITIONAL = "@"
"""Stands for `$1`, `$2` and so on, among the names of variables."""
LINE_EVALUATES = re.compile(
    # `${!x}` and `${x@P}`; `${!x@}` and `${!x[@]}` only list names.
    r"\$\{(!\w+(?!\w|[*@]\}|\[[@*]\]\})|\w+(\[[^\]]*\])?@P\})"
    # What is assigned to such a variable is computed, or is the name of another.
    r"|\b(declare|typeset|local)(\s+[^\s;&|]+)*?\s+[-+]\w*[in]\w*\b|\b(integer|nameref)\s"
)
_READ_INTO = re.compile(r"\b(?:read|readarray|mapfile)\b([^;&|\n<>]*)|\$\{(\w+):?=")
_FUNCTION = re.compile(r"\w\s*\(\s*\)|\bfunction\s")
EVALUATORS = {"eval", "trap"}
"""They take code: what stands in quotes there is looked at as a line is."""


def evaluating(before: str, mark: str) -> str | None:
    """What evaluates a value, if anything; `before`: the text of its simple command up to it."""
    own, given = _words(before)
    if _EVALUATED_VARIABLE.match(own):
        return f"`{own.partition('=')[0]}=`"
    if own.startswith(("<", ">")) or (given and given[-1].endswith(("<", ">"))):
        return None  # the target of a redirection
    found = (_evaluates(words, own, mark) for words in _commands(given) if words)
    return next((each for each in found if each is not None), None)


def _evaluates(words: list[str], own: str, mark: str) -> str | None:
    command, *arguments = words
    if mark in command:
        return "a command whose name is a value, perhaps `eval`"
    last = arguments[-1] if arguments else ""
    takes_it = command not in _BUILTINS
    if command in _DECLARES:
        takes_it = bool(_ASSIGNMENT.match(own)) and not _has_options(arguments)
    elif command in _TESTS:  # of two values side by side, the first may be `-v`
        takes_it = last not in ("-v", "-R") and mark not in last
    elif command == "printf":
        takes_it = arguments != ["-v"] and bool(arguments or own != "-v")
    elif command == "set":
        takes_it = "--" in arguments
    return None if takes_it else f"an argument of `{' '.join([command, last]).strip()}`"


def may_become_an_option(before: str) -> bool:
    """Whether it is the format of a `printf`: a value that begins with `-v` would be evaluated."""
    own, given = _words(before)
    return own == "" and ["printf"] in _commands(given)


def held_by(before: str) -> set[str]:
    """The variables that hold a value which comes after this text."""
    own, given = _words(before)
    found = _ASSIGNMENT.match(own)
    names = {found[1]} if found else set()
    for command, *arguments in filter(None, _commands(given)):
        if command in ("for", "select") or (command == "printf" and arguments[:1] == ["-v"]):
            names |= set(arguments[command == "printf" :][:1])
        if command == "set":
            names.add(POSITIONAL)
    return names


def may_hold(line: str) -> set[str]:
    """The variables that may hold a value wherever one stands in the line."""
    words = {word for found in _READ_INTO.finditer(line) for word in (found[1] or found[2]).split()}
    names = {"REPLY", "MAPFILE", *(word for word in words if word.isidentifier())}
    return names | {POSITIONAL} if _FUNCTION.search(line) else names


def is_evaluator(before: str) -> bool:
    """Whether an argument that follows is code."""
    return any(words[0] in EVALUATORS for words in _commands(_words(before)[1]) if words)


def _words(before: str) -> tuple[str, list[str]]:
    """The beginning of the last word, whose end is not there yet, and the words before it."""
    found = [*_WORD.finditer(before)]
    last = found.pop()[0] if found and found[-1].end() == len(before) else ""
    return last.translate(_NO_QUOTES), [each[0].translate(_NO_QUOTES) for each in found]


def _commands(words: list[str]) -> list[list[str]]:
    """The words from the name of each command on that may begin among them: `function f { eval`."""
    begins = [0, *(n for n, word in enumerate(words, 1) if word in _BEFORE_A_COMMAND)]
    found = []
    for begin in begins:
        at = begin
        while at < len(words) and (
            words[at] in _BEFORE_A_COMMAND
            or _ASSIGNMENT.match(words[at])
            or (at and words[at].startswith("-") and words[at - 1] in _WRAPPERS)
        ):
            at += 1
        found.append(words[at:])
    return found


def _has_options(words: list[str]) -> bool:
    return any(word.startswith("-") and word != "--" for word in words)
