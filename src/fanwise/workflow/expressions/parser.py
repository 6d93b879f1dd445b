"""Tokens to a tree, by recursive descent; each level of brackets is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanwise.errors import BadExpression
from fanwise.workflow.expressions import tree as nodes
from fanwise.workflow.expressions.filters import FILTERS
from fanwise.workflow.expressions.lexer import Token, tokens
from fanwise.workflow.expressions.tree import Expression

MOST_DEPTH = 30
"""Levels, one inside the other: each takes some ten frames of Python's stack."""
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None, "null": None}
KEYWORDS = {"and", "or", "not", "in"}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
LEVELS = (("or",), ("and",), COMPARISONS, ("+", "-"), ("*", "/", "%"))
"""The signs between operands, from the loosest to the tightest."""


def parse(text: str) -> Expression:
    """Parse the text between `{{` and `}}`. `BadExpression`."""
    parser = _Parser(text)
    tree = parser.expression()
    parser.end()
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.next = 0
        self.depth = 0

    # -- the grammar, from the loosest to the tightest ------------------------------------------

    def expression(self) -> Expression:
        self._deeper()
        tree = self._chain(0)
        filters: list[nodes.Filter] = []
        while self._takes("sign", "|"):
            filters.append(self._filter())
        self.depth -= 1
        return nodes.Filtered(tree, tuple(filters)) if filters else tree

    def end(self) -> None:
        if self._token.kind == "end":
            return
        if self._is_operator() and "|" in {token.value for token in self.tokens}:
            step = "Put what is filtered into brackets: (a | default(0)) > 1"
            raise self._bad(f"{self._token} comes after a filter", step)
        raise self._expected("an operator, `|` or the end")

    def _chain(self, level: int) -> Expression:
        if level == len(LEVELS):
            return self._negated("sign", "-", self._operand)
        signs = LEVELS[level]
        if signs is COMPARISONS:
            return self._negated("word", "not", self._comparison)
        first, rest = self._chain(level + 1), []
        while (sign := self._takes_one_of(signs)) is not None:
            rest.append((sign, self._chain(level + 1)))
        return nodes.Chain(first, tuple(rest)) if rest else first

    def _comparison(self) -> Expression:
        operands = LEVELS.index(COMPARISONS) + 1
        left = self._chain(operands)
        sign = self._takes_one_of(COMPARISONS)
        if sign is None:
            return left
        right = self._chain(operands)
        if self._takes_one_of(COMPARISONS) is not None:
            self.next -= 1
            raise self._bad("comparisons do not chain", "Write: a < b and b < c")
        return nodes.Chain(left, ((sign, right),))

    def _takes_one_of(self, signs: Sequence[str]) -> str | None:
        token, after = self._token, self.tokens[self.next + 1 : self.next + 2]
        found = str(token.value) if token.kind in ("sign", "word") else ""
        if found == "not" and after and after[0][:2] == ("word", "in"):
            found = "not in"
        if found not in signs:
            return None
        self.next += len(found.split())
        return found

    def _negated(self, kind: str, sign: str, operand: Callable[[], Expression]) -> Expression:
        """Twice is more than not at all: `not not x` is a boolean, and `- -x` a number."""
        times = 0
        while self._takes(kind, sign):
            times += 1
        tree = operand()
        if sign == "-" and isinstance(tree, nodes.Literal) and type(tree.value) in (int, float):
            return nodes.Literal(-tree.value if times % 2 else tree.value)  # type: ignore[operator]
        for _ in range(times % 2 or 2 * (times > 0)):
            tree = nodes.Negated(sign, tree)
        return tree

    def _operand(self) -> Expression:
        token = self._token
        if token.kind in ("text", "number"):
            self.next += 1
            return self._reaching(nodes.Literal(token.value))
        if token.kind == "word" and token.value not in KEYWORDS:
            self.next += 1
            return self._named(token.value)
        if self._takes("sign", "["):
            return self._reaching(nodes.ListOf(self._list("]")))
        if self._takes("sign", "("):
            tree = self.expression()
            self._needs(")")
            return self._reaching(tree)
        raise self._expected("a value")

    def _named(self, name: str) -> Expression:
        if name.lower() in CONSTANTS:
            return self._reaching(nodes.Literal(CONSTANTS[name.lower()]))
        if self._is("sign", "("):
            known = ", ".join(FILTERS)
            raise self._bad(f"`{name}` cannot be called", f"Filters follow a |; known: {known}")
        return nodes.Path(name, self._parts())

    def _reaching(self, tree: Expression) -> Expression:
        parts = self._parts()
        return nodes.Reach(tree, parts) if parts else tree

    def _parts(self) -> tuple[str | int, ...]:
        parts: list[str | int] = []
        while True:
            if self._takes("sign", "."):
                parts.append(str(self._take().value))
            elif self._takes("sign", "["):
                parts.append(self._index())
                self._needs("]")
            else:
                return tuple(parts)

    def _index(self) -> str | int:
        token = self._token
        if token.kind == "text" or (token.kind == "number" and isinstance(token.value, int)):
            self.next += 1
            return token.value  # type: ignore[no-any-return]
        raise self._expected("a whole number, or a key in quotes,")

    def _filter(self) -> nodes.Filter:
        token = self._token
        if token.kind != "word" or token.value not in FILTERS:
            raise self._expected(f"a filter ({', '.join(FILTERS)})")
        self.next += 1
        arguments = self._list(")") if self._takes("sign", "(") else ()
        least, most = FILTERS[token.value][2:4]
        if not least <= len(arguments) <= most:
            wants = {(0, 0): "no argument", (1, 1): "one argument"}
            wanted = wants.get((least, most), "one argument or none")
            problem = f"the filter `{token.value}` takes {wanted}, not {len(arguments)}"
            raise BadExpression(self.text, problem, token.at)
        return nodes.Filter(token.value, arguments)

    def _list(self, closing: str) -> tuple[Expression, ...]:
        entries: list[Expression] = []
        while not self._takes("sign", closing):
            if entries:
                self._needs(",", f"`,` or `{closing}`")
                if closing == "]" and self._takes("sign", closing):  # `[1, 2,]`
                    break
            entries.append(self.expression())
        return tuple(entries)

    # -- tokens ---------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self.tokens[self.next]

    def _take(self) -> Token:
        token = self._token
        self.next += 1
        return token

    def _is(self, kind: str, value: str) -> bool:
        return self._token.kind == kind and self._token.value == value

    def _is_operator(self) -> bool:
        if self._token.kind == "word":
            return self._token.value in KEYWORDS
        return self._token.kind == "sign" and self._token.value not in "()[],."

    def _takes(self, kind: str, value: str) -> bool:
        found = self._is(kind, value)
        self.next += found
        return found

    def _needs(self, sign: str, told: str = "") -> None:
        if not self._takes("sign", sign):
            raise self._expected(told or f"`{sign}`")

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            step = "Compute a part of it in a step of its own"
            raise self._bad(f"more than {MOST_DEPTH} levels, one inside the other", step)

    def _expected(self, what: str) -> BadExpression:
        return self._bad(f"{what} is expected, not {self._token}")

    def _bad(self, problem: str, next_step: str = "") -> BadExpression:
        return BadExpression(self.text, problem, self._token.at, next_step)
