"""Which commands and assignments make a shell evaluate the text that they are given.

bash computes the subscript in `a[$(…)]` wherever it expects the name of a variable or a number, so
`read`, `printf -v`, `test -v` or `wait -p` run what a value contains; `trap` and `eval` do so by
design. A list of those is never complete. So this is the other list: a program that is no builtin
takes any argument; of the builtins, those take values that are known to leave them alone. A command
whose name is not written out may be any builtin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[\])?\+?=")
_EVALUATED_VARIABLE = re.compile(
    r"(PS\d|BASH\w*|ENV|OPTIND|S?RANDOM|HISTCMD|SECONDS|LINENO|EPOCH\w+|PROMPT_COMMAND)\+?="
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_READ_OPTION = re.compile(r"-\w*[pdinNtu]")
"""What follows is no name."""
_PLAIN_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_WRAPPERS = {"command", "builtin", "exec", "time", "coproc"}
_BEFORE_A_COMMAND = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", *_WRAPPERS}
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
_TYPES = {"declare", "typeset", "local"}
_READS = {"read", "mapfile", "readarray"}
_CODE = {"eval", ".", "source"}
_COMPUTES = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"}
POSITIONAL = "@"
"""Stands for `$1`, `$2` and so on, among the names of variables."""


class Refused(Exception):
    """Where a value stands that would be evaluated there."""


@dataclass
class Word:
    start: int = 0
    """Where it begins in what is written."""
    text: str = ""
    """Without quotes; what is expanded in it begins with `$`."""
    quoted: bool = False
    """Some of it is quoted, so it is no word of the shell's own."""
    fixed: bool = True
    """Nothing in it is expanded."""
    holds: bool = False
    """A value is in it."""
    splits: bool = False
    """The value may become several words."""
    runs: bool = False
    """What a command prints is in it."""
    guarded: bool = False
    """`--` stands before it."""


@dataclass
class SimpleCommand:
    """One simple command, without its redirections."""

    words: list[Word] = field(default_factory=list)
    input: bool = False
    """Whether it reads a value: a here-document, a redirection."""
    redirects: str = ""
    """The operator whose target is the next word."""
    either: bool = False
    """`&>` was seen, at which a command ends in one shell and goes on in another."""
    tests: bool = False
    """Whether this is inside of `[[ ]]`."""

    def begins_with(self, word: str) -> bool:
        """Whether that is its first word, those aside that stand before a command."""
        *before, last = self.words
        is_own = last.text == word and not last.quoted
        return is_own and all(_is_before(each) for each in before)

    def is_printf(self) -> bool:
        """Whether the format of a `printf` is the next word."""
        return any(name.text == "printf" and not rest for name, *rest in _commands(self.words))


@dataclass
class LineFacts:
    """What is known of the whole line."""

    text: str
    held: set[str]
    """The variables that hold a value."""
    strict: bool
    """Whether a value stands in the line itself, not only in its environment."""
    scan: Callable[[str], None]
    """Looks at code inside the line."""

    def mentions(self, words: list[Word], begin: int = 0) -> bool:
        """Whether a variable that holds a value is named: arithmetic takes names, too."""
        return any(name in self.held for word in words for name in _NAME.findall(word.text, begin))


def check_names(names: Iterable[str]) -> None:
    """Refuse variables that hold a value, by `read` or `for`, and are evaluated. `Refused`."""
    for name in names:
        if name != "BASH_REMATCH" and _EVALUATED_VARIABLE.match(f"{name}="):
            raise Refused(f"`{name}`, which is evaluated (choose another name),")


def judge(command: SimpleCommand, line: LineFacts) -> None:
    """Refuse what would evaluate a value; add to the variables that hold one. `Refused`."""
    for word in command.words:
        if word.holds and (found := _EVALUATED_VARIABLE.match(word.text)):
            raise Refused(f"`{found[0]}`")
        found = ASSIGNMENT.match(word.text)
        if found and (word.holds or line.mentions([word], found.end())):
            line.held.add(found[1])
    for name, *arguments in _commands(command.words):
        _judge(name, arguments, command, line)
        _hold(name, arguments, command, line)


def _judge(name: Word, given: list[Word], command: SimpleCommand, line: LineFacts) -> None:
    holds = any(word.holds for word in given)
    if name.holds and (given or name.splits):
        raise Refused("a command whose name is a value, perhaps `eval`")
    if holds and not name.fixed and not _is_program(name, line):
        raise Refused(f"a command whose name is computed ({name.text}: put `env` before it)")
    if name.text == "alias" or _changes_type(name, given):
        raise Refused(f"a line with `{name.text}`, which changes what is evaluated,")
    if name.text in _CODE and (command.input or (line.strict and any(map(_is_unknown, given)))):
        raise Refused(f"what `{name.text}` reads, or a line where that is not known")
    if name.text in ("eval", "trap"):
        line.scan(" ".join(word.text for word in given))
    if name.text in ("mapfile", "readarray") and any(_calls_back(word) for word in given):
        raise Refused(f"a line with `{name.text} -C`, which runs what it reads,")
    if name.text == "let" and line.mentions(given):
        raise Refused("an argument of `let`")
    computes = name.text == "[[" and any(word.text in _COMPUTES for word in given)
    if computes and (holds or line.mentions(given)):
        raise Refused("a comparison of numbers")
    for at, word in enumerate(given):
        if word.holds and not _takes(name.text, given, at):
            raise Refused(f"an argument of `{name.text}`{_hint(name.text, given, word)}")


