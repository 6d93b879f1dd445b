"""HTML from Jinja templates: one environment, one base page, shared macros.

Text from models, commands and files is hostile: it may contain `</script>`. Every template escapes
what it prints, and a name that a template does not know is an error. As a second line of defence
a page forbids, by its content security policy, every script except its own and every request.

A system keeps its templates in a folder `templates` of a package and gives that package's name to
`Templates`. The shared ones are there as `fanwise/…`:

    {% from "fanwise/macros.html" import table %}
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from jinja2.exceptions import UndefinedError
from markupsafe import Markup

from fanwise.journal.port import RunRecord
from fanwise.view import formats
from fanwise.view.calls import dollars
from fanwise.view.geometry import number
from fanwise.view.run_summary import duration, shown_status
from fanwise.view.times import moment

GENERATOR = "fanwise report"
"""Marks a file as a report, so that no other file is overwritten."""


class Tile(NamedTuple):
    """A number at the top of a page."""

    name: str
    value: str
    about: str = ""
    bad: bool = False


class Section(NamedTuple):
    """A part of a page, with its entry in the contents."""

    id: str
    title: str
    html: Markup


class PageParts(msgspec.Struct, frozen=True):
    """The sections of a page and their scripts, which are files of the package."""

    package: str
    sections: Sequence[Section]
    scripts: Sequence[str]

    def sources(self) -> list[str]:
        """The text of its scripts."""
        return [_asset(environment(self.package), name) for name in self.scripts]


class ReportPage(PageParts, frozen=True):
    """The report of a run in its parts: one file shows all of it, the live view some."""

    run: RunRecord
    status: str
    lead: str
    tiles: Sequence[Tile]

    def html(self) -> str:
        """As a page that needs no other file."""
        values = {"run": self.run, "status": self.status, "lead": self.lead, "tiles": self.tiles}
        return Templates(self.package).page(
            "fanwise/report.html",
            f"{self.run.name}: fanwise report",
            self.sections,
            scripts=self.scripts,
            **values,
        )


class Templates:
    """The templates of one package; `shared` values are visible in all of them."""

    def __init__(self, package: str, **shared: object) -> None:
        self._package = package
        self._environment = environment(package)
        self._shared = shared

    def render(self, name: str, /, **values: object) -> Markup:
        """Fill in one template."""
        try:
            text = self._environment.get_template(name).render(**self._shared, **values)
        except UndefinedError as error:  # as any other code that misses a key says it
            raise LookupError(str(error)) from error
        # A file name need not be Unicode, and a page must be.
        return Markup(text.encode("utf-8", "backslashreplace").decode())

    def section(self, id_: str, title: str, *, template: str = "", **values: object) -> Section:
        """A section, from the template `ID.html` or the one given."""
        return Section(id_, title, self.render(template or f"{id_}.html", **values))

    def report(
        self,
        run: RunRecord,
        tiles: Iterable[Tile],
        sections: Iterable[Section],
        *,
        lead: str = "",
        shortfall: str = "",
        scripts: Sequence[str] = (),
    ) -> ReportPage:
        """The page of a run. `scripts` are files of the package.

        `shortfall` says what is missing in a run that is done: its badge is not green then.
        """
        status = shown_status(run)
        if shortfall:
            status = f"{status}: {shortfall}"
        parts = self._package, list(sections), list(scripts)
        return ReportPage(*parts, run, status, lead, list(tiles))

    def page(
        self,
        template: str,
        title: str,
        sections: Iterable[Section],
        *,
        scripts: Sequence[str] = (),
        **values: object,
    ) -> str:
        """A whole page; `template` extends `fanwise/base.html`."""
        page = self.render(
            template, title=title, sections=list(sections), scripts=scripts, **values
        )
        return str(page)  # plain text: nothing is left to escape


def changed_outside(templates: Templates, changed: Sequence[str]) -> Section:
    """What changed in the user's repository during the run."""
    name = "fanwise/outside.html"
    return templates.section("outside", "Changed outside", template=name, changed=changed)


@cache
def environment(package: str) -> Environment:
    """The templates of a package, with those of this one as `fanwise/…`."""
    shared = PrefixLoader({"fanwise": PackageLoader("fanwise.view")})
    environment = Environment(
        loader=ChoiceLoader([shared, PackageLoader(package)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_function"] = _json
    environment.filters |= FILTERS
    environment.globals |= {
        "DASH": formats.DASH,
        "GENERATOR": GENERATOR,
        "asset": lambda name: Markup(_asset(environment, name)),
        "policy": lambda scripts: policy([_asset(environment, name) for name in scripts]),
    }
    return environment


def is_report(beginning: str) -> bool:
    """Whether a file that begins like this was written by `fanwise report`."""
    return f'<meta name="generator" content="{GENERATOR}">' in beginning


def policy(scripts: Sequence[str]) -> str:
    """A content security policy that allows these scripts and no request."""
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    parts = {
        "default-src": "'none'",
        "script-src": digests or "'none'",
        "style-src": "'unsafe-inline'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def diff_lines(patch: str) -> Iterator[tuple[str, str]]:
    """The lines of a patch, each with the class of its colour."""
    kinds = (("+++", ""), ("---", ""), ("+", "plus"), ("-", "minus"), ("@@", "hunk"))
    for line in patch.rstrip("\n").split("\n"):
        yield next((kind for start, kind in kinds if line.startswith(start)), ""), line


def _asset(environment: Environment, name: str) -> str:
    """A script or a style sheet of ours, as it stands in its element."""
    assert environment.loader is not None
    text = environment.loader.get_source(environment, name)[0]
    if "</" in text:
        raise ValueError(f"{name} contains `</`, which could end its element")
    return text


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(data: Any, **_: Any) -> str:
    return msgspec.json.encode(data).decode()


def _count(value: float | None) -> str:
    return formats.DASH if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return formats.DASH if value is None else formats.duration_text(value)


FILTERS = {
    "bounded": formats.bounded,
    "count": _count,
    "cut": formats.cut,
    "diff_lines": diff_lines,
    "dollars": dollars,
    "duration": duration,
    "iso": moment,
    "money": formats.money,
    "percent": lambda share: f"{number(share * 100)}%",
    "px": number,
    "seconds": _seconds,
    "utc": formats.utc_text,
}
"""Beside Jinja's own: how numbers, times and places look."""
