"""No part of a secret is in what is stored of a program's output."""

from __future__ import annotations

import base64
import itertools
import json
import tempfile
import urllib.parse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.processes import Command, run_command
from fanwise.processes.collect import Collector
from fanwise.processes.mask import LEAST, MASK, MaskedStream, Masker
from tests.processes.support import run

SECRETS = st.lists(st.text("abcd", min_size=LEAST, max_size=12), min_size=1, max_size=3)
TOKEN = "kq7Zp2Wm9Xv4Lt6Rb8Ny"


def runs_of(secret: str, content: bytes) -> list[str]:
    found = {secret[n : n + LEAST] for n in range(len(secret) - LEAST + 1)}
    return sorted(run for run in found if run.encode() in content)


def chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


@given(
    st.integers(0, 60), st.integers(0, 60), st.integers(0, 80), st.lists(st.integers(0, 200)),
    st.booleans(), st.integers(0, len(TOKEN)),
)  # fmt: skip
def test_at_any_place_around_any_cut_in_any_chunks(
    before: int, after: int, keep: int, cuts: list[int], spills: bool, killed: int
) -> None:
    """Twice in the text, and a third time cut off by the program's death."""
    text = "." * before + TOKEN + "-" * after + TOKEN + "." * before + TOKEN[:killed]
    with tempfile.TemporaryDirectory() as folder:
        spill = Path(folder) if spills else None
        collector = Collector("stdout", keep, spill, Masker([TOKEN]).encoded)
        for chunk in chunks(text.encode(), cuts):
            collector.add(chunk)
            for each in Path(folder).iterdir():
                assert runs_of(TOKEN, each.read_bytes()) == [], "nor while it runs"
        collector.close()
        capture = collector.capture()
        assert runs_of(TOKEN, capture.data) == []
        for each in Path(folder).iterdir():
            assert runs_of(TOKEN, each.read_bytes()) == []
        if capture.path is not None:
            assert capture.size == len(Path(capture.path).read_bytes())


@given(SECRETS, st.text("abcdx", max_size=60), st.lists(st.integers(0, 200)))
def test_chunks_make_no_difference_and_all_else_stays(
    secrets: list[str], text: str, cuts: list[int]
) -> None:
    """Against the plain definition: a character is masked if a secret covers it."""
    stream = MaskedStream([secret.encode() for secret in secrets])
    got = b"".join(map(stream.feed, chunks(text.encode(), cuts))) + stream.end()
    covered = [False] * len(text)
    for secret in secrets:
        for at in range(len(text)):
            whole = text.startswith(secret, at)
            cut = len(text) - at >= LEAST and secret.startswith(text[at:])
            if whole or cut:
                stop = at + len(secret)
                covered[at:stop] = [True] * (min(stop, len(text)) - at)
    kept = "".join(char for char, hidden in zip(text, covered, strict=True) if not hidden)
    assert got.decode().replace(MASK, "") == kept
    assert (MASK.encode() in got) == any(covered)


def test_secrets_that_overlap_leave_nothing() -> None:
    assert Masker(["abcdefgh", "efghijkl"])("x abcdefghijkl y") == "x *** y"
    assert Masker(["abab"])("ababab") == "***"
    assert Masker(["abcd"])("abcdabcd") == "******"


@pytest.mark.parametrize(
    "form",
    [
        lambda t: json.dumps(t),
        lambda t: repr(t),
        lambda t: urllib.parse.quote(t),
        lambda t: urllib.parse.quote(t, safe=""),
        lambda t: base64.b64encode(t.encode()).decode(),
        lambda t: base64.urlsafe_b64encode(f"{t}\n".encode()).decode(),
        lambda t: base64.b64encode(f"me:{t}".encode()).decode(),
        lambda t: base64.b64encode(f"user:{t}".encode()).decode(),
    ],
)  # fmt: skip
@pytest.mark.parametrize("secret", [TOKEN, "Zürich/'\"\\7?>~ä+ hunter"])
def test_encoded_as_programs_do_it(form: object, secret: str) -> None:
    text = form(secret)  # type: ignore[operator]
    left = Masker([secret])(f"x{text}y").replace(MASK, "")
    assert len(left) <= len("xy''me:=") + 8 and not runs_of(secret, left.encode())


@pytest.mark.parametrize("size", range(LEAST, len(TOKEN)))
def test_what_others_cut_is_masked_up_to_the_cut(size: int) -> None:
    mask = Masker([TOKEN])
    for text in (
        f"no {TOKEN[:size]}…", f"no {TOKEN[:size]} … (900 characters)",
        f"a … (9 characters) … {TOKEN[-size:]} b", f"…{TOKEN[-size:]}",
        f"{TOKEN[:size]}...{TOKEN[-size:]}",
    ):  # fmt: skip
        assert runs_of(TOKEN, mask(text).encode()) == [], text
    whole = f"{TOKEN[:size]} and {TOKEN[-size:]}"
    assert mask(whole) == whole, "no cut, no secret"


def test_a_child_that_is_killed_in_the_middle_of_it() -> None:
    line = f"printf {TOKEN[:9]}; printf {TOKEN[:9]} >&2; kill -9 $$"
    result = run(run_command(Command.shell_line(line), hide=Masker([TOKEN]).encoded))
    assert (result.stdout.data, result.stderr.data) == (b"***", b"***")
    assert result.stdout.size == 3


def test_without_secrets_nothing_waits() -> None:
    assert MaskedStream(()).feed(b"abc") == b"abc"
    assert not Masker(()).hides and not Masker([" "]).hides
