from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import Document, parse

HERE = Path("/somewhere")


def document(text: str | bytes, name: str = "f.yaml", folder: Path = HERE) -> Document:
    return parse(text.encode() if isinstance(text, str) else text, name, folder)


def refused(text: str | bytes, name: str = "f.yaml") -> str:
    """The message of the error that the text is."""
    with pytest.raises(BadSpec) as caught:
        document(text, name)
    assert caught.value.file == name
    return caught.value.message
