"""Templates are checked before anything is spent, and put values in as they are."""

from __future__ import annotations

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import Template
from tests.specs.support import document


def template(text: str) -> Template:
    """One that stands as a block of lines, the first of which is line 3 of its file."""
    indented = text.replace("\n", "\n    ")
    found = document(f"sample:\n  prompt: |\n    {indented}\n")
    return Template(found.data["sample"]["prompt"], found.at("sample", "prompt"))


def said(caught: pytest.ExceptionInfo[BadSpec]) -> str:
    return caught.value.message


def test_values_are_put_in_as_they_are_and_never_read_as_templates() -> None:
    text = template("{{ input.text }} & {{ input['n'] + 1 }}")
    rendered = text.render(input={"text": "{{ 7 * 7 }} <b> {% x %}", "n": 1})
    assert rendered == "{{ 7 * 7 }} <b> {% x %} & 2\n"


def test_a_key_of_the_data_comes_before_a_method_of_a_dict() -> None:
    assert template("{{ input.items }}").render(input={"items": 3}) == "3\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ input.text }} {{ model }}", {"input.text", "model"}),
        ("{{ input['text'].author.name }}", {"input.text.author.name"}),
        ("{{ input.text.strip() | upper }}", {"input.text"}),
        ("{% for r in input.rows %}{{ r.a }} {{ loop.index }}{% endfor %}", {"input.rows"}),
        ("{% set x = a.b %}{{ x }}", {"a.b"}),
        ("{% if input.note is defined %}{{ input.note }}{% endif %}{{ a.b }}", {"a.b"}),
        ("{{ input.note | default('none') }} {{ input.x }}", {"input.x"}),
        ("{{ range(3) | list }} {# input.y #} {% raw %}{{ z }}{% endraw %}", set()),
        ("{{ input[key] }}", {"input", "key"}),
        ("plain", set()),
    ],
)
def test_the_names_that_a_template_uses_are_known(text: str, names: set[str]) -> None:
    assert set(template(text).names()) == names


def test_names_that_will_not_be_there_are_errors_with_their_line() -> None:
    text = template("Dear {{ input.author }},\n{{ input.txt }}\n{{ modle }} {{ model }}")
    with pytest.raises(BadSpec) as caught:
        text.require({"input.text", "input.author", "model"})
    assert said(caught).splitlines() == [
        "f.yaml has 2 problems",
        "  f.yaml:4: sample.prompt: there is no `input.txt`; did you mean `input.text`?",
        "  f.yaml:5: sample.prompt: there is no `modle`; did you mean `model`?",
    ]
    template("{{ input }} {{ input.text }} {{ steps.a.b.c }}").require({"input.text", "steps.a"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n{{ b", "f.yaml:4: sample.prompt: the template cannot be read: "),
        ("{% if x %}", "sample.prompt: the template cannot be read: "),
        ("{{ x | nosuch }}", "f.yaml:3: sample.prompt: the template cannot be read: No filter"),
        ("\n{% include 'x' %}", "f.yaml:4: sample.prompt: a template cannot load others"),
    ],
)
def test_what_is_no_template_is_said_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadSpec) as caught:
        template(text)
    assert message in said(caught)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ x.y }}", "'dict object' has no attribute 'y'"),
        ("{{ z }}", "'z' is undefined"),
        ("{{ x / 0 }}", "TypeError: "),
        ("{{ x.__class__.__mro__ }}", "access to attribute '__class__' of 'dict' object is unsafe"),
        ("{{ x.clear() }}", "access to attribute 'clear' of 'dict' object is unsafe"),
        ("{{ '{0.__class__}'.format(x) }}", "access to attribute '__class__'"),
    ],
)
def test_what_cannot_be_filled_or_is_not_safe_is_said(text: str, message: str) -> None:
    with pytest.raises(BadSpec) as caught:
        template(text).render(x={"a": 1})
    assert said(caught).startswith("f.yaml:2:11: sample.prompt: the template cannot be filled: ")
    assert message in said(caught)
