"""Text that others wrote, made safe for a terminal.

Outputs of commands, answers of models, keys, names and errors may hold escape sequences that move
the cursor, set the title or write to the clipboard, and characters that turn the reading direction
around. They are shown as escapes instead. The escapes are also valid inside a JSON string.

`text_file.py` applies this to everything that fanwise writes to a terminal.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    r"|\r(?!\n)"
)
"""Control characters (C0 without tab and newline, DEL, C1), direction marks, a lone return."""
_BREAKS = re.compile(r"\r?\n|[\t\v\f\x1c-\x1e\x85\u2028\u2029]")


def terminal_safe(text: str) -> str:
    """The text with control sequences shown as escapes. Tabs and newlines stay."""
    # Most text is printable, and printable text is safe; that is quick to check.
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def terminal_line(text: str) -> str:
    """The same on one line: newlines and tabs are shown as escapes, too."""
    return text if text.isprintable() else terminal_safe(_BREAKS.sub(_escape, text))


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if text.isspace() and text.isascii():
        return repr(text)[1:-1]
    code = ord(text)
    return f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}"
