"""Templates escape what they print, and a page allows no script but its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from fanwise.view.html import Section, Templates, environment, is_report
from tests.view.seen import Seen

TEXT = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]))
NASTY = "</script><script>alert(1)</script><!-- ]]> &lt; \" ' javascript:alert(1)"


def made(source: str, **values: object) -> str:
    return environment("fanwise.view").from_string(source).render(**values)


@given(TEXT, TEXT)
def test_text_and_attributes_come_out_as_they_went_in(text: str, attribute: str) -> None:
    found = Seen(made('<p title="{{ attribute }}">{{ text }}</p>', text=text, attribute=attribute))
    assert (found.text, found.tags) == (text, ["p"])
    assert found.attributes == [{"title": attribute}]


def test_a_name_that_a_template_does_not_know_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="nobody"):
        made("{{ nobody }}")


@given(
    st.recursive(
        TEXT | st.integers(-5, 5), lambda each: st.lists(each) | st.dictionaries(TEXT, each)
    )
)
def test_embedded_data_is_read_back_and_ends_no_script(data: Any) -> None:
    text = made('<script type="application/json">{{ data | tojson }}</script>', data=data)
    found = Seen(text)
    assert (found.tags, json.loads(found.text)) == (["script"], data)
    assert "<!--" not in text


def test_a_page_allows_no_script_but_its_own_and_is_known_as_ours(third_party: str) -> None:
    section = Section("a", NASTY, Markup("<p>{}</p>").format(NASTY))
    whole = Templates(third_party).page("page.html", NASTY, [section], scripts=["own.js"])
    found = Seen(whole)
    assert found.tags.count("script") == 1
    policy = next(a["content"] for a in found.attributes if a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'; script-src 'sha256-")
    assert is_report(whole[:4096]) and not is_report("<!doctype html><p>mine")


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with templates, of somebody else."""
    folder = tmp_path / "polls" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "own.js").write_text("x = 1;")
    (folder / "bad.js").write_text("x = '</SCRIPT>';")
    (folder / "page.html").write_text('{% extends "fanwise/base.html" %}')
    (folder / "votes.html").write_text(
        '{% from "fanwise/macros.html" import chip %}{{ chip(votes, "good") }}'
    )
    monkeypatch.syspath_prepend(tmp_path)
    environment.cache_clear()
    return "polls"


def test_another_package_brings_its_templates_and_uses_the_shared_ones(third_party: str) -> None:
    section = Templates(third_party).section("votes", "Votes", votes="<7>")
    assert section.html == '<span class="chip good">&lt;7&gt;</span>'


def test_a_script_that_could_end_its_element_is_refused(third_party: str) -> None:
    with pytest.raises(ValueError, match=r"bad\.js"):
        Templates(third_party).page("page.html", "", [], scripts=["bad.js"])


def test_a_patch_is_coloured_line_by_line_and_stays_text() -> None:
    patch = f"--- a\n+++ b\n@@ -1 +1 @@\n-{NASTY}\n+new\n same\n"
    source = '{% from "fanwise/macros.html" import diff %}{{ diff(patch) }}'
    found = Seen(made(source, patch=patch))
    assert found.text.strip("\n") == patch.strip("\n")
    assert found.values("class") == ["diff", "hunk", "minus", "plus"]
