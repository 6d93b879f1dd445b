"""What JavaScript and TypeScript files import: `from`, `require(…)`, `import(…)`. Pure.

Only relative paths are followed: what stands for a package or an alias is not in the plan, or
cannot be known without the tools' own settings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from posixpath import dirname, join, normpath

SUFFIXES = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_WRITTEN = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript writes the name of the file that will be made of its own."""
_SKIPPED = re.compile(
    r"/\*.*?(?:\*/|\Z)|//[^\n]*"
    r"|(?P<kept>"
    r"(?:\bfrom|\bimport|\bexport\s+\*\s+from)\s*(?P<q>[\"'])(?P<path>[^\"'\n]+)(?P=q)"
    r"|\b(?:require|import)\s*\(\s*(?P<r>[\"'`])(?P<called>[^\"'`\n$]+)(?P=r)\s*[,)]"
    r")"
    r"|`(?:[^`\\]|\\.)*(?:`|\\?\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:"|\\?$)'
    r"|'(?:[^'\\\n]|\\.)*(?:'|\\?$)",
    re.DOTALL | re.MULTILINE,
)


def javascript_imports(text: str) -> Iterator[str]:
    """The paths and packages that are named, as they are written."""
    if "import" not in text and "require" not in text and "from" not in text:
        return
    for found in _SKIPPED.finditer(text):
        if found["kept"]:
            yield found["path"] or found["called"]


def imported_by(path: str, text: str, paths: Collection[str]) -> set[str]:
    found = set()
    for named in javascript_imports(text):
        if named.startswith("."):
            file = _resolved(normpath(join(dirname(path), named)), paths)
            if file is not None and file != path:
                found.add(file)
    return found


def candidates(base: str) -> list[str]:
    """The files that a path may mean: it, with a suffix, as TypeScript writes it, as a folder."""
    stem, dot, suffix = base.rpartition(".")
    return [
        base,
        *(base + each for each in SUFFIXES),
        *(stem + each for each in _WRITTEN.get(dot + suffix, ())),
        *(f"{base}/index{each}" for each in SUFFIXES),
    ]


def _resolved(base: str, paths: Collection[str]) -> str | None:
    return next((each for each in candidates(base) if each in paths), None)