def _hint(name: str, given: list[Word], word: Word) -> str:
    if name == "printf" and not given[0].fixed and word is not given[0]:
        return " whose format is computed (write `%s` in it)"
    several = word.splits and name in ("test", "[", "printf")
    return ' that may be several words (put "…" around it)' if several else ""


def _takes(name: str, given: list[Word], at: int) -> bool:
    """Whether a builtin leaves that argument alone."""
    word, before = given[at], given[:at]
    if name in _DECLARES:
        options = any(each.text.startswith("-") and each.text != "--" for each in given)
        return bool(ASSIGNMENT.match(word.text)) and not options
    if name in ("test", "["):  # of two values side by side, the first may be `-v`
        last = before[-1] if before else Word()
        return last.fixed and last.text not in ("-v", "-R") and not (word.splits or last.holds)
    if name == "printf":
        form = given[1] if given[0].text == "--" and at else given[0]
        if form is word:
            computed = word.text.startswith(("$", "\0", "-v")) and not word.guarded
            return not computed and not word.splits
        return form.fixed and not (form.text == "-v" and at == 1)
    if name == "set":
        return any(each.text == "--" for each in before)
    return name not in _BUILTINS


def _hold(name: Word, given: list[Word], command: SimpleCommand, line: LineFacts) -> None:
    """The variables that get a value by the command."""
    held, holds = line.held, any(word.holds for word in given) or line.mentions(given)
    names = [word.text.partition("[")[0] for word in given]
    if name.text in ("for", "select") and holds:
        held.add(names[0])
    elif name.text in _READS and (line.strict or command.input):
        held |= {"REPLY", "MAPFILE", *filter(str.isidentifier, names)}
        for last, word in zip([name, *given], given, strict=False):
            if not (word.fixed or _READ_OPTION.fullmatch(last.text)):
                raise Refused("a line with `read` into a variable whose name is computed")
    elif name.text == "printf" and holds and names[0].startswith("-v"):
        held |= {names[0][2:], *names[1:2]}
    elif name.text == "getopts":
        held |= {"OPTARG"} if POSITIONAL in held or holds else set()
    elif holds and name.text in ("cd", "pushd"):
        held |= {"PWD", "OLDPWD", "DIRSTACK"}
    elif holds and name.text == "[[":
        held.add("BASH_REMATCH")
    elif holds and (name.text == "set" or name.text not in _BUILTINS):
        held.add(POSITIONAL)  # of functions, too
    if holds:
        held.add("_")


def _commands(words: list[Word]) -> Iterator[list[Word]]:
    """The words from the name of each command on that may begin among them: `function f { eval`."""
    begins = [0, *(n for n, word in enumerate(words, 1) if _is_before(word))]
    for at in begins:
        while at < len(words) and (
            _is_before(words[at])
            or ASSIGNMENT.match(words[at].text)
            or (words[at].text.startswith("-") and _follows_wrapper(words[:at]))
        ):
            at += 1
        if at < len(words) and words[at].text == "function":
            at += 2
        while at < len(words):
            yield words[at:]
            at += 1 if _may_be_nothing(words[at : at + 2]) else len(words)


def _is_before(word: Word) -> bool:
    """Whether a command may follow it."""
    return word.text in _WRAPPERS or (word.text in _BEFORE_A_COMMAND and not word.quoted)


def _follows_wrapper(before: list[Word]) -> bool:
    """Whether they end with a wrapper and its options: `command -p --`."""
    texts = [word.text for word in before]
    while texts and texts[-1].startswith("-"):
        texts.pop()
    return bool(texts) and texts[-1] in _WRAPPERS


def _may_be_nothing(words: list[Word]) -> bool:
    """Whether the first may vanish, and the second, which is no value, be the command."""
    name, *rest = words
    return not name.fixed and not name.quoted and not name.holds and not any(w.holds for w in rest)


def _is_program(name: Word, line: LineFacts) -> bool:
    """Whether it is a path, or a variable that only the environment sets."""
    if "/" in name.text or not _PLAIN_VARIABLE.fullmatch(name.text):
        return "/" in name.text
    variable = name.text[1:]
    return not re.search(rf"(?<![\w$]){variable}\b(?<!\$\{{{variable})", line.text)


def _changes_type(name: Word, given: list[Word]) -> bool:
    """Whether what is assigned to a variable is computed from now on, or is another's name."""
    if name.text in ("integer", "nameref", "float"):
        return True
    return name.text in _TYPES and any(
        (word.text[:1] in ("-", "+") and {*word.text} & {"i", "n"})
        or (word.text.startswith("$") and not word.fixed)
        for word in given
    )


def _calls_back(word: Word) -> bool:
    return word.text.startswith("-") and "C" in word.text


def _is_unknown(word: Word) -> bool:
    """Whether it may be what another command prints, or reads."""
    return word.runs or word.holds or word.text.startswith(("/dev/", "/proc/"))
