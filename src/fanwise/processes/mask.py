"""Secrets in what programs write and steps give: masked before anything is cut, stored or shown.

A text that was cut first keeps the part of a secret that stands before the cut. So a stream is
masked as it comes in, and the last bytes, which may begin a secret, wait for the next chunk. Where
a stream ends in the middle of a secret, or others have cut a text with a `…`, that part is masked
too.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, AnyStr, Generic, TextIO
from urllib.parse import quote

MASK = "***"
LEAST = 4
"""Characters of a secret that are masked although the rest of it is missing."""
LEAST_ENCODED = 8
CUTS = ("…", "...")
"""Where messages leave something out, perhaps with a space."""

Spans = list[tuple[int, int]]


class Masker:
    """Replaces secrets in data, also where they are encoded as programs do it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._parts = sorted({form for secret in secrets for form in _forms(secret)})
        self.encoded = tuple(part.encode("utf-8", "surrogatepass") for part in self._parts)
        """What is masked in the output of programs."""

    @property
    def hides(self) -> bool:
        """Whether there are secrets."""
        return bool(self._parts)

    def is_in(self, value: Any) -> bool:
        """Whether there is a secret in it."""
        return self.hides and self(value) != value

    def __call__(self, value: Any) -> Any:
        """The same data with a mask for each secret."""
        if not self._parts:
            return value
        if isinstance(value, str):
            return _masked(value, _spans_around_cuts(value, self._parts), MASK)[0]
        if isinstance(value, Mapping):
            return {self(key): self(each) for key, each in value.items()}
        return [self(each) for each in value] if isinstance(value, list | tuple) else value


class _WholeLines(Generic[AnyStr]):
    """Passes lines on when they are whole, so that a secret that comes in pieces is seen.

    Each thread has a line of its own, or they would need a lock.
    """

    def __init__(self, newline: AnyStr, put: Callable[[AnyStr], object]) -> None:
        self._newline: AnyStr = newline
        self._put: Callable[[AnyStr], object] = put
        self._open: dict[int, AnyStr] = {}

    def add(self, text: AnyStr) -> None:
        thread = get_ident()
        whole, newline, rest = (self._open.pop(thread, text[:0]) + text).rpartition(self._newline)
        if rest:
            self._open[thread] = rest
        if newline:
            self._put(whole + newline)

    def end(self) -> None:
        """Pass on lines that were never ended."""
        while self._open:
            self._put(self._open.popitem()[1])


class _Screen:
    """`sys.stdout` or `sys.stderr` with masks, for functions that run in this process."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.masks: list[Masker] = []
        self._lines = _WholeLines("\n", self._put)
        self.buffer = _ScreenBytes(self)

    def write(self, text: str) -> int:
        self._lines.add(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def end(self) -> None:
        self._lines.end()
        self.buffer.lines.end()

    def _put(self, text: str) -> None:
        for mask in self.masks:
            text = mask(text)
        self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _ScreenBytes:
    """The `buffer` of a screen."""

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen
        self.lines = _WholeLines(b"\n", self._put)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        given = bytes(data)
        self.lines.add(given)
        return len(given)

    def _put(self, data: bytes) -> None:
        for mask in self._screen.masks:
            masked = MaskedStream(mask.encoded)
            data = masked.feed(data) + masked.end()
        self._screen.stream.buffer.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._screen.stream.buffer, name)


@contextmanager
def masked_screens(mask: Masker) -> Iterator[None]:
    """Mask what this process prints meanwhile. Several may be open at once, ending in any order."""
    screens: list[tuple[str, _Screen]] = []
    for name in ("stdout", "stderr") if mask.hides else ():
        stream = getattr(sys, name)
        screen = stream if isinstance(stream, _Screen) else _Screen(stream)
        screen.masks.append(mask)
        setattr(sys, name, screen)
        screens.append((name, screen))
    try:
        yield
    finally:
        for name, screen in screens:
            if screen.masks == [mask]:
                screen.end()
            screen.masks.remove(mask)
            if not screen.masks and getattr(sys, name) is screen:
                setattr(sys, name, screen.stream)


class MaskedStream:
    """Masks the bytes of a stream, in chunks of any size."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = parts
        self._back = max(map(len, parts), default=1) - 1
        self._held = b""
        self._covered = 0
        """So many of the bytes that are held stand behind a mask that was given already."""

    def feed(self, chunk: bytes) -> bytes:
        """What is certain by now."""
        if not self._parts:
            return chunk
        self._held += chunk
        return self._given(_spans(self._held, self._parts), len(self._held) - self._back)

    def end(self) -> bytes:
        """The rest. What a program wrote when it was killed may end inside a secret."""
        spans = _spans(self._held, self._parts, lambda text, end: end == len(text))
        return self._given(spans, len(self._held))

    def _given(self, spans: Spans, until: int) -> bytes:
        if until <= 0:
            return b""
        given, end = _masked(self._held[:until], spans, MASK.encode(), self._covered)
        self._held, self._covered = self._held[until:], max(0, end - until)
        return given


