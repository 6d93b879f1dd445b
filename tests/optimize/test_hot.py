"""`--hot`: which functions are worth optimising, and a real package end to end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from fanwise.optimize.benchmark.hot_functions import rank
from fanwise.processes.sandbox import unusable
from fanwise.testing import ScriptedServer
from tests.cli.support import Place, eventually
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


# -- resume and budget -----------------------------------------------------------------------------

TWO = """
def costly(n):
    return sorted(-at for at in range(n))

def cheaper(n):
    return list(range(n))
"""
MAIN = """
import os, app
print("profiled", file=open(os.environ["LOG"], "a"))
for _ in range(40): app.costly(9999)
app.cheaper(999)
"""
CHECK = "import app\nassert app.costly(2) == [-1, 0]\nassert app.cheaper(2) == [0, 1]\n"
AGENT = """
import json, os, sys
name = json.load(sys.stdin)["target"].partition("::")[2]
print(name, file=open(os.environ["LOG"], "a"))
if name == "cheaper" and os.path.exists(os.environ["AT"]):
    open(os.environ["AT"]).read()
print(f"def {name}(n):\\n    return None")
"""


def _hot_file(folder: Path, **fields: Any) -> Path:
    """Two functions, and proposals that fail the tests: nothing has to be measured."""
    files = {"app.py": TWO, "main.py": MAIN, "check.py": CHECK, "agent.py": AGENT}
    for name, text in files.items():
        write(folder / "project" / name, text)
    spec = {
        "repo": "project", "hot": 2, "hot_run": "python main.py", "test": "python check.py",
        "sandbox": False, "env": ["LOG"], **fields,
    }  # fmt: skip
    write(folder / "o.json", json.dumps({"optimize": spec}))
    return _commit(folder / "project")


@slow
def test_killed_in_the_second_function_a_resume_keeps_the_profile_and_the_first(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    propose = {"command": f"{sys.executable} agent.py", "n": 1}
    _hot_file(tmp_path, candidates={"propose": propose})
    fifo, log = place.fifo("at"), tmp_path / "log"
    env = {**os.environ, "LOG": str(log), "AT": str(fifo)}
    try:
        process = place.start("run", "o.json", "--run", "r", env=env)
        eventually(lambda: log.exists() and "cheaper\n" in log.read_text())
        process.kill()
        process.wait()
        fifo.unlink()
        done = place.run("resume", "r", "--json", given=b"", LOG=str(log), AT=str(fifo))
    finally:
        place.clean_up()
    assert log.read_text().split() == ["profiled", "costly", "cheaper", "cheaper"]
    found = json.loads(done.stdout)["result"]
    judged = {name: each["reasons"] for name, each in found["functions"].items()}
    assert list(judged) == ["app.py::costly", "app.py::cheaper"]
    assert all("proposal 1 rejected, " in each for (each,) in judged.values()), judged


@slow
def test_one_budget_holds_for_all_functions_and_what_it_left_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"propose": {"model": "openai:gpt-5-mini", "n": 1}}
    _hot_file(tmp_path, candidates=model, budget={"requests": 1})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))

    async def main() -> tuple[int, str, int]:
        async with ScriptedServer(_script) as server:
            words = ("run", "o.json", "--json")
            code, out, errors = await _optimized(tmp_path, server, *words)
            assert out, errors
            return code, out, len(server.requests)

    code, out, asked = asyncio.run(main())
    found = json.loads(out)
    assert asked == 1
    first, second = found["result"]["functions"].values()
    assert (first["rejected"], first["failures"]) == (1, [])
    assert "budget" in second["failures"][0]
    assert "the budget is used up" in found["counts"]["halted"]
    assert (code != 0, found["status"]) == (True, "halted")


# -- a real package --------------------------------------------------------------------------------

LEVENSHTEIN = """def levenshtein_distance(s1, s2):
    if isinstance(s1, bytes) or isinstance(s2, bytes):
        raise TypeError(_no_bytes_err)

    if s1 == s2:
        return 0
    if not s1:
        return len(s2)
    if not s2:
        return len(s1)

    row = list(range(len(s2)+1))
    for r, one in enumerate(s1, 1):
        corner, left = r-1, r
        above, row = row[1:], [r]
        add = row.append
        for up, other in zip(above, s2):
            if one == other:
                left = corner
            else:
                if corner < left:
                    left = corner
                if up < left:
                    left = up
                left += 1
            add(left)
            corner = up

    return row[-1]
