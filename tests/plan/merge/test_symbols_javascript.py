"""The symbol gate for JavaScript and TypeScript: what is broken is found, what is there is not."""

from __future__ import annotations

import pytest

from fanwise.plan.merge.merge import merge
from fanwise.plan.merge.symbols import broken
from fanwise.plan.merge.symbols.javascript.facts import module_of
from fanwise.plan.merge.symbols.javascript.uses import ScriptUse, uses_in
from fanwise.plan.model.merge_result import BrokenName
from fanwise.workspaces.git import Git
from tests.plan.merge.support import Content, change, repository

PRICES = """\
// export function commented() {}
const slash = /[/'"`]/g, text = "export const quoted = 1";
export function total(items) { return items.length / 2; }
export const RATE = 0.19, LIMIT = 100;
export class Basket { add() {} }
export default class Shop {}
"""
COMMON = """\
function ship(order) { return order; }
exports.pack = (x) => x;
module.exports.send = 1;
module.exports = { ship, track: 1, nested: { deep: 1 }, run() { return 1; } };
"""
FILES = {
    "web/prices.js": PRICES,
    "web/common.js": COMMON,
    "web/index.ts": "export { total, RATE as rate } from './prices';\nexport * from './more';\n",
    "web/more.ts": "export interface Item { a: 1 }\nexport type Id = string;\nexport enum E {}\n",
    "web/old/index.tsx": "export const ancient = 1;\nexport const A = 'some text of a file';\n",
    "web/cart.ts": "import fs from 'fs';\nexport const cart = fs;\n",
    "web/use.js": "console.log(1);\n",
}
USER = "web/cart.ts"
RENAMED = PRICES.replace("function total", "function sumUp")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Git:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patched.setenv(name, "/dev/null")
        return repository(tmp_path_factory.mktemp("symbols") / "r", FILES)


def found(user: Git, *edits: dict[str, Content]) -> tuple[BrokenName, ...]:
    changes = [change(user, name, each) for name, each in zip("ABCD", edits, strict=False)]
    merged = merge(user, "HEAD", changes, "three_way")
    assert not merged.conflicts, "it merges cleanly, and breaks"
    return broken(user, "HEAD", merged.tree, changes)


