"""What was seen of a call, as text for people. PURE: forms in, a line out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST = 400


def describe_step(step: Mapping[str, Any] | None, kind: str) -> str:
    """What a side did, as far as it matters for a difference of this kind."""
    if not step:
        return "does nothing observable"
    try:
        return _told(step, kind)
    except (LookupError, TypeError, ValueError, AttributeError):
        return "gives an invalid answer"  # a candidate may have made it up


def _told(step: Mapping[str, Any], kind: str) -> str:
    out = step["out"]
    if out[0] == "raise":
        return f"raises {out[1]}: {out[2]}{_fields(out[4])}"[:_MOST]
    if kind == "stdout":
        return f"prints {step['stdout']!r}{_more(step)}"[:_MOST]
    if kind == "globals":
        return f"changes {', '.join(step['globals']) or 'no name'} of its module"
    if kind == "arguments":
        read = f", reads {step['taken']} of its streams" if step.get("taken") else ""
        return f"leaves {python(['tuple', step['args'][0]])}{read}"[:_MOST]
    if out[0] == "lazy":
        return _lazy(out)[:_MOST]
    return f"returns {python(step['args'][2])}"[:_MOST]


def _more(step: Mapping[str, Any]) -> str:
    texts = [f", {name} {step[name]!r}" for name in ("stderr", "warnings") if step[name]]
    return "".join(texts)


def _fields(form: Any) -> str:
    """The attributes of an exception; the key of a KeyError is its text."""
    return f", with {python(form)}" if form and form[0] == "dict" else ""


def _lazy(out: list[Any]) -> str:
    _, items, taken, end = out
    texts = ", ".join(python(each[0]) for each in items[:20])
    ends = f", then raises {end[1]}: {end[2]}" if end[0] == "raise" else ""
    if end[0] == "end" and end[1] is not None:
        ends = f", then returns {python(end[1])}"
    read = f", having read {taken[:4]}" if any(taken) else ""
    return f"yields {texts}{ends}{read}"


def python(form: Any) -> str:
    """A form, written roughly as Python."""
    if not isinstance(form, list):
        return repr(form)
    tag, *rest = form
    if tag == "float":
        return repr(float.fromhex(rest[0]))
    if tag == "int":
        return rest[0] if len(rest[0]) > 40 else str(int(rest[0], 16))
    if tag in ("list", "set", "tuple", "frozenset"):
        return _bracketed(tag, [python(each) for each in rest[-1]])
    if tag == "dict":
        return "{" + ", ".join(f"{python(key)}: {python(each)}" for key, each in rest[1]) + "}"
    if tag == "bytes":
        return repr(bytes.fromhex(rest[0]))
    return _rare(tag, rest)


def _bracketed(tag: str, inner: list[str]) -> str:
    text = ", ".join(inner)
    if tag == "list":
        return f"[{text}]"
    if tag == "tuple":
        return f"({text},)" if len(inner) == 1 else f"({text})"
    return f"{{{text}}}" if tag == "set" and inner else f"{tag}({text})"


def _rare(tag: str, rest: list[Any]) -> str:
    if tag == "ref":
        return f"<the same as #{rest[0]}>"
    if tag == "whole":
        return python(rest[0])
    if tag == "object":
        parts = [f"{name} {_part(name, each)}" for name, each in rest[2:]]
        return f"<{rest[1]} {' '.join(parts)}>"
    if tag == "array":
        return f"array({python(rest[-1])}, {rest[2]})"
    if tag == "complex":
        return f"complex({python(rest[0])}, {python(rest[1])})"
    texts = [str(each) for each in rest if isinstance(each, str | int)]
    return f"<{' '.join([tag, *texts])}>"


def _part(name: str, form: Any) -> str:
    if name == "state":
        return ", ".join(f"{key}={python(each)}" for key, each in form)
    return python(form)
