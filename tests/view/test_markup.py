"""What is not markup is escaped, wherever it stands."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.view.markup import Html, element, embedded_json, inline
from fanwise.view.page import Section, is_report, page

TEXT = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]))
NASTY = "</script><script>alert(1)</script><!-- ]]> &lt; \" ' javascript:alert(1)"


class Seen(HTMLParser):
    """What a browser would see of it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))


def seen(markup: str) -> Seen:
    parser = Seen()
    parser.feed(markup)
    parser.close()
    return parser


@given(TEXT, TEXT)
def test_text_and_attributes_come_out_as_they_went_in(text: str, attribute: str) -> None:
    found = seen(element("p", text, title=attribute))
    assert (found.text, found.tags) == (text, ["p"])
    assert found.attributes == [{"title": attribute}]


def test_what_is_markup_already_is_not_escaped_again() -> None:
    assert (
        element("p", element("b", "<"), None, ["&", Html("<br>")]) == "<p><b>&lt;</b>&amp;<br></p>"
    )


def test_names_and_values_of_attributes() -> None:
    made = element("input", class_="a", data_x="1", r=2.5, hidden=True, open=False, id=None)
    assert made == '<input class="a" data-x="1" r="2.5" hidden>'


@given(
    st.recursive(
        TEXT | st.integers(-5, 5), lambda each: st.lists(each) | st.dictionaries(TEXT, each)
    )
)
def test_embedded_data_is_read_back_and_ends_no_script(data: Any) -> None:
    made = embedded_json(data, "x")
    found = seen(made)
    assert found.tags == ["script"]
    assert json.loads(found.text) == data


def test_nasty_data_stays_in_its_element() -> None:
    made = embedded_json([NASTY], "x")
    assert made.lower().count("</script") == 1 and "<!--" not in made
    assert json.loads(seen(made).text) == [NASTY]


def test_a_script_of_ours_that_would_end_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="ends itself"):
        inline("script", "x = '</SCRIPT>'")


def test_a_page_allows_no_script_but_its_own_and_is_known_as_ours() -> None:
    whole = page(
        NASTY, element("h1", NASTY), [Section("a", NASTY, element("p", NASTY))], ["x = 1;"]
    )
    found = seen(whole)
    assert found.tags.count("script") == 1
    policy = next(a["content"] for a in found.attributes if a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'; script-src 'sha256-")
    assert is_report(whole[:4096]) and not is_report("<!doctype html><p>mine")
