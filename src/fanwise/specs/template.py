"""Templates: sandboxed Jinja, in which undefined names are errors.

They are compiled once, before anything is spent. `names` lists what a template uses, so that a
system can check it against what there will be. Values are data: text from models and files is
inserted as it is, and never evaluated as a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.runtime import new_context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fanwise.errors import BadSpec
from fanwise.specs.document import Where
from fanwise.specs.nearest import did_you_mean


class Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which `input.items` is the key of that name, not the method."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of a mapping comes before its methods."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
LOADS = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class Template:
    """A text like `{{ input.text }}`; `where`: its place in a document. `BadSpec`."""

    def __init__(self, text: str, where: Where) -> None:
        self.text = text
        self.where = where
        try:
            self._tree = ENVIRONMENT.parse(text)
            self._compiled = ENVIRONMENT.from_string(text)
        except TemplateSyntaxError as error:
            message = f"the template cannot be read: {error.message}"
            raise where.bad(message, line=error.lineno) from None
        self.variables = frozenset(meta.find_undeclared_variables(self._tree))
        """What it needs from outside, attributes left out: `input`, `model`."""
        for node in self._tree.find_all(LOADS):
            raise where.bad("a template cannot load others", line=node.lineno)

    def __repr__(self) -> str:
        return f"<Template {self.where.field}>"

    def names(self) -> dict[str, int]:
        """The names it uses, such as `input.text` or `model`, with the line of their first use.

        Without those it guards itself: `input.note is defined`, `input.note | default("")`.
        """
        free = self.variables - ENVIRONMENT.globals.keys()
        found: dict[str, int] = {}
        guarded: set[str] = set()
        for name, line, safe in _used(self._tree):
            if name.partition(".")[0] in free:
                found.setdefault(name, line)
                guarded |= {name} if safe else set()
        return {name: line for name, line in found.items() if name not in guarded}

    def require(self, known: Iterable[str]) -> None:
        """Check that all names it uses are known. `BadSpec`. `input` covers everything in it."""
        known = frozenset(known)
        problems = []
        for name, line in self.names().items():
            if not _is_known(name, known):
                message = f"there is no `{name}`{did_you_mean(name, known)}"
                problems += self.where.bad(message, line=line).problems
        if problems:
            raise BadSpec(self.where.document.name, problems)

    def render(self, **values: Any) -> str:
        """Fill in the values. `BadSpec` if one is missing."""
        # Not `Template.render`, which copies Jinja's globals each time.
        known = {**ENVIRONMENT.globals, **values}
        context = new_context(ENVIRONMENT, None, self._compiled.blocks, known, shared=True)
        try:
            return "".join(self._compiled.root_render_func(context))
        except TemplateError as error:
            raise self.where.bad(f"the template cannot be filled: {error.message}") from error
        except Exception as error:  # a filter or an operator that does not fit the value
            why = f"{type(error).__name__}: {error}"
            raise self.where.bad(f"the template cannot be filled: {why}") from error


class Condition:
    """An expression over names, such as `input.label == "good"`, in the sandbox. `BadSpec`."""

    def __init__(self, text: str, where: Where) -> None:
        self._where = where
        try:
            self._holds = ENVIRONMENT.compile_expression(text, undefined_to_none=False)
        except TemplateSyntaxError as error:
            raise where.bad(f"it cannot be read: {error.message}") from None

    def __call__(self, about: str, **values: Any) -> bool:
        """Whether it is true. `about`: what the values are of, for the error."""
        try:
            return bool(self._holds(**values))
        except Exception as error:  # a name that is missing, an operator that does not fit
            raise self._where.bad(f"input {about!r}: {error}") from error


def _is_known(name: str, known: frozenset[str]) -> bool:
    parts = name.split(".")
    beginnings = {".".join(parts[: n + 1]) for n in range(len(parts))}
    return bool(beginnings & known) or any(each.startswith(f"{name}.") for each in known)


def _used(node: nodes.Node, safe: bool = False) -> Iterator[tuple[str, int, bool]]:
    """Names with their attributes, their line, and whether they may be undefined."""
    name = _dotted(node)
    if name is not None:
        yield name, node.lineno, safe
        return
    for child in node.iter_child_nodes():
        called = isinstance(node, nodes.Call) and child is node.node
        if called and isinstance(child, nodes.Getattr):
            child = child.node  # a method call: the object is what counts
        yield from _used(child, _guards(node))


def _dotted(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.Name):
        return node.name if node.ctx == "load" else None
    if isinstance(node, nodes.Getattr):
        base, part = _dotted(node.node), node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        base, part = _dotted(node.node), str(node.arg.value)
    else:
        return None
    return None if base is None else f"{base}.{part}"


def _guards(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Test):
        return node.name in ("defined", "undefined")
    return isinstance(node, nodes.Filter) and node.name in ("default", "d")