"""
DAMERAU = """def damerau_levenshtein_distance(s1, s2):
    if isinstance(s1, bytes) or isinstance(s2, bytes):
        raise TypeError(_no_bytes_err)

    len1 = len(s1)
    len2 = len(s2)
    infinite = len1 + len2
    seen = {}
    score = [[infinite]*(len2+2), [infinite, *range(len2+1)]]
    for i, one in enumerate(s1, 1):
        db = 0
        above = score[i]
        row = [infinite, i]
        add = row.append
        left = i
        for j, other in enumerate(s2, 1):
            i1 = seen.get(other, 0)
            best = score[i1][db] + i - i1 + j - db - 1
            if one == other:
                db = j
                cost = above[j]
            else:
                cost = above[j] + 1
            if cost < best:
                best = cost
            if left + 1 < best:
                best = left + 1
            if above[j+1] + 1 < best:
                best = above[j+1] + 1
            add(best)
            left = best
        score.append(row)
        seen[one] = i

    return score[-1][-1]
"""
FASTER = {"levenshtein_distance": LEVENSHTEIN, "damerau_levenshtein_distance": DAMERAU}
FILE = "jellyfish/_jellyfish.py"
APP_LINE = """python -c 'from jellyfish import _jellyfish as j
words = ["".join(chr(97 + (i * k) % 26) for i in range(30)) for k in range(40)]
for a in words:
    for b in words: j.levenshtein_distance(a, b), j.damerau_levenshtein_distance(a, b)
for a in words * 40: j.soundex(a)'
"""
TEST_LINE = "python -m pytest -q jellyfish/test.py -k python"


def _script(body: dict[str, Any]) -> str:
    """A faster version of two functions, and a wrong one of every other."""
    text = body["messages"][-1]["content"]
    for line in text.splitlines():
        if line.startswith("def "):
            name = line.removeprefix("def ").partition("(")[0]
            return f"```python\n{FASTER.get(name) or f'{line}{NOTHING}'}```"
    return "I do not know."


NOTHING = "\n    return None\n"


@pytest.fixture
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of a real package, with its tests."""
    folder = tmp_path_factory.mktemp("sdist")
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    for words in (argv, ["pip", *argv[3:]]):
        subprocess.run([*words, "jellyfish==0.5.6"], cwd=folder, capture_output=True, check=False)
    found = [*folder.glob("jellyfish-*.tar.gz")]
    if not found:
        pytest.skip("jellyfish cannot be downloaded from the package index here")
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder, filter="data")
    return _commit(folder / "jellyfish-0.5.6")


async def _optimized(top: Path, server: ScriptedServer, *words: str) -> tuple[int, str, str]:
    env = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "key"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fanwise", *words, cwd=top, env=env, stdout=-1, stderr=-1
    )
    out, errors = await process.communicate()
    return process.returncode or 0, out.decode(), errors.decode()


HOT = ("--hot-run", APP_LINE, "--test", TEST_LINE, "--propose", "openai:gpt-5-mini", "-n", "1",
       "--bench-budget", "300", "--json")  # fmt: skip


@slow
@needs_sandbox
def test_a_real_package_gets_a_branch_with_a_commit_for_each_faster_function(sdist: Path) -> None:
    async def main() -> tuple[int, str, str]:
        async with ScriptedServer(_script) as server:
            words = ("optimize", "--hot", "3", "--branch", "faster", *HOT)
            return await _optimized(sdist, server, *words)

    code, out, errors = asyncio.run(main())
    found = json.loads(out)["result"]
    ranked = [each["target"] for each in found["hot"]]
    wanted = [f"{FILE}::{name}" for name in FASTER]
    assert set(ranked[:2]) == set(wanted), (ranked, errors)
    assert ranked[2] == f"{FILE}::soundex"
    told: dict[str, Any] = found["functions"]
    assert [bool(told[name]["patch"]) for name in wanted] == [True, True], told
    assert (told[ranked[2]]["rejected"], told[ranked[2]]["patch"]) == (1, "")
    assert (code, found["problem"], len(found["commits"])) == (0, "", 2)
    log = git(sdist, "log", "--format=%s", "faster").splitlines()
    assert len(log) == 3, "one commit for each accepted change, above the first"
    for commit, name in zip(found["commits"], ranked[:2], strict=True):
        message = git(sdist, "log", "-1", "--format=%B", commit)
        assert message.strip() == told[name]["message"].strip()
        gain = re.match(rf"Make {re.escape(name)} (\S+) times as fast\n", message)
        assert gain is not None, message
        assert float(gain[1]) >= 1.05
        assert "Measured: " in message
        changed = git(sdist, "show", "--format=", commit)
        others = [each for each in FASTER if each != name.rpartition("::")[2]]
        assert f"-def {others[0]}(" not in changed, "each commit is one change"
    assert git(sdist, "status", "--porcelain", "--untracked-files=no") == ""


def _commit(top: Path) -> Path:
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def _fanwise(top: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fanwise", *words]
    return subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False)
