"""Tags around a text that somebody else wrote, which the text cannot close by itself."""

from __future__ import annotations

from itertools import count


def free_tag(name: str, *texts: str) -> str:
    """This name, or with a number behind it, so that none of the texts has its closing tag."""
    squeezed = ["".join(text.split()).casefold() for text in texts]
    numbered = (f"{name}-{number}" if number else name for number in count())
    return next(tag for tag in numbered if not any(f"</{tag}" in text for text in squeezed))
