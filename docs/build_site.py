"""Builds the site into .site/html, with Zensical.

    make docs                                 build it; a broken link is an error
    make docs-serve                           build it, and serve it on this machine
    python docs/build_site.py --publish DIR  put what was built beside other versions

The pages are copied to .site/pages first, for two reasons. The marks behind the language of an
example (`python file=a.py`) are for the tests, and Zensical would not take them. And the reference
of the Python interface is made by mkdocstrings there, with links from every type; the pages in
docs/reference say the same in plain Markdown, which is what coding agents and GitHub get.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / ".site"
CONFIG = DOCS / "zensical.toml"

MODULES = {
    "fanwise": ("fanwise", "fanwise.specs.run_file", "fanwise.kernel.in_run",
                "fanwise.kernel.stream", "fanwise.journal.codec"),
    "errors": ("fanwise.errors",),
    "events": ("fanwise.kernel.events",),
    "testing": ("fanwise.testing", "fanwise.journal.port"),
    **{name: (f"fanwise.{name}",) for name in (
        "models", "sampling", "matrix", "workflow", "plan", "optimize", "specs", "workspaces")},
}  # fmt: skip
"""By page of the reference: where its names are."""

FENCE = re.compile(r"^```(\w+)[ \t]+(.+)$", re.MULTILINE)
NAMED = re.compile(r"^## `([\w.]+)`$", re.MULTILINE)


# -- pages -----------------------------------------------------------------------------------------


def for_site(text: str) -> str:
    """A page without the marks that only the tests need; the name of a file becomes a title."""

    def header(found: re.Match[str]) -> str:
        name = re.search(r"\bfile=(\S+)", found[2])
        return f"```{found[1]}" + (f' title="{name[1]}"' if name else "")

    return FENCE.sub(header, text)


def linked_reference(page: str, text: str) -> str:
    """A page of the reference, in which mkdocstrings writes what stands under each name."""
    begin, *sections = NAMED.split(text)
    parts = [begin]
    for name, plain in zip(sections[::2], sections[1::2], strict=True):
        home = _home(page, name)
        anchor = f'<a id="{name.lower()}"></a>'
        parts.append(f"## `{name}`{plain}" if home is None else f"{anchor}\n\n::: {home}\n\n")
    return "".join(parts)


def _home(page: str, name: str) -> str | None:
    """Where a name is defined; None: mkdocstrings has nothing to read there."""
    for module in MODULES[page]:
        try:
            thing = resolve_name(name if "." in name else f"{module}:{name}")
        except AttributeError:
            continue
        written = inspect.isclass(thing) or inspect.isfunction(thing)
        if written and not hasattr(thing, "__wrapped__"):
            return f"{thing.__module__}.{thing.__qualname__}"
    return None


def stage(folder: Path) -> None:
    """Copy the configuration and the pages to where Zensical reads them."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "*.toml", "__pycache__"))
    config = CONFIG.read_text().replace('paths = ["src"]', f"paths = [{str(ROOT / 'src')!r}]")
    (folder / CONFIG.name).write_text(config)
    for path in pages.rglob("*.md"):
        text = for_site(path.read_text())
        if path.parent.name == "reference" and path.stem in MODULES:
            text = linked_reference(path.stem, text)
        path.write_text(text)


def accessible(html: str) -> str:
    """What screen readers stumble over: headings without words, two places of one name."""
    named = html.replace(
        'class="md-path" aria-label="Navigation"', 'class="md-path" aria-label="Path"'
    )
    return named.replace("<th></th>", "<td></td>")


# -- beside the pages ------------------------------------------------------------------------------


def write_plain(html: Path) -> None:
    """Every page as plain Markdown beside its HTML, and llms.txt, which lists them."""
    config = tomllib.loads(CONFIG.read_text())["project"]
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    for heading, pages in _sections(config["nav"]):
        lines += ["", f"## {heading}", ""]
        for title, page in pages:
            text = (DOCS / page).read_text()
            target = html / page
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            title = title or re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")  # type: ignore[index]
            lines.append(f"- [{title}]({config['site_url']}{page}){_summary(text)}")
    (html / "llms.txt").write_text("\n".join(lines) + "\n")


def _sections(nav: list[Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for part in nav:
        ((heading, inside),) = part.items()
        yield heading, list(_leaves(inside))


def _leaves(nav: list[Any] | str, title: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(nav, str):
        yield title, nav
        return
    for each in nav:
        named = each.items() if isinstance(each, dict) else [("", each)]
        for name, inside in named:
            yield from _leaves(inside, name)


def _summary(text: str) -> str:
    """The first sentence of a page."""
    prose = [
        part for part in text.split("\n\n")[1:] if part.strip() and part[0] not in "#<`|!-$[{="
    ]
    first = re.split(r"(?<=[.!?])\s", " ".join(prose[0].split()))[0] if prose else ""
    plain = re.sub(r"[`*]|]\([^)]*\)|\[", "", first)
    return f": {plain}" if plain else ""


def write_schemas(html: Path) -> None:
    """The JSON schema of every kind of file, at the address that files name."""
    from fanwise.specs.registry import system
    from fanwise.system_names import BUILT_IN

    (html / "schemas").mkdir()
    for name in BUILT_IN:
        found: Any = system(name)
        schema = found.schema()
        (html / "schemas" / f"{name}.json").write_text(json.dumps(schema, indent=1))


# -- commands --------------------------------------------------------------------------------------


def build(folder: Path = SITE) -> Path:
    """The whole site, in the folder `html` of this one. A warning is an error."""
    html = folder / "html"
    shutil.rmtree(html, ignore_errors=True)
    stage(folder)
    zensical(folder, "build", "--strict", "--clean")
    for path in html.rglob("*.html"):
        path.write_text(accessible(path.read_text()))
    write_plain(html)
    write_schemas(html)
    return html


def zensical(folder: Path, *arguments: str) -> None:
    """Run Zensical to its end."""
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run([program, *arguments], cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def publish(html: Path, folder: Path, version: str) -> None:
    """Put the site there as this version and as the latest one, beside those that are there."""
    listed = folder / "versions.json"
    known = json.loads(listed.read_text()) if listed.exists() else []
    for name in (version, "latest"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(html, folder / name)
    others = [{**each, "aliases": []} for each in known if each["version"] != version]
    newest = {"version": version, "title": version, "aliases": ["latest"]}
    listed.write_text(json.dumps([newest, *others]))
    (folder / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>fanwise</title>'
        '<meta http-equiv="refresh" content="0; url=latest/"><a href="latest/">fanwise</a>\n'
    )
    (folder / ".nojekyll").touch()


def main() -> None:
    """Build, serve or publish."""
    parser = argparse.ArgumentParser(description="Build the site of the documentation.")
    parser.add_argument("--serve", action="store_true", help="serve it on this machine")
    parser.add_argument("--publish", type=Path, metavar="DIR", help="add what was built there")
    given = parser.parse_args()
    if given.publish is not None:
        from fanwise import __version__

        publish(SITE / "html", given.publish, __version__)
    elif given.serve:
        stage(SITE)
        zensical(SITE, "serve")
    else:
        build()


if __name__ == "__main__":
    main()
