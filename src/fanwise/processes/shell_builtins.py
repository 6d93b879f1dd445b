"""Commands and assignments that make a shell evaluate the text that they are given.

bash computes the subscript in `a[$(…)]` wherever it expects the name of a variable, so `read`,
`printf -v` or `test -v` run what a value contains; `trap` and `eval` do so by design. Each entry
was seen to run a command in bash 5.2 or is documented to in another shell.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|\\$|'[^']*'?|"(?:[^"\\]|\\.)*"?)+""", re.DOTALL)
_NO_QUOTES = str.maketrans("", "", "'\"\\")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_EVALUATED_VARIABLE = re.compile(r"(PS4|BASH_ENV|ENV|OPTIND|S?RANDOM|HISTCMD|SECONDS|LINENO)\+?=")
_BEFORE_A_COMMAND = {
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "command", "builtin",
}  # fmt: skip
_ALWAYS = {
    "eval", "trap", "let", "read", "mapfile", "readarray", "getopts", "unset", "alias", "declare",
    "typeset", "compgen", "complete", "bind",
}  # fmt: skip
_DECLARES = {"local", "export", "readonly"}
_TESTS = {"test", "["}
INDIRECTION = re.compile(r"\$\{(!\w+(?!\w|[*@]\}|\[[@*]\]\})|\w+(\[[^\]]*\])?@P\})")
"""`${!x}` and `${x@P}`; `${!x@}` and `${!x[@]}` only list names."""


def evaluating(before: str) -> str | None:
    """What evaluates a value, if anything; `before`: the text of its simple command up to it."""
    own, given = _words(before)
    if _EVALUATED_VARIABLE.match(own):
        return f"`{own.partition('=')[0]}=`"
    if own.startswith(("<", ">")) or (given and given[-1].endswith(("<", ">"))):
        return None  # the target of a redirection
    command, *arguments = _command(given) or [""]
    if command in _ALWAYS:
        return f"`{command}`"
    if command in _DECLARES and (not _ASSIGNMENT.match(own) or _has_options(arguments)):
        return f"`{command}`"
    if command in _TESTS and arguments[-1:] in (["-v"], ["-R"]):
        return f"`{command} {arguments[-1]}`"
    if command == "printf" and (arguments == ["-v"] or (not arguments and own == "-v")):
        return "`printf -v`"
    return None


def may_become_an_option(before: str) -> bool:
    """Whether it is the format of a `printf`: a value that begins with `-v` would be evaluated."""
    own, given = _words(before)
    return own == "" and _command(given) == ["printf"]


def _words(before: str) -> tuple[str, list[str]]:
    """The beginning of the last word, whose end is not there yet, and the words before it."""
    found = [*_WORD.finditer(before)]
    last = found.pop()[0] if found and found[-1].end() == len(before) else ""
    return last.translate(_NO_QUOTES), [each[0].translate(_NO_QUOTES) for each in found]


def _command(words: list[str]) -> list[str]:
    """The words from the name of the command on."""
    for number, word in enumerate(words):
        wrapped = number and words[number - 1] in ("command", "builtin") and word.startswith("-")
        if word not in _BEFORE_A_COMMAND and not wrapped and not _ASSIGNMENT.match(word):
            return words[number:]
    return []


def _has_options(words: list[str]) -> bool:
    return any(word.startswith("-") and word != "--" for word in words)
