"""What a browser would make of a page."""

from __future__ import annotations

from html.parser import HTMLParser


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self._parts: list[str] = []
        self.feed(html)
        self.close()
        self.text = "".join(self._parts)

    def handle_data(self, data: str) -> None:
        self._parts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def values(self, name: str) -> list[str]:
        """Of one attribute, wherever it is."""
        return [each[name] or "" for each in self.attributes if name in each]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def active(self) -> list[str]:
        """Everything that could run or fetch something, apart from scripts."""
        elements = {"img", "link", "iframe", "object", "embed", "base", "form"} & set(self.tags)
        names = {name for each in self.attributes for name in each}
        odd = {name for name in names if name.startswith("on") or name in ("src", "action")}
        links = [link for link in self.values("href") if not link.startswith("#")]
        return [*sorted(elements), *sorted(odd), *links]