def _masked(text: AnyStr, spans: Spans, mask: AnyStr, end: int = 0) -> tuple[AnyStr, int]:
    """The text with a mask for each span that begins in it, and where the last of them ends.

    `end`: where one ends that began before the text. Spans that overlap get one mask.
    """
    given: list[AnyStr] = []
    for begin, stop in sorted(spans):
        if begin >= len(text):
            break
        if begin >= end:
            given += [text[end:begin], mask]
        end = max(end, stop)
    given.append(text[end:])
    return text[:0].join(given), end


def _spans(
    text: AnyStr, parts: Sequence[AnyStr], cut: Callable[[AnyStr, int], bool] | None = None
) -> Spans:
    """Where secrets stand; with `cut` also where less than all of one stands before a cut."""
    found: Spans = []
    for part in parts:
        head, at = part if cut is None else part[:LEAST], -1
        while (at := text.find(head, at + 1)) >= 0:
            same = _same(part, text[at : at + len(part)])
            if same == len(part) or (cut is not None and cut(text, at + same)):
                found.append((at, at + same))
    return found


def _spans_around_cuts(text: str, parts: Sequence[str]) -> Spans:
    """Where secrets stand, and parts of them before and behind what others have left out."""
    if not any(cut in text for cut in CUTS):
        return _spans(text, parts)
    ends = _spans(text[::-1], [part[::-1] for part in parts], _is_cut)
    behind = [(len(text) - stop, len(text) - begin) for begin, stop in ends]
    return _spans(text, parts, _is_cut) + behind


def _same(part: AnyStr, text: AnyStr) -> int:
    """How many characters they have in common, from the first on."""
    if part == text:
        return len(part)
    differ = (n for n, (one, other) in enumerate(zip(part, text, strict=False)) if one != other)
    return next(differ, len(text))


def _is_cut(text: str, end: int) -> bool:
    """Whether something is left out here."""
    return text.startswith(CUTS, end + text.startswith(" ", end))


def _forms(secret: str) -> Iterator[str]:
    """A secret, each line of it, and both as JSON, Python, a shell, an address and base64 have it.

    A short line, such as a lone brace, is no secret.
    """
    lines = {line.strip() for line in secret.splitlines()}
    for plain in {secret.strip()} | {line for line in lines if len(line) >= LEAST}:
        if not plain:
            continue
        yield plain
        yield from (json.dumps(plain, ensure_ascii=a)[1:-1] for a in (True, False))
        yield repr(plain)[1:-1]
        yield plain.replace("'", "'\\''")
        raw = plain.encode("utf-8", "surrogatepass")
        yield from (quote(raw, safe=safe) for safe in ("", "/"))
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # Three places in a longer text; the first and last characters depend on that text.
            for place, begin in enumerate((0, 2, 3)):
                whole = encode(b"\0" * place + raw).decode()
                piece = whole[begin : (place + len(raw)) * 8 // 6]
                if len(piece) >= LEAST_ENCODED:
                    yield piece
