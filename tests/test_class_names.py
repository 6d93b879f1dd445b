"""One class name has one meaning in the whole project."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import fanwise

SOURCE = Path(fanwise.__file__).parent
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
"""Found as text, because parsing all files takes a second."""


def test_no_two_classes_have_the_same_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for name in CLASS.findall(file.read_text()):
            places[name].append(str(file.relative_to(SOURCE)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
