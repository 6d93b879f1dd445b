"""To put the source of a function in the place of the target.

What people and models give is more or less than the function: indented as it was in its class, or
with the class around it, with an import or a helper in front, or the body alone. All that has one
meaning is taken: the function replaces the target with its decorators, what else there is goes to
the top level in front of it. What the file has already, word for word, is left out; what would
give another meaning to a name that the file has is refused, for other code uses that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from fanwise.errors import CandidateUnfit
from fanwise.kernel.parse_python import parse
from fanwise.optimize.candidates.source_text import SourceText, first_line, lines_after, lines_of
from fanwise.optimize.candidates.target import BoundName, Function, Target, definitions

_HOLDER = "if True:\n"
"""In front of indented text, so that it parses without touching what is inside its strings."""


class GivenSource:
    """The source text that was given, parsed."""

    def __init__(self, text: str) -> None:
        text = text.lstrip("\ufeff")
        code = (
            line for line in lines_of(text) if line.strip() and not line.lstrip().startswith("#")
        )
        held = next(code, "").startswith((" ", "\t"))
        self.lines = lines_of(_HOLDER + text if held else text)
        if self.lines and not self.lines[-1].endswith(("\n", "\r")):
            self.lines[-1] += "\n"
        self._first = 1 if held else 0
        tree = _parse("".join(self.lines), self._first)
        self.body = _held(tree.body) if held else tree.body
        self._inside = _inside_strings(tree)

    def all(self, indent: str) -> list[str]:
        """All lines, with this indentation."""
        return self._indented(self._first, len(self.lines), self.body[0], indent)

    def statement(self, node: ast.stmt, indent: str) -> list[str]:
        """The lines of a statement, with this indentation."""
        return self._indented(first_line(node), lines_after(node), node, indent)

    def _indented(self, start: int, end: int, node: ast.stmt, indent: str) -> list[str]:
        old = indent_of(self.lines[first_line(node)])
        return [
            line if number in self._inside or not line.strip() else indent + line.removeprefix(old)
            for number, line in enumerate(self.lines[start:end], start)
        ]


def replace(source: SourceText, target: Target, given: str) -> SourceText:
    """The file with the target replaced by what was given; `CandidateUnfit` if that cannot be."""
    old = target.find(source.text)
    lines = source.lines()
    new = GivenSource(given)
    function = _function_in(new, target)
    if function is None:
        return source.with_lines(_with_body(lines, old, new, target))
    place = old.inside[0] if old.inside else old.node
    start, at = first_line(old.node), first_line(place)
    beside = list(_beside(parse(source.text), new, function))
    front = [line for node in beside for line in new.statement(node, indent_of(lines[at]))]
    replaced = new.statement(function, indent_of(lines[start]))
    after = lines[lines_after(old.node) :]
    return source.with_lines([*lines[:at], *front, *lines[at:start], *replaced, *after])


def indent_of(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _parse(text: str, before: int) -> ast.Module:
    try:
        return parse(text)
    except SyntaxError as error:
        line = (error.lineno or 1) - before
        raise CandidateUnfit(f"it does not parse: {error.msg} (line {line})") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CandidateUnfit(f"it does not parse: {error}") from error


def _held(body: list[ast.stmt]) -> list[ast.stmt]:
    holder = body[0]
    assert isinstance(holder, ast.If)
    if len(body) > 1:
        raise CandidateUnfit(f"it does not parse: line {body[1].lineno - 1} is indented less")
    return holder.body


def _inside_strings(tree: ast.Module) -> set[int]:
    """Lines, from 0, that begin inside of a string: their white space is the program's own."""
    found: set[int] = set()
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if text or isinstance(node, ast.JoinedStr):
            assert isinstance(node, ast.expr)
            found.update(range(node.lineno, node.end_lineno or node.lineno))
    return found


def _function_in(new: GivenSource, target: Target) -> ast.stmt | None:
    """The definition that replaces the target, by its full name or its own."""
    found = [each for each in _defined(new.body) if isinstance(each.node, Function)]
    for name in (target.name, target.own_name):
        named = [each.node for each in found if each.name == name]
        if len(named) > 1:
            raise CandidateUnfit(f"it defines {name} more than once")
        if named:
            return named[0]
    return None


def _defined(body: list[ast.stmt]) -> Iterator[BoundName]:
    return definitions(ast.Module(body, []))


def _with_body(lines: list[str], old: BoundName, new: GivenSource, target: Target) -> list[str]:
    if not any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in _own(new.body)):
        raise CandidateUnfit(f"it has no function {target.own_name}, and is not the body of one")
    assert isinstance(old.node, Function)
    first = old.node.body[0]
    if lines[first.lineno - 1].encode()[: first.col_offset].strip():
        raise CandidateUnfit("it is a body, and the target has its own on the line of its `def`")
    start = first_line(first)
    return [*lines[:start], *new.all(indent_of(lines[start])), *lines[lines_after(old.node) :]]


def _own(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes, except those inside functions and classes."""
    for node in nodes:
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            yield node
            yield from _own(list(ast.iter_child_nodes(node)))


def _beside(file: ast.Module, new: GivenSource, function: ast.stmt) -> Iterator[ast.stmt]:
    """Statements that came with the function and are not in the file yet."""
    there = {ast.dump(node) for node in ast.walk(file) if isinstance(node, ast.stmt)}
    names = {each.name for each in definitions(file)}
    imported = {each for node in file.body for each in _imports(node)}
    for node in new.body:
        if node is function or ast.dump(node) in there or _is_text(node):
            continue
        if isinstance(node, ast.ClassDef) and function in ast.walk(node):
            _refuse_more_in_class(node, function, there)
        elif not (_imports(node) and imported.issuperset(_imports(node))):
            _refuse_future(node)
            _refuse_other_meaning(node, names, imported)
            yield node


def _refuse_more_in_class(node: ast.ClassDef, function: ast.stmt, there: set[str]) -> None:
    for each in node.body:
        if isinstance(each, ast.ClassDef) and function in ast.walk(each):
            _refuse_more_in_class(each, function, there)
        elif each is not function and ast.dump(each) not in there and not _is_text(each):
            raise CandidateUnfit(f"it changes more of class {node.name}: give the whole file")


def _refuse_future(node: ast.stmt) -> None:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        raise CandidateUnfit("it imports from __future__, which only the top of a file can")


def _refuse_other_meaning(
    node: ast.stmt, names: set[str], imported: set[tuple[str, str, str]]
) -> None:
    same = {bound for bound, *_ in imported.intersection(_imports(node))}
    new = {each.name for each in _defined([node])} - same
    taken = sorted(names & new)
    if taken:
        raise CandidateUnfit(
            f"it gives another meaning to {', '.join(taken)} of the file: give the whole file"
        )


def _imports(node: ast.AST) -> list[tuple[str, str, str]]:
    """What an import binds, from which module, and which name there."""
    if isinstance(node, ast.Import):
        return [(each.asname or each.name.partition(".")[0], each.name, "") for each in node.names]
    if isinstance(node, ast.ImportFrom):
        module = f"{'.' * node.level}{node.module or ''}"
        return [(each.asname or each.name, module, each.name) for each in node.names]
    return []


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
