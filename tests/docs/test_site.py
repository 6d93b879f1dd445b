"""The site: it builds without a warning, links resolve, search answers, axe finds nothing.

Building it and looking at it in Chromium is slow; what prepares the pages is tested in `make test`.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import sys
import threading
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote_plus, unquote, urldefrag, urljoin

import pytest

from tests.marks import slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = _module("build_site")
CONFIG: dict[str, Any] = tomllib.loads(SITE.CONFIG.read_text())["project"]


def test_marks_for_the_tests_are_not_shown_and_a_file_has_its_name_above() -> None:
    page = "```python file=a.py\n1\n```\n```console needs=smollm2\n$ x\n```\n```text\nfile=b\n```\n"
    assert SITE.for_site(page) == (
        '```python title="a.py"\n1\n```\n```console\n$ x\n```\n```text\nfile=b\n```\n'
    )


def test_every_page_is_in_the_navigation_once() -> None:
    listed = [page for _, pages in SITE._sections(CONFIG["nav"]) for _, page in pages]
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md"))


def test_names_of_the_reference_are_read_from_where_they_are_defined() -> None:
    text = "# fanwise\n\n## `Caps`\n\nold\n\n## `sample_sync`\n\nkept\n"
    done = SITE.linked_reference("fanwise", text)
    assert "::: fanwise.core.caps.Caps\n" in done and "old" not in done
    assert '<a id="caps"></a>' in done, "links to the heading still lead there"
    assert "## `sample_sync`\n\nkept" in done


def test_versions_stand_beside_each_other_and_the_newest_is_the_latest(tmp_path: Path) -> None:
    html, folder = tmp_path / "html", tmp_path / "pages"
    html.mkdir()
    folder.mkdir()
    for version in ("0.1.0", "0.2.0", "0.2.0"):
        (html / "index.html").write_text(version)
        SITE.publish(html, folder, version)
    assert [
        (each["version"], each["aliases"])
        for each in json.loads((folder / "versions.json").read_text())
    ] == [("0.2.0", ["latest"]), ("0.1.0", [])]
    assert (folder / "0.1.0" / "index.html").read_text() == "0.1.0"
    assert (folder / "latest" / "index.html").read_text() == "0.2.0"
    assert "url=latest/" in (folder / "index.html").read_text()


def test_the_readme_is_short_and_its_links_work_on_a_package_index() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 150
    links = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", readme)
    wrong = []
    for link in (one or other for one, other in links):
        page = urldefrag(link)[0]
        for base, folder in _PLACES.items():
            if page.startswith(base):
                rest = page.removeprefix(base)
                names = [rest, f"{rest.rstrip('/')}.md", f"{rest}index.md"]
                exists = rest == "llms.txt" or any((folder / name).is_file() for name in names)
                wrong += [] if exists else [link]
                break
        else:
            wrong.append(link)
    assert wrong == []


_PLACES = {
    CONFIG["site_url"]: DOCS,
    f"{CONFIG['repo_url']}/blob/main/": ROOT,
    "https://raw.githubusercontent.com/fanwise/fanwise/main/": ROOT,
}
"""Where addresses that the README may name lead to, in this repository."""


def test_the_package_names_the_same_addresses_as_the_site() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Documentation"] == CONFIG["site_url"]
    assert urls["Source"] == CONFIG["repo_url"]


# -- the built site --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does: a warning would have been an error."""
    pytest.importorskip("zensical")
    assert Path(sys.executable).with_name("zensical").exists()
    built: Path = SITE.build(tmp_path_factory.mktemp("site"))
    return built


class _Page(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.links += [link for name in ("href", "src") if (link := given.get(name))]
        self.places |= {place for name in ("id", "name") if (place := given.get(name))}


@slow
def test_all_links_of_the_site_resolve_and_every_page_is_there_as_markdown(html: Path) -> None:
    base = CONFIG["site_url"]
    pages = {
        base + f"{path.parent.relative_to(html).as_posix()}/".removeprefix("./"): _Page(
            path.read_text()
        )
        for path in html.rglob("index.html")
    }
    assert len(pages) > 40
    wrong = []
    for address, page in pages.items():
        for link in page.links:
            target, place = urldefrag(urljoin(address, link))
            if not target.startswith(base):
                continue
            if target in pages:
                ok = not place or unquote(place) in pages[target].places
            else:
                ok = (html / unquote(target.removeprefix(base))).is_file()
            if not ok:
                wrong.append((address, link))
    assert wrong == []
    listed = re.findall(rf"\({re.escape(base)}([^)]+\.md)\)", (html / "llms.txt").read_text())
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md"))
    assert all((html / page).read_text() == (DOCS / page).read_text() for page in listed)


@slow
def test_types_in_signatures_are_linked(html: Path) -> None:
    page = (html / "reference" / "fanwise" / "index.html").read_text()
    assert re.search(r'<a class="autorefs[^>]*href="[^"]*#fanwise.core.halt.Halt"', page)


@pytest.fixture(scope="module")
def address(html: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    handler = functools.partial(Quiet, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


QUESTIONS = {
    "resume after crash": "guides/command-line",
    "requests per minute": "reference/fanwise",
    "too many requests": "troubleshooting",
    "share api key": "guides/share-a-key",
    "compare two prompts": "guides/compare-prompts",
    "windows": "start/install",
    "ollama": "providers",
    "spend no more": "recipes/runs",
    "notebook": "recipes/runs",
    "github ci": "guides/ci",
    "agents refactor": "guides/refactor-with-agents",
    "json schema editor": "guides/files",
}
"""What a newcomer types into the search, and the page that answers."""


@slow
def test_search_answers_the_questions_of_a_newcomer(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    missing = {}
    for question, wanted in QUESTIONS.items():
        links = _search(page, question)
        if not any(wanted in link for link in links[:3]):
            missing[question] = links[:3]
    page.close()
    assert missing == {}


def _search(page: Any, question: str) -> list[str]:
    """The pages that the search offers, best first."""
    page.goto(page.url)
    page.get_by_role("button", name="Search").click()
    page.keyboard.type(question)
    results = page.locator(f'a[role=option][href*="?h={quote_plus(question)}"]')
    results.first.wait_for()
    found: list[str] = results.evaluate_all("links => links.map((link) => link.href)")
    return found


@slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(browser: Any, address: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    wrong = []
    for path in ("", "guides/matrix/", "concepts/promises/", "reference/fanwise/"):
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        for found in axe.run(page).response["violations"]:
            nodes = [node["target"] for node in found["nodes"]]
            wrong.append((path, found["id"], found["impact"], len(nodes), nodes[:3]))
    context.close()
    assert wrong == []
