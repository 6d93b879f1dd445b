"""Expectations and their verdicts: for people, for programs, and as JUnit XML for CI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from fanwise.matrix.state.expectations import Judgement
from fanwise.matrix.views.tables import aligned

ELEMENTS = {"refuted": "failure", "not judged": "error", "undecided": "skipped"}
"""What a verdict is in JUnit; one that is proven is a test that passed."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def expectation_lines(found: Sequence[Judgement]) -> list[str]:
    if not found:
        return []
    head = ["EXPECTED", "OF", "MEASURED", "VERDICT", ""]
    return aligned([head, *([e.expectation, e.of, e.measured, e.verdict, e.why] for e in found)])


def junit(name: str, found: Sequence[Judgement]) -> str:
    """A test suite with a test for each expectation."""
    kinds = [_element(each) for each in found]
    count = {kind: kinds.count(kind) for kind in ELEMENTS.values()}
    suite = Element("testsuite", name=_clean(name), tests=str(len(found)),
                    failures=str(count["failure"]), errors=str(count["error"]),
                    skipped=str(count["skipped"]))  # fmt: skip
    for each, kind in zip(found, kinds, strict=True):
        named = {"classname": _clean(name), "name": _clean(f"{each.expectation} ({each.of})")}
        test = SubElement(suite, "testcase", named)
        said = f"{each.verdict}: {each.measured}" + (f"; {each.why}" if each.why else "")
        if kind is not None:
            SubElement(test, kind, message=_clean(said))
        else:
            SubElement(test, "system-out").text = _clean(said)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _element(judgement: Judgement) -> str | None:
    return "error" if judgement.fails else ELEMENTS.get(judgement.verdict)


def _clean(text: str) -> str:
    return NOT_XML.sub("?", text)