USES = {
    "named": "import { total } from './prices';\n",
    "with another name": "import { total as t } from './prices.js';\nt();\n",
    "beside the default": "import Shop, {\n  RATE,\n  total,\n} from './prices';\n",
    "namespace": "import * as p from './prices';\n\np.total([]);\n",
    "require": "const { total } = require('./prices');\n",
    "require, renamed": "const { RATE, total: t } = require('./prices')\n",
    "require.member": "const t = require('./prices').total;\n",
    "require, whole": "const p = require('./prices');\nf(p.total);\n",
    "awaited": "const { total } = await import('./prices');\n",
    "re-exported": "export { total } from './prices';\n",
    "by way of an index": "import { total } from '.';\n",
    "of an index, by its name": "import { total } from './index';\n",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("order", ["used last", "used first"])
def test_a_rename_and_a_new_caller_are_found_and_named(user: Git, use: str, order: str) -> None:
    edits: list[dict[str, Content]] = [{"web/prices.js": RENAMED}, {USER: USES[use]}]
    if order == "used first":
        edits.reverse()
    (one,) = found(user, *edits)
    assert (one.name, one.path, one.removed_from) == ("web/prices.total", USER, "web/prices.js")
    assert "total" in USES[use].splitlines()[one.line - 1]
    assert (one.used_by, one.removed_by) == (("B", "A") if order == "used last" else ("A", "B"))
    assert one.renamed_to == "web/prices.sumUp"


@pytest.mark.parametrize(
    ("gone", "text", "name"),
    [
        ({"web/prices.js": PRICES.replace("LIMIT = 100", "MOST = 100")},
         "import { LIMIT } from './prices';\n", "web/prices.LIMIT"),
        ({"web/prices.js": PRICES.replace("export default class Shop", "class Shop")},
         "import Shop from './prices';\n", "web/prices.default"),
        ({"web/prices.js": PRICES.replace("class Basket", "class Bag")},
         "import { Basket } from './prices';\n", "web/prices.Basket"),
        ({"web/common.js": COMMON.replace("{ ship,", "{ carry: ship,")},
         "const { ship } = require('./common');\n", "web/common.ship"),
        ({"web/common.js": COMMON.replace("exports.pack", "exports.wrap")},
         "import { pack } from './common';\n", "web/common.pack"),
        ({"web/more.ts": "export type Id = string;\n"},
         "import type { Item } from './more';\n", "web/more.Item"),
        ({"web/more.ts": FILES["web/more.ts"].replace("enum E", "enum F")},
         "import { type E } from './index';\n", "web/more.E"),
        ({"web/index.ts": "export * from './more';\n"},
         "import { rate } from './index';\n", "web/index.rate"),
    ],
)  # fmt: skip
def test_every_form_of_an_export_is_missed(
    user: Git, gone: dict[str, Content], text: str, name: str
) -> None:
    (one,) = found(user, gone, {USER: text})
    assert (one.name, one.used_by, one.removed_by) == (name, "B", "A")


@pytest.mark.parametrize(
    "text",
    [
        "import './old';\n",
        "import { ancient } from './old';\n",
        "import * as o from './old/index';\no.A;\n",
        "const { A } = require('./old');\n",
        "export * from './old';\n",
    ],
)
def test_a_file_that_is_renamed_and_newly_imported_is_found_once(user: Git, text: str) -> None:
    moved: dict[str, Content] = {
        "web/old/index.tsx": None,
        "web/new.tsx": FILES["web/old/index.tsx"],
    }
    (one,) = found(user, moved, {USER: text})
    assert (one.name, one.renamed_to) == ("web/old/index", "web/new")
    assert (one.used_by, one.removed_by, one.line) == ("B", "A", 1)


NAMED = USES["named"]
QUIET: dict[str, tuple[str, str]] = {
    "still there": (RENAMED + "export { sumUp as total };\n", NAMED),
    "from another file": (RENAMED + "export { A as total } from './old';\n", NAMED),
    "by a star of a package": (RENAMED + "export * from 'elsewhere';\n", NAMED),
    "by a star of a file that a build makes": (RENAMED + "export * from './made';\n", NAMED),
    "a pattern": (RENAMED + "export const { a: total, ...rest } = sumUp;\n", NAMED),
    "one of several": (RENAMED + "export let z = f(1, 2), total;\n", NAMED),
    "after a declaration": (RENAMED + "export declare async function total(): void\n", NAMED),
    "exported as a whole": (RENAMED + "export = sumUp;\n", NAMED),
    "handed on": (RENAMED + "Object.assign(exports, sumUp);\n", NAMED),
    "a module of the old kind": (RENAMED + "module.exports = sumUp;\n", NAMED),
    "spread": (RENAMED + "module.exports = { ...all };\n", NAMED),
    "a template without an end": (RENAMED + "x = <p>`</p>;\n", NAMED),
    "after a slash that confuses": (
        RENAMED + "if (x) /`/.test(y);\nexport function total() {}\nz = `a`;\n", NAMED,
    ),
    "in a try": (RENAMED, "let t;\ntry { t = require('./prices').total; } catch { t = 1; }\n"),
    "with a value that stands in": (RENAMED, "const { total = 1 } = require('./prices');\n"),
    "asked for": (RENAMED, "import * as p from './prices';\nif (p.total) p.total();\n"),
    "hidden by a parameter": (
        RENAMED, "import * as p from './prices';\nfunction f(p) { return p.total; }\n",
    ),
    "of a package": (RENAMED, "import { total } from 'prices';\n"),
    "of an alias": (RENAMED, "import { total } from '@/prices';\n"),
    "of another file": (RENAMED, "import { total } from './made';\n"),
    "other names": (RENAMED, "import Shop, { RATE, Basket } from './prices';\n"),
    "never there": (RENAMED, "import { nonsense, commented, quoted } from './prices';\n"),
    "words": (RENAMED, "// import {total} from './prices'\nx = \"require('./prices').total\"\n"),
    "in a template": (RENAMED, "x = `\nimport { total } from './prices';\n`;\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", QUIET)
def test_no_alarm_where_nothing_is_known_to_break(user: Git, case: str) -> None:
    prices, text = QUIET[case]
    assert found(user, {"web/prices.js": prices}, {USER: text}) == ()


def test_a_file_in_another_language_may_stand_in_for_one_that_is_gone(user: Git) -> None:
    gone: dict[str, Content] = {"web/prices.js": None, "web/prices.vue": "<script></script>"}
    assert found(user, gone, {USER: "import { total } from './prices';\n"}) == ()


def test_uses_that_were_there_are_the_checks_business_and_new_ones_beside_them_are_not(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    text = "import { RATE } from './prices';\n"
    user = repository(tmp_path_factory.mktemp("known") / "r", {**FILES, USER: text})
    assert found(user, {"web/prices.js": None}, {USER: f"{text}x();\n"}) == ()
    more: dict[str, Content] = {USER: "import { RATE, total } from './prices';\n"}
    (one,) = found(user, {"web/prices.js": None}, more)
    assert one.name == "web/prices.total"


def test_a_leaf_that_does_both_itself_knows_what_it_does(user: Git) -> None:
    assert found(user, {"web/prices.js": RENAMED, USER: NAMED}) == ()


def test_what_a_file_exports() -> None:
    module = module_of(
        "export async function* a() {}\nexport abstract class B {}\nexport const enum C {}\n"
        "export namespace D {}\nexport * as e from './e';\nexport { f as default, g as 'h i' };\n"
        "export const j = <T,>(x: T) => x\nexport let k: Map<string, number> = 1\nfoo.export(1)\n"
    )
    assert {"a", "B", "C", "D", "e", "default", "h i", "j", "k"} <= module.names.keys()
    assert not module.dynamic
    assert module_of("@sealed export class A {}").names.keys() == {"A"}
    assert module_of("export @sealed class A {}").dynamic
    assert module_of("").common


def test_what_a_file_uses() -> None:
    text = "import a, * as b from './a';\nimport type c from './c';\nimport type, {d} from './d'\n"
    assert uses_in(text + "b.x(b.y);\n") == {
        ScriptUse("./a", None): 1, ScriptUse("./a", "default"): 1,
        ScriptUse("./a", "x"): 4, ScriptUse("./a", "y"): 4,
        ScriptUse("./c", None): 2, ScriptUse("./c", "default"): 2,
        ScriptUse("./d", None): 3, ScriptUse("./d", "default"): 3, ScriptUse("./d", "d"): 3,
    }  # fmt: skip


CUT_OFF = ("import", "export", "export *", "import {", "require(", "exports", "export const", "`",
           "export function", "(", "import * as", "module.exports = {", "export {", "export let ({",
           "const {a} = require('./x'", "=/[", "try {", "`${`")  # fmt: skip


@pytest.mark.parametrize("text", CUT_OFF)
def test_what_is_cut_off_or_said_a_thousand_times_does_no_harm(text: str) -> None:
    for hostile in (text, f"{text} " * 1_000):
        module_of(hostile)
        uses_in(hostile)
