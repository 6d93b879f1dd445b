"""What a local model's name says: which file, and how its server shall run.

`local:smollm2`, `local:models/mine.gguf`, `local:smollm2?slots=2&threads=1&ctx=2048`.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec

from fanwise.errors import ModelNotReady, UsageError
from fanwise.models.local.weights import KNOWN, weights_named, weights_path
from fanwise.models.names import Spec

MAGIC = b"GGUF"
_FORM = "Write local:NAME, local:PATH or local:NAME?slots=4&ctx=4096&threads=2"


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the server runs. Servers are shared by models with the same file and settings."""

    slots: int = 4
    """How many requests it works on at once; others wait in its line."""
    ctx: int = 4096
    """Tokens that each of them has room for: prompt and reply together."""
    threads: int = 0
    """0: one for every second processor that this process may use."""

    @property
    def cores(self) -> int:
        """The threads that it computes with.

        They wait for one another by spinning: one that has to share its core holds up all. With
        two on two busy cores a tenth of the tokens was measured that one alone gives.
        """
        allowed = getattr(os, "sched_getaffinity", None)  # Linux has it, macOS has not
        processors = len(allowed(0)) if allowed else os.cpu_count() or 1
        return self.threads or max(1, processors // 2)


class LocalFile(msgspec.Struct, frozen=True):
    file: Path
    settings: ServerSettings

    @property
    def alias(self) -> str:
        """The model's name at the server and in replies: the name of the file."""
        return self.file.stem


def place_of(spec: Spec) -> LocalFile:
    """The file, which exists, and the settings. An error says what to do if it is missing."""
    for field in ("base_url", "api_key_env", "max_tokens_field"):
        if getattr(spec, field) is not None:
            raise UsageError(f"{spec.name!r} has a {field}", "A local model needs none")
    given = spec.name.partition(":")[2].partition("?")[0]
    if not given:
        raise UsageError(f"{spec.name!r} names no file", _FORM)
    settings = settings_of(spec)
    find = _pulled if _is_name(given) else _given
    return LocalFile(find(spec.name, given).resolve(), settings)


def settings_of(spec: Spec) -> ServerSettings:
    """The settings in a model's name, whether or not its file exists."""
    return _settings(spec.name, spec.name.partition("?")[2])


def _is_name(given: str) -> bool:
    """A name, unless it looks like a path or there is a file of that name."""
    if given in KNOWN:
        return True
    return "/" not in given and not given.endswith(".gguf") and not Path(given).exists()


def _pulled(name: str, given: str) -> Path:
    path = weights_path(weights_named(given))
    if not path.is_file():
        missing = f"its weights are not in {path.parent}"
        raise ModelNotReady(name, missing, None, "local", step=f"fanwise pull {given}")
    return path


def _given(name: str, given: str) -> Path:
    path = Path(given).expanduser()
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        known = f"Give the path of a GGUF file, or run: fanwise pull {next(iter(KNOWN))}"
        raise UsageError(f"{name!r} cannot be read: {error.strerror}", known) from None
    if begins != MAGIC:
        raise UsageError(f"{path} is not a GGUF file", "Give weights that llama.cpp can load")
    return path


def _settings(name: str, query: str) -> ServerSettings:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in ServerSettings.__struct_fields__:
            raise UsageError(f"{name!r} has the unknown setting {option!r}", _nearest(option))
    try:
        settings = msgspec.convert(options, ServerSettings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name!r} cannot be read: {error}", _FORM) from None
    if settings.slots < 1 or settings.ctx < 1 or settings.threads < 0:
        raise UsageError(f"{name!r} has a number that is too small", _FORM)
    return settings


def _nearest(option: str) -> str:
    close = get_close_matches(option, ServerSettings.__struct_fields__, n=1)
    known = f"Known: {', '.join(ServerSettings.__struct_fields__)}"
    return f"Did you mean {close[0]!r}?" if close else known
