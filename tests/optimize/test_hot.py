"""`--hot`: which functions are worth optimising, and a real package end to end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from fanwise.optimize.hot.ranking import rank
from fanwise.processes.sandbox import unusable
from fanwise.testing import ScriptedServer
from tests.marks import slow
from tests.workspaces.support import git, write

needs_sandbox = pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is a sandbox")

APP = """
def costly(n):
    return sorted(-at for at in range(n))

def cheap(n):
    return n

class Thing:
    def work(self, n):
        return [costly(n) for _ in range(3)]
"""


def test_functions_are_ranked_by_what_a_faster_version_could_save(tmp_path: Path) -> None:
    write(tmp_path / "app.py", APP)
    write(tmp_path / "test_app.py", "def helper(): pass\n")
    rows = [
        ("app.py", "costly", 2, 1.0),
        ("app.py", "costly", 2, 1.5),  # of another process
        ("app.py", "cheap", 9, 0.5),
        ("app.py", "Thing.work", 1, 1.0),
        ("app.py", "<module>", 1, 5.0),  # no function
        ("app.py", "gone", 1, 5.0),  # made at run time
        ("test_app.py", "helper", 1, 50.0),
        ("tests/helpers.py", "helper", 1, 50.0),
    ]
    found = rank(rows, tmp_path)
    names = [each.target for each in found]
    assert names == ["app.py::costly", "app.py::Thing.work", "app.py::cheap"]
    assert (found[0].calls, found[0].seconds) == (4, 2.5)
    assert found[0].share == 2.5 / 14, "of all time in the project's own code"


@needs_sandbox
def test_built_in_code_counts_for_its_caller_and_own_functions_for_themselves(
    tmp_path: Path,
) -> None:
    """The profile itself, without a model: the run ends at the first proposal that fails."""
    write(tmp_path / "project" / "app.py", APP)
    write(tmp_path / "project" / "main.py", "import app\nfor _ in 'nine': app.Thing().work(9999)\n")
    top = _commit(tmp_path / "project")
    done = _fanwise(
        top, "optimize", "--hot", "1", "--hot-run", "python main.py", "--test", "true",
        "--propose-command", "false", "-n", "1", "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)["result"]
    assert [each["target"] for each in found["hot"]] == ["app.py::costly", "app.py::Thing.work"]
    assert found["hot"][0]["share"] > 0.5
    assert found["hot"][0]["calls"] >= 12
    assert done.returncode == 1
    assert found["commits"] == []


# -- a real package --------------------------------------------------------------------------------

HUMANIZE = r"""def humanize(word: str) -> str:
    word = re.sub(r"_id$", "", word)
    word = word.replace('_', ' ')
    if word.isascii():
        word = word.lower()
        return word[:1].upper() + word[1:]
    word = re.sub(r"(?i)([a-z\d]*)", lambda m: m.group(1).lower(), word)
    return re.sub(r"^\w", lambda m: m.group(0).upper(), word)
"""
APP_LINE = """python -c 'import inflection as i
for _ in range(20000): i.humanize("a_plain_text")
for _ in range(50): i.pluralize("post")'
"""


def _script(body: dict[str, Any]) -> str:
    """A faster version of one function, and a wrong one of every other."""
    text = body["messages"][-1]["content"]
    for line in text.splitlines():
        if line.startswith("def humanize("):
            return f"```python\n{HUMANIZE}```"
        if line.startswith("def "):
            return f"```python\n{line}\n    return None\n```"
    return "I do not know."


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of a real package, with its tests."""
    folder = tmp_path_factory.mktemp("sdist")
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    for words in (argv, ["pip", *argv[3:]]):
        subprocess.run([*words, "inflection==0.5.1"], cwd=folder, capture_output=True, check=False)
    found = [*folder.glob("inflection-*.tar.gz")]
    if not found:
        pytest.skip("inflection cannot be downloaded from the package index here")
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder, filter="data")
    return _commit(folder / "inflection-0.5.1")


@slow
@needs_sandbox
def test_a_real_package_gets_a_branch_with_a_commit_for_each_faster_function(sdist: Path) -> None:
    async def main() -> tuple[int, str, str]:
        async with ScriptedServer(_script) as server:
            env = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "key"}
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fanwise", "optimize", "--hot", "2", "--branch", "faster",
                "--hot-run", APP_LINE,
                "--test", "python -m pytest -q", "--propose", "openai:gpt-5-mini", "-n", "1",
                "--bench-budget", "20", "--json",
                cwd=sdist, env=env, stdout=-1, stderr=-1,
            )  # fmt: skip
            out, errors = await process.communicate()
            return process.returncode or 0, out.decode(), errors.decode()

    _, out, errors = asyncio.run(main())
    found = json.loads(out)["result"]
    ranked = [each["target"] for each in found["hot"]]
    assert ranked[0] == "inflection/__init__.py::humanize", (ranked, errors)
    assert found["functions"]["inflection/__init__.py::pluralize"]["rejected"] == 1
    faster = [each for each in found["functions"].values() if each["patch"]]
    assert (len(found["commits"]), found["problem"]) == (len(faster), "")
    for commit, each in zip(found["commits"], faster, strict=True):
        assert git(sdist, "log", "-1", "--format=%B", commit).strip() == each["message"].strip()
        assert f"Make {each['target']} " in each["message"]
        assert "Measured: " in each["message"]
    assert git(sdist, "status", "--porcelain", "--untracked-files=no") == ""


def _commit(top: Path) -> Path:
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def _fanwise(top: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fanwise", *words]
    return subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False)
