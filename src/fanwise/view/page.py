"""One self-contained page: no other file, no network, and no script but ours.

The page says so to the browser itself: its content security policy allows the scripts whose
digests it names, and nothing from anywhere else. Should text of a model ever get out of its
element, it still runs nothing and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from fanwise.view.markup import Child, Html, element, inline

GENERATOR = "fanwise report"
"""How a report is known as one, so that no other file is overwritten."""


class Section(msgspec.Struct, frozen=True):
    """A part of the page, with its place in the list of contents."""

    id: str
    title: str
    content: Html
    about: str = ""
    """What it shows and how to read it, in a sentence or two."""


def page(title: str, header: Child, sections: Sequence[Section], scripts: Sequence[str]) -> str:
    """The whole document."""
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="generator", content=GENERATOR),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        inline("style", asset("fanwise.view", "templates/page.css")),
    ]
    links = [element("a", each.title, href=f"#{each.id}") for each in sections]
    body = [
        element("header", header),
        element("nav", links, aria_label="Contents"),
        element("main", [_section(each) for each in sections]),
        [inline("script", script) for script in scripts],
    ]
    whole = element("html", element("head", head), element("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


@cache
def asset(package: str, name: str) -> str:
    """A file that comes with the package."""
    return (files(package) / name).read_text("utf-8")


def is_report(beginning: str) -> bool:
    """Whether a file that begins so was written by us."""
    return f'<meta name="generator" content="{GENERATOR}">' in beginning


def _section(section: Section) -> Html:
    about = element("p", section.about, class_="about") if section.about else None
    title = f"{section.id}-title"
    return element(
        "section", element("h2", section.title, id=title), about, section.content,
        id=section.id, aria_labelledby=title,
    )  # fmt: skip


def _policy(scripts: Sequence[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    parts = {
        "default-src": "'none'",
        "script-src": digests or "'none'",
        "style-src": "'unsafe-inline'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
