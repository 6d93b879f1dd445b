"""YAML as events for the builder, with the parser of libyaml or PyYAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from fanwise.specs.builder import Builder, Wrong
from fanwise.specs.scalars import TAGS, Scalar, plain, tagged

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NOT_TEXT = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that YAML does not allow even in quotes; libyaml silently stops at a NUL."""


def build_yaml(text: str, builder: Builder) -> None:
    """Parse the text and pass what it contains to the builder. `Wrong`."""
    strange = NOT_TEXT.search(text)
    if strange is not None:
        raise Wrong(strange.start(), f"the character {strange[0]!r} is not allowed; escape it")
    documents = 0
    for event in _events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise Wrong(_at(event), "a second document begins; a file has one")
        _step(event, builder)


def _step(event: Any, builder: Builder) -> None:
    at = _at(event)
    if isinstance(event, yaml.ScalarEvent):
        builder.scalar(event.value, _value(event, at, builder), at, event.anchor)
    elif isinstance(event, yaml.MappingStartEvent):
        _only_tag(event, "map", builder)
        builder.begin({}, at, event.anchor)
    elif isinstance(event, yaml.SequenceStartEvent):
        _only_tag(event, "seq", builder)
        builder.begin([], at, event.anchor)
    elif isinstance(event, yaml.CollectionEndEvent):
        builder.end()
    elif isinstance(event, yaml.AliasEvent):
        builder.alias(str(event.anchor), at)


def _at(event: Any) -> int:
    return int(event.start_mark.index)


def _value(event: yaml.ScalarEvent, at: int, builder: Builder) -> Scalar:
    try:
        if event.tag is None:
            return plain(event.value) if event.implicit[0] else str(event.value)
        if event.tag == "!":
            return str(event.value)
        if event.tag in TAGS:
            return tagged(event.value, TAGS[event.tag])
    except ValueError as error:
        raise Wrong(at, str(error), builder.path) from None
    raise _unknown_tag(event, builder)


def _only_tag(event: Any, wanted: str, builder: Builder) -> None:
    if event.tag not in (None, "!") and TAGS.get(event.tag) != wanted:
        raise _unknown_tag(event, builder)


def _unknown_tag(event: Any, builder: Builder) -> Wrong:
    message = f"the tag {event.tag} is not known here; values are plain data"
    return Wrong(_at(event), message, builder.path)


def _events(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = len(text) if mark is None else min(mark.index, len(text))
        raise Wrong(at, _words(text, at, error)) from None
    except yaml.YAMLError as error:
        raise Wrong(0, f"this is not YAML: {error}".splitlines()[0]) from None


def _words(text: str, at: int, error: yaml.MarkedYAMLError) -> str:
    """Tabs are the most common mistake, and parsers hardly explain them."""
    begin = text.rfind("\n", 0, at) + 1
    if "\t" in text[begin : at + 1] and not text[begin:at].strip():
        return "a tab indents this line; YAML takes spaces only"
    if text[at : at + 1] == "\t":
        return "a tab stands here; YAML takes spaces only"
    problem = (error.problem or "it cannot be read").replace("'", "`")
    context = f" ({error.context})" if error.context else ""
    return f"this is not YAML: {problem}{context}"
