from __future__ import annotations

from fanwise.plan.split.imports.go import go_imports
from fanwise.plan.split.imports.graph import graph_of
from fanwise.plan.split.imports.javascript import javascript_imports
from tests.plan.split.support import made


def imports(files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return graph_of(made(files)).imports


def test_javascript_forms() -> None:
    text = """
    import a, { b } from './one';
    import './two'
    export * from "./three";
    export { x } from './four'
    const five = require("./five"), six = await import('./six');
    import type { T } from './seven';
    import {
      long,
    } from './eight'
    // import no from './comment'
    /* require('./comment') */
    const text = "import no from './string'";
    const template = `import no from './template'`;
    import react from 'react';
    """
    names = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert list(javascript_imports(text)) == [*(f"./{name}" for name in names), "react"]


def test_javascript_paths_are_resolved_by_suffix_and_index() -> None:
    found = imports(
        {
            "web/app.ts": "import './lib'\nimport './view.js'\nimport '../shared/x'\nimport './no'",
            "web/lib/index.ts": "",
            "web/view.ts": "export * from './lib/index'",
            "shared/x.jsx": "require('../web/app')",
        }
    )
    assert found == {
        "web/app.ts": ("shared/x.jsx", "web/lib/index.ts", "web/view.ts"),
        "web/view.ts": ("web/lib/index.ts",),
        "shared/x.jsx": ("web/app.ts",),
    }


GO = """package main

import "fmt"
import alias "example.org/app/store"
import (
    // "example.org/app/no"
    _ "example.org/app/log"
    . "strings"
)

var x = `
import "example.org/app/no"
`
"""


def test_go_forms() -> None:
    assert list(go_imports(GO))[:4] == [
        "fmt", "example.org/app/store", "example.org/app/log", "strings",
    ]  # fmt: skip


def test_go_packages_are_found_by_the_module_path() -> None:
    found = imports(
        {
            "go.mod": "module example.org/app\n\ngo 1.22\n",
            "main.go": 'package main\nimport "example.org/app/store"\n',
            "store/store.go": 'package store\nimport "example.org/app/log"\n',
            "store/disk.go": "package store\n",
            "store/store_test.go": "package store\n",
            "log/a.go": "package log\n",
        }
    )
    assert found == {
        "main.go": ("store/store.go",),
        "store/store.go": ("log/a.go",),
        "store/disk.go": ("store/store.go",),
        "store/store_test.go": ("store/store.go",),
    }
