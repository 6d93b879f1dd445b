"""The recipe for GitHub Actions in the guide: its commands, step by step, with a restored cache."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from tests.cli.support import Place

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "matrix-results.md"
PYTHON = """\
from pathlib import Path

def note(subject):
    with Path("asked").open("a") as file:
        file.write(subject.cell.strategy + "\\n")

async def answer(subject):
    note(subject)
    return subject.input["label"]

async def worse(subject):
    note(subject)
    return "bad"
"""
FILE = """\
matrix:
  name: reviews
  inputs: [%s]
  prompts:
    kept: {call: "answers:answer"}
    edited: {call: "answers:%s"}
  score: [{exact: input.label}]
  expect: {%s}
"""
INPUTS = ", ".join(f"{{id: i{n}, label: good}}" for n in range(30))


def steps() -> list[dict[str, Any]]:
    (text,) = re.findall(
        r"```yaml file=.github/workflows/prompts.yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    found: list[dict[str, Any]] = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    return found


def job(folder: Path, cache: Path, file: str, *, on_main: bool) -> list[int]:
    """A checkout in which the steps run as GitHub would; the exit codes of its commands."""
    folder.mkdir()
    (folder / "reviews.yaml").write_text(file)
    (folder / "answers.py").write_text(PYTHON)
    place = Place(folder)
    codes: list[int] = []
    for step in steps():
        kind, wanted = step.get("uses", ""), step.get("if", "success()")
        failed = any(codes)
        if (failed and wanted != "always()") or ("refs/heads/main" in wanted and not on_main):
            continue
        if kind.startswith("actions/cache/restore") and cache.exists():
            shutil.copytree(cache, folder / step["with"]["path"])
        elif kind.startswith("actions/cache/save"):
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(folder / step["with"]["path"], cache)
        elif kind.startswith("actions/upload-artifact"):
            assert (folder / step["with"]["path"]).exists()
        elif "run" in step:
            uvx, fanwise, *words = step["run"].split()
            assert (uvx, fanwise) == ("uvx", "fanwise")
            codes.append(place.run(*words).returncode)
    return codes


def test_the_recipe_names_a_baseline_keeps_answers_and_refuses_what_is_worse(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    first = FILE % (INPUTS, "answer", "exact: {at_least: 0.8}")
    assert job(tmp_path / "main", cache, first, on_main=True) == [0, 0]
    assert len((tmp_path / "main" / "asked").read_text().split()) == 60
    gate = "exact: {at_least: 0.8}, no_worse_than: {run: reviews@baseline, by: 0.02}"
    # A pull request that changes nothing but the gate: nothing is asked again.
    assert job(tmp_path / "same", cache, FILE % (INPUTS, "answer", gate), on_main=False) == [0]
    assert not (tmp_path / "same" / "asked").exists()
    # One that makes a strategy worse is refused, and its answers are in the cache all the same.
    worse = FILE % (INPUTS, "worse", gate)
    for name in ("worse", "again"):
        assert job(tmp_path / name, cache, worse, on_main=False) == [4]
        suite = ElementTree.parse(tmp_path / name / "gate.xml").getroot()
        assert int(suite.attrib["failures"]) >= 1
    assert set((tmp_path / "worse" / "asked").read_text().split()) == {"edited"}
    assert not (tmp_path / "again" / "asked").exists()
