"""Scripts that somebody made to be slow: every word of them is looked at a few times only."""

from __future__ import annotations

from typing import Any

import pytest

from fanwise.plan.merge.symbols.javascript import facts, uses
from fanwise.plan.merge.symbols.javascript.tokens import MOST, ScriptToken, tokens
from fanwise.plan.merge.symbols.javascript.version import ScriptFiles

PIECES = [
    "export {", "import {", "export const (", "export const {", "module.exports = {", "export * ",
    "import {a} from './b';", "export {a} from './b';", "try {", "try {} require('./x');",
    "} = require('./x');", "const {a} = require('./x');", "let a = require('./x').b;", "{", "}",
    "/*", "`", "\\`", "`\\`", "'\\'", '\\"', "\\'", "=/", "=/[", "\\/", "[\\/\\/]", "=/\\/", "=/ [",
    "export async declare ", "export default ", "exports.a = ", "import * as a from './b'; a.c;",
    "#!", "<!--", "import(", "require(", "import type ", "export type {", "a?.b ", "...", "${",
]  # fmt: skip


LENGTH = 20_000


class Counted(list[ScriptToken]):
    """Words and signs that count how often they are looked at."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        self.reads += len(range(*key.indices(len(self)))) if isinstance(key, slice) else 1
        return super().__getitem__(key)


def look_at(text: str) -> None:
    found = Counted(tokens(text))
    uses._Reader(found)
    facts._Reader(found).module()
    assert found.reads <= 40 * len(found)


@pytest.mark.parametrize("piece", PIECES)
def test_repeated_pieces(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    look_at(text)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("import {", "} from './a';"),
        ("export {", "} from './a';"),
        ("export const {", "} = a;"),
        ("module.exports = {", "},"),
        ("const {", "} = require('./a');"),
        ("try {", "}"),
    ],
)
def test_braces_in_braces(begin: str, end: str) -> None:
    times = LENGTH // len(begin + end)
    look_at(begin * times + end * times)


@pytest.mark.parametrize("quote", ['"', "'", "`"])
def test_a_quote_without_an_end_is_looked_for_once(quote: str) -> None:
    text = quote + f"\\{quote}" * (MOST // 2 - 1)
    assert [each.text for each in tokens(text)][:4] == [quote, "\\", quote, "\\"]


def test_files_that_export_all_of_one_another_are_looked_at_once() -> None:
    read: list[str] = []

    def module(path: str) -> facts.ScriptExports:
        read.append(path)
        return facts.ScriptExports(names={}, stars=("./a", "./b") * 10)

    version = ScriptFiles(["a.ts", "b.ts"], ["a.ts", "b.ts"], module)
    assert version.where("c.ts", uses.ScriptUse("./a", "x")) is False
    assert sorted(read) == ["a.ts", "b.ts"]
